"""The settings of a compression: each is declared here, once, with its default and its check.

Nothing heavy is imported, so that the command line can show the defaults at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias, TypeVar, get_args

Group: TypeAlias = Literal["layer", "block"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""One coordinate for each linear layer of the blocks, or for each block and each linear layer outside them."""

Schedule: TypeAlias = Literal["linear", "cosine", "constant"]
SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)

Precision: TypeAlias = Literal["bfloat16", "tf32"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
"""How a GPU computes; a CPU computes in float32."""

Scope: TypeAlias = Literal["layer", "global"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

Start: TypeAlias = Literal["sobol", "uniform"]
STARTS: tuple[Start, ...] = get_args(Start)
"""A search begins with Sobol points, or with the same ratio in all layers, from the lowest to the highest."""

Device: TypeAlias = Literal["auto", "cpu", "cuda"]
DEVICES: tuple[Device, ...] = get_args(Device)
"""`"auto"` is a GPU if there is one."""

EXAMPLES = 256
"""Training examples that layers are decomposed for, and that their sensitivities are measured on."""

ACQUISITION = "ucb"
"""Acquisition function of a search with one objective, the paper's. Several objectives have one of their own."""

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Training:
    """How a model is trained, with AdamW.

    Args:
        steps: Number of steps; 0 for no training at all.
        batch: Examples in a step.
        rate: Learning rate after the warm-up.
        warmup: Share of the steps in which the rate rises to it.
        schedule: How the rate falls after that.
        weight_decay: Of all matrices; vectors have none.
        clip: Largest norm of a gradient.
        precision: How a GPU computes: `"bfloat16"` with automatic casts, which suits large models, or `"tf32"`, float32
            with products of TensorFloat-32, which needs fewer and larger kernels and suits small ones.
        graph: Whether a step is recorded as a CUDA graph where there is a GPU. A model whose forward pass waits for
            the device cannot be recorded and is trained step by step all the same.
    """

    steps: int = 100
    batch: int = 32
    rate: float = 5e-5
    warmup: float = 0.1
    schedule: Schedule = "linear"
    weight_decay: float = 0.01
    clip: float = 1.0
    precision: Precision = "bfloat16"
    graph: bool = True

    def __post_init__(self) -> None:
        _at_least("steps", self.steps, 0)
        _at_least("batch", self.batch, 1)
        for name in ("rate", "clip"):
            if not (getattr(self, name) > 0 and math.isfinite(getattr(self, name))):
                raise ValueError(f"{name} is {getattr(self, name)!r}, expected a number above 0.")
        if not 0 <= self.warmup <= 1:
            raise ValueError(f"warmup is {self.warmup!r}, expected a share from 0 to 1.")
        _one_of("schedule", self.schedule, SCHEDULES)
        _one_of("precision", self.precision, PRECISIONS)


@dataclass(frozen=True)
class Pruning:
    """How rows are pruned.

    Args:
        keep: Share of the rows that is kept in the end, from 0 to 1.
        start: Share of the steps before pruning begins.
        end: Share of the steps at the end with the final share.
        interval: Steps between two looks; in the last steps every one is a look.
        smoothing: Weight of the past in the scores.
        scope: `"layer"` to keep the same share in every layer, so that the size follows from the ranks alone, or
            `"global"` to let the rows of all layers compete, as in the original method.
    """

    keep: float = 0.1
    start: float = 0.1
    end: float = 0.2
    interval: int = 10
    smoothing: float = 0.85
    scope: Scope = "layer"

    def __post_init__(self) -> None:
        for name in ("keep", "start", "end", "smoothing"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ValueError(f"{name} is {value!r}, expected a share from 0 to 1.")
        if self.start + self.end > 1:
            raise ValueError(f"start and end are {self.start} and {self.end}, expected at most 1 together.")
        if self.interval < 1:
            raise ValueError(f"interval is {self.interval!r}, expected at least one step.")
        _one_of("scope", self.scope, SCOPES)

    def share(self, step: int, steps: int) -> float:
        """Share of the rows that is kept after `step` of `steps` steps."""
        begin, length = self.start * steps, (1 - self.start - self.end) * steps
        if step >= begin + length:
            return self.keep
        if step < begin:
            return 1.0
        return self.keep + (1 - self.keep) * (1 - (step - begin) / length) ** 3

    def looks(self, step: int, steps: int) -> bool:
        """Whether the masks are renewed after `step` of `steps` steps."""
        return step % self.interval == 0 or step >= (1 - self.end) * steps


@dataclass(frozen=True, kw_only=True)
class CompressionMethod:
    """How a model is compressed and judged, whichever model it is.

    Args:
        group: What a coordinate stands for, `"layer"` or `"block"`.
        bounds: Lowest and highest ratio.
        weight: What a size of one costs in errors.
        training: How a compressed model is trained, a `Training` or its values by name.
        pruning: How its rows are pruned, a `Pruning` or its values by name.
        seed: Seed of the examples and of every training.
        device: Where to compute: `"auto"` for a GPU if there is one, `"cpu"`, or `"cuda"`.
    """

    group: Group = "layer"
    bounds: tuple[float, float] = (0.05, 0.95)
    weight: float = 1.0
    training: Training = field(default_factory=Training)
    pruning: Pruning = field(default_factory=Pruning)
    seed: int = 0
    device: Device = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", tuple(self.bounds))
        object.__setattr__(self, "training", _made(Training, "training", self.training))
        object.__setattr__(self, "pruning", _made(Pruning, "pruning", self.pruning))
        _one_of("group", self.group, GROUPS)
        _one_of("device", self.device, DEVICES)
        if len(self.bounds) != 2 or not 0 < self.bounds[0] < self.bounds[1] <= 1:
            raise ValueError(f"bounds is {self.bounds!r}, expected two ratios with 0 < low < high <= 1.")
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise ValueError(f"weight is {self.weight!r}, expected a finite number of at least 0.")

    def convert(self, kind: type[Kind], **changes: Any) -> Kind:
        """Settings of another kind: the same values where both have them, except for the changes."""
        shared = {item.name for item in fields(kind) if item.init} & {item.name for item in fields(self)}  # type: ignore[arg-type]
        return kind(**{name: getattr(self, name) for name in shared} | changes)


@dataclass(frozen=True, kw_only=True)
class CompressionJob(CompressionMethod):
    """What is compressed, and how.

    Args:
        model: Where the model comes from: a local folder, or a name on the Hugging Face hub.
        task: Name of the task.
        data: Where the examples come from: a folder, a file or a name on the hub; None for the task's own.
        max_train: How many training examples are used at most.
        max_validation: How many validation examples are used at most.
        max_length: How many tokens of a text are read at most; None for what the task has by default.
        pareto: Whether size and error are two objectives, rather than weight x size + error one.
    """

    model: str
    task: str
    data: str | None = None
    max_train: int | None = None
    max_validation: int | None = None
    max_length: int | None = None
    pareto: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _at_least("max_train", self.max_train, 1)
        _at_least("max_validation", self.max_validation, 1)
        _at_least("max_length", self.max_length, 2)


@dataclass(frozen=True, kw_only=True)
class CompressionSettings(CompressionJob):
    """All settings of a compression, from the model to the search.

    Args:
        dense_steps: Training steps of the model before it is compressed; None for none, or for three epochs if its head
            is new.
        trials: Trials that the search reaches in all, the starting points included.
        starting_points: Trials before the model of the search is asked.
        start: What they are: `"sobol"` points, or `"uniform"` for the same ratio in all layers.
        kernel: Name of the kernel of the search, see `betabo.kernels`; None for the default.
        acquisition: Name of the acquisition function; None for the paper's, or for that of several objectives.
    """

    dense_steps: int | None = None
    trials: int = 35
    starting_points: int = 5
    start: Start = "sobol"
    kernel: str | None = None
    acquisition: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _at_least("dense_steps", self.dense_steps, 0)
        _at_least("trials", self.trials, 1)
        _one_of("start", self.start, STARTS)
        if self.pareto and self.acquisition is not None:
            raise ValueError(
                f"acquisition is {self.acquisition!r} with pareto, whose two objectives have one of their own; "
                "leave one of them out."
            )


def _one_of(name: str, value: Any, known: Sequence[str]) -> None:
    if value not in known:
        raise ValueError(f"{name} is {value!r}, expected one of {', '.join(map(repr, known))}.")


def _at_least(name: str, value: int | None, least: int) -> None:
    if value is not None and value < least:
        raise ValueError(f"{name} is {value!r}, expected at least {least}.")


def _made(kind: type[Any], name: str, given: Any) -> Any:
    """A settings object from its values by name."""
    if isinstance(given, kind):
        return given
    try:
        return kind(**given)
    except TypeError as error:
        raise ValueError(f"{name} is {given!r}, expected the values of {kind.__name__} by name: {error}.") from error
