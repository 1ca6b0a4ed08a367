"""The acquisition functions by name, all for minimization of the model's output.

An entry makes its function from an `AcquisitionContext`, which holds what any of them may need; so does a user's own
factory, and `make_acquisition` takes either.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import (
    ExpectedImprovement,
    LogExpectedImprovement,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
)
from botorch.exceptions.warnings import NumericsWarning
from botorch.models.model import Model
from torch import Tensor

from betabo.acquisition.corrected import LogCorrectedExpectedImprovement, LogCorrectedProbabilityOfImprovement
from betabo.acquisition.feasible import Scale
from betabo.suggestions import did_you_mean

BetaSchedule = Callable[[int, int], float]
"""Exploration weight from the number of finished evaluations and the number of dimensions."""

DEFAULT_BETA = 4.0
"""Exploration weight of `ucb` unless told otherwise: the bound lies two standard deviations from the mean."""


def srinivas_schedule(step: int, dims: int) -> float:
    r"""Exploration weight that grows with the evaluations, :math:`\beta_t = 0.2\, d \ln(2t)`.

    The form of Srinivas et al. (ICML 2010) for compact domains, with the constant that Kandasamy et al. (ICML 2015) put
    in the place of the theory's, which explores too much in practice.

    Args:
        step: Number of finished evaluations :math:`t`, at least 1.
        dims: Number of dimensions :math:`d`, at least 1.

    Returns:
        The weight of the variance: the bound is the mean less :math:`\sqrt{\beta_t}` standard deviations.

    Example:
        >>> srinivas_schedule(step=10, dims=5)
        2.995732273553991
    """
    if step < 1 or dims < 1:
        raise ValueError(f"step is {step} and dims is {dims}, expected at least 1 of both.")
    return 0.2 * dims * math.log(2 * step)


@dataclass(frozen=True, eq=False, kw_only=True)
class AcquisitionContext:
    """What is known when an acquisition function is made.

    Args:
        model: Fitted model with one output, of which less is better.
        best_f: Lowest value observed, a scalar in the units of the model's output.
        X_observed: The observed points, `n x d`.
        step: Number of finished evaluations.
        dims: Number of dimensions `d`.
        beta: Exploration weight of `ucb`, or a schedule of the step and the dimensions.
    """

    model: Model
    best_f: Tensor
    X_observed: Tensor
    step: int
    dims: int
    beta: float | BetaSchedule = DEFAULT_BETA

    def __post_init__(self) -> None:
        if self.X_observed.dim() != 2 or self.X_observed.shape[1] != self.dims:
            raise ValueError(
                f"X_observed has shape {tuple(self.X_observed.shape)}, expected n x d with d = dims = {self.dims}."
            )
        if self.best_f.dim() != 0:
            raise ValueError(f"best_f has shape {tuple(self.best_f.shape)}, expected a scalar such as Y.min().")
        if self.step < 0:
            raise ValueError(f"step is {self.step}, expected the number of finished evaluations.")

    def beta_now(self) -> float:
        """The exploration weight at this step."""
        beta = self.beta(self.step, self.dims) if callable(self.beta) else self.beta
        if not 0 <= beta < math.inf:
            origin = f" at step {self.step} in {self.dims} dimensions" if callable(self.beta) else ""
            raise ValueError(f"beta is {beta}{origin}, expected a finite number >= 0.")
        return beta


AcquisitionFactory = Callable[[AcquisitionContext], AcquisitionFunction]
"""Makes an acquisition function, to be maximized, from what is known."""


@dataclass(frozen=True)
class AcquisitionEntry:
    """An acquisition function of the catalogue.

    Args:
        name: Name by which it is chosen.
        description: One line for people.
        make: Its factory.
        scale: What its values are, which matters when they are combined with the probability of a constraint.
    """

    name: str
    description: str
    make: AcquisitionFactory
    scale: Scale = "log"


def _ucb(context: AcquisitionContext) -> AcquisitionFunction:
    beta = torch.as_tensor(context.beta_now(), dtype=context.X_observed.dtype, device=context.X_observed.device)
    return UpperConfidenceBound(context.model, beta=beta, maximize=False)


def _pi(context: AcquisitionContext) -> AcquisitionFunction:
    return ProbabilityOfImprovement(context.model, best_f=context.best_f, maximize=False)


def _ei(context: AcquisitionContext) -> AcquisitionFunction:
    with warnings.catch_warnings():  # BoTorch advises the log form, which is an entry of its own
        warnings.simplefilter("ignore", NumericsWarning)
        return ExpectedImprovement(context.model, best_f=context.best_f, maximize=False)


def _log_ei(context: AcquisitionContext) -> AcquisitionFunction:
    return LogExpectedImprovement(context.model, best_f=context.best_f, maximize=False)


def _corrected_pi(context: AcquisitionContext) -> AcquisitionFunction:
    return LogCorrectedProbabilityOfImprovement(context.model, X_observed=context.X_observed, maximize=False)


def _corrected_ei(context: AcquisitionContext) -> AcquisitionFunction:
    return LogCorrectedExpectedImprovement(context.model, X_observed=context.X_observed, maximize=False)


ACQUISITIONS: dict[str, AcquisitionEntry] = {
    entry.name: entry
    for entry in (
        AcquisitionEntry("ucb", "Confidence bound: sqrt(beta) standard deviations below the mean.", _ucb, "real"),
        AcquisitionEntry("pi", "Probability of improving on the best value observed.", _pi, "positive"),
        AcquisitionEntry("ei", "Expected improvement on the best value observed.", _ei, "positive"),
        AcquisitionEntry("log_ei", "Logarithm of the expected improvement: easier to maximize.", _log_ei),
        AcquisitionEntry(
            "corrected_pi", "Log probability of improving on the best point, its value uncertain too.", _corrected_pi
        ),
        AcquisitionEntry(
            "corrected_ei", "Log expected improvement on the best point, its value uncertain too.", _corrected_ei
        ),
    )
}
"""The catalogue: each entry under its name."""


def make_acquisition(acquisition: str | AcquisitionFactory, context: AcquisitionContext) -> AcquisitionFunction:
    """Make an acquisition function by its name or by a factory.

    Args:
        acquisition: A name in `ACQUISITIONS`, or a function of the context that returns a BoTorch acquisition function.
        context: What is known.

    Returns:
        The acquisition function; its maximizer is the point to evaluate next.

    Raises:
        ValueError: If the name is not in the catalogue.
        TypeError: If `acquisition` is neither a name nor a factory, or the factory returns something else.

    Example:
        >>> x = torch.rand(10, 3, dtype=torch.float64)
        >>> y = x.sum(dim=-1, keepdim=True)
        >>> context = AcquisitionContext(model=SingleTaskGP(x, y), best_f=y.min(), X_observed=x, step=10, dims=3)
        >>> by_name = make_acquisition("corrected_ei", context)
        >>> by_factory = make_acquisition(lambda c: PosteriorMean(c.model, maximize=False), context)
    """
    if isinstance(acquisition, str):
        if acquisition not in ACQUISITIONS:
            hint = did_you_mean(acquisition, ACQUISITIONS)
            raise ValueError(
                f"acquisition is {acquisition!r}, expected one of {', '.join(map(repr, ACQUISITIONS))}.{hint}"
            )
        acquisition = ACQUISITIONS[acquisition].make
    if not callable(acquisition):
        raise TypeError(
            f"acquisition is {acquisition!r}, expected a name or a function of an AcquisitionContext such as "
            "lambda context: LogExpectedImprovement(context.model, best_f=context.best_f, maximize=False)."
        )
    made = acquisition(context)
    if not isinstance(made, AcquisitionFunction):
        raise TypeError(
            f"The acquisition factory {acquisition!r} returned {made!r}, expected a BoTorch AcquisitionFunction."
        )
    return made
