"""What a search is told once: how to model, where to look, what to do about trouble."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from betabo.schema import anything, table
from betabo.space import Space
from betabo.space.checks import integer
from betabo.suggestions import did_you_mean

if TYPE_CHECKING:
    from botorch.acquisition.acquisition import AcquisitionFunction
    from gpytorch.kernels import Kernel

    from betabo.acquisition.catalogue import AcquisitionContext, BetaSchedule
    from betabo.surrogate.fit import Noise

NoiseChoice: TypeAlias = "Noise | Callable[[Any], float]"
KernelChoice: TypeAlias = "str | Kernel | Callable[[int], Kernel]"
AcquisitionChoice: TypeAlias = "str | Callable[[AcquisitionContext], AcquisitionFunction]"


@dataclass(frozen=True)
class Config:
    """Configuration of a search.

    Attributes:
        kernel: A name from `betabo.kernels.catalogue.KERNELS`, a GPyTorch kernel, or a factory of the number of dims.
        acquisition: A name from `betabo.acquisition.catalogue.ACQUISITIONS`, or a factory of an `AcquisitionContext`.
        beta: Exploration weight of `"ucb"`, a number or a schedule.
        noise: `"unknown"`, `"none"`, the variance of the objective's noise in its own units squared, or a function of a
            point in the user's units that returns that variance. A variance that comes with a value is taken first.
        local_steps: Whether steps near the best point, by a model with a quadratic part, are mixed with those of the
            model of the whole box, whichever gains more. None does so with the default kernel and acquisition function,
            since a search with others is to show what these do.
        starting_points: Evaluations before the model is asked; None is twice the number of dims, between 5 and 60.
        power_transform: Whether skewed values are made symmetric before they are modelled.
        max_failures: Failed evaluations in a row after which the search stops.
        duplicate_tolerance: Points closer than this in every unit-cube coordinate count as the same.
    """

    kernel: KernelChoice = "beta-additive"
    acquisition: AcquisitionChoice = "log_ei"
    beta: float | BetaSchedule = 4.0
    noise: NoiseChoice = "unknown"
    local_steps: bool | None = None
    starting_points: int | None = None
    power_transform: bool = True
    max_failures: int = 10
    duplicate_tolerance: float = 1e-7

    def __post_init__(self) -> None:
        if self.kernel != Config.kernel:  # whose catalogue takes a second to import
            from betabo.kernels.catalogue import KERNELS

            _check_name("kernel", self.kernel, KERNELS)
        if self.acquisition != Config.acquisition:
            from betabo.acquisition.catalogue import ACQUISITIONS

            _check_name("acquisition", self.acquisition, ACQUISITIONS)
        if self.noise not in ("unknown", "none") and not (_is_size(self.noise) or callable(self.noise)):
            raise ValueError(
                f"noise is {self.noise!r}, expected 'unknown', 'none', a variance >= 0, or a function of a point."
            )
        if not callable(self.beta) and not _is_size(self.beta):
            raise ValueError(f"beta is {self.beta!r}, expected a number >= 0 or a schedule.")
        if self.starting_points is not None:
            _check_count("starting_points", self.starting_points)
        _check_count("max_failures", self.max_failures)
        if self.local_steps not in (None, True, False):
            raise ValueError(f"local_steps is {self.local_steps!r}, expected True, False or None.")
        if self.power_transform not in (True, False):
            raise ValueError(f"power_transform is {self.power_transform!r}, expected True or False.")
        if not _is_size(self.duplicate_tolerance):
            raise ValueError(f"duplicate_tolerance is {self.duplicate_tolerance!r}, expected a number >= 0.")

    @classmethod
    def of(cls, config: Config | None, settings: Mapping[str, Any]) -> Config:
        """A configuration that is given as a whole, or else the one of single settings.

        Raises:
            ValueError: Both are given.
            TypeError: There is no such setting.
        """
        if config is not None and settings:
            raise ValueError(f"config is given together with {', '.join(settings)}; put everything into one of them.")
        if config is not None and not isinstance(config, cls):
            raise TypeError(f"config is {config!r}, expected a Config such as Config(kernel='beta').")
        known = [setting.name for setting in fields(cls)]
        unknown = sorted(set(settings) - set(known))
        if unknown:
            hint = did_you_mean(unknown[0], known)
            raise TypeError(f"unknown setting {', '.join(unknown)}, expected some of {', '.join(known)}.{hint}")
        return cls(**settings) if config is None else config

    @property
    def noise_model(self) -> Noise:
        """The noise of values whose variance is not known."""
        return "unknown" if callable(self.noise) else self.noise

    @property
    def takes_local_steps(self) -> bool:
        """Whether steps near the best point are mixed in."""
        if self.local_steps is None:
            return (self.kernel, self.acquisition) == (Config.kernel, Config.acquisition)
        return self.local_steps

    def design_size(self, dims: int) -> int:
        """Number of starting points in `dims` dimensions."""
        return self.starting_points if self.starting_points is not None else min(max(2 * dims, 5), 60)

    def within(self, space: Space) -> Config:
        """The configuration in a space: where some parameters exist only under a choice, fewer starting points do."""
        if self.starting_points is not None or not space.is_conditional:
            return self
        return replace(self, starting_points=self.design_size(space.most_dims))

    def to_json(self) -> dict[str, Any]:
        """The configuration as JSON.

        Raises:
            ValueError: If the kernel, the acquisition, the schedule or the noise is an object and not a name or number.
        """
        for name in ("kernel", "acquisition", "beta", "noise"):
            value = getattr(self, name)
            if not isinstance(value, (str, int, float)):
                raise ValueError(
                    f"{name} is {value!r}, which cannot be saved; use a name from the catalogue or a number."
                )
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Config:
        """The configuration that `to_json` wrote."""
        table(anything)(data, "config")
        unknown = set(data) - {f.name for f in fields(cls)}
        if unknown:
            raise ValueError(f"unknown settings {sorted(unknown)}; written by another version of betabo?")
        return cls(**{"local_steps": False, **data})  # a search of before there were any goes on without


def _check_count(name: str, value: object) -> None:
    if integer(name, value) < 1:
        raise ValueError(f"{name} is {value}, expected at least 1.")


def _is_size(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= sys.float_info.max


def _check_name(what: str, value: object, known: dict[str, Any]) -> None:
    if isinstance(value, str):
        if value not in known:
            hint = did_you_mean(value, known)
            raise ValueError(f"{what} is {value!r}, expected one of {', '.join(known)}.{hint}")
    elif not callable(value):
        raise TypeError(f"{what} is a {type(value).__name__}, expected a name or a factory.")
