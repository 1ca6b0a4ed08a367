"""Compression as the objective of a study: stored, resumed, shared between workers."""

from __future__ import annotations

import gc
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch

from betabo.compress.finetune import DivergedError, Training
from betabo.compress.plan import GROUPS, Group
from betabo.compress.pretrained import LoadedModel, load_model
from betabo.compress.problem import CompressionProblem, CompressionResult
from betabo.compress.pruning import Pruning
from betabo.compress.tasks import Task, TaskData, task_by_name
from betabo.space import Space
from betabo.studies.errors import EvaluationFailedError, ObjectiveError, StudyError
from betabo.studies.workspace import Workspace

DEVICES = ("auto", "cpu", "cuda")
_NO_MEMORY = ("out of memory", "can't allocate memory", "ALLOC_FAILED")  # of a GPU, of the CPU, of its libraries
TYPE = "betabo.compress.objective:CompressionObjective"


@dataclass(frozen=True)
class CompressionObjective:
    """Compress a model with the ratios of a trial, train it for a short while, and judge it.

    A trial notes its `size`, `error`, `flops`, `parameters`, `seed` and metrics. One that runs out of memory or
    diverges fails, and the study goes on.

    Args:
        model: Where the model comes from: a local folder, or a name on the Hugging Face hub.
        task: Name of the task.
        data: Where the examples come from: a folder, a file or a name on the hub; None for the task's own.
        folder: The prepared model, which is read in place of `model`; None if it needs no preparation.
        cache: Folder for the examples in the form that the model reads; None to make it anew in each worker.
        group: What a coordinate stands for, `"layer"` or `"block"`.
        bounds: Lowest and highest ratio.
        weight: What a size of one costs in errors.
        training: How a compressed model is trained, a `Training` or its values by name.
        pruning: How its rows are pruned, a `Pruning` or its values by name.
        max_train: How many training examples are used at most.
        max_validation: How many validation examples are used at most.
        seed: Seed of the examples and of every training.
        device: `"auto"` for a GPU if there is one, `"cpu"`, or `"cuda"`.
        pareto: Whether size and error are two objectives, rather than weight x size + error one.
    """

    model: str
    task: str
    data: str | None = None
    folder: str | None = None
    cache: str | None = None
    group: Group = "layer"
    bounds: tuple[float, float] = (0.05, 0.95)
    weight: float = 1.0
    training: Training = field(default_factory=Training)
    pruning: Pruning = field(default_factory=Pruning)
    max_train: int | None = None
    max_validation: int | None = None
    seed: int = 0
    device: str = "auto"
    pareto: bool = False
    _ready: dict[str, CompressionProblem] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", tuple(self.bounds))
        object.__setattr__(self, "training", _made(Training, "training", self.training))
        object.__setattr__(self, "pruning", _made(Pruning, "pruning", self.pruning))
        if self.group not in GROUPS:
            raise StudyError(f"group is {self.group!r}, expected one of {', '.join(map(repr, GROUPS))}.")
        if len(self.bounds) != 2 or not 0 < self.bounds[0] < self.bounds[1] <= 1:
            raise StudyError(f"bounds is {self.bounds!r}, expected two ratios with 0 < low < high <= 1.")
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise StudyError(f"weight is {self.weight!r}, expected a finite number of at least 0.")
        for name in ("max_train", "max_validation"):
            limit = getattr(self, name)
            if limit is not None and limit < 1:
                raise StudyError(f"{name} is {limit!r}, expected at least 1.")
        if self.device not in DEVICES:
            raise StudyError(f"device is {self.device!r}, expected one of {', '.join(map(repr, DEVICES))}.")

    @property
    def torch_device(self) -> torch.device:
        """Where to compute.

        Raises:
            StudyError: A GPU was asked for, and there is none.
        """
        if self.device == "cuda" and not torch.cuda.is_available():
            raise StudyError("device is 'cuda', but torch sees no GPU; use 'cpu', or 'auto' for whatever there is.")
        return torch.device("cuda" if self.device != "cpu" and torch.cuda.is_available() else "cpu")

    def check(self, space: Space) -> None:  # noqa: ARG002
        """See that the task, the device and the prepared model are there."""
        task_by_name(self.task)
        _ = self.torch_device
        if self.folder is not None and not Path(self.folder).is_dir():
            raise StudyError(f"there is no folder {self.folder} with the prepared model; run `betabo compress` again.")

    def prepare(self, space: Space) -> None:
        """Load the model and the examples, once in a worker."""
        try:
            problem = self._problem()
        except StudyError:
            raise
        except (ValueError, OSError, ImportError) as error:
            raise ObjectiveError(str(error)) from error
        if tuple(space.names) != problem.plan.coordinates:
            raise StudyError(
                f"the study has {len(space.names)} coordinates beginning with {space.names[0]!r}, but the model has "
                f"{problem.dims} beginning with {problem.plan.coordinates[0]!r}; use another name of the study."
            )

    def __call__(self, parameters: dict[str, Any], workspace: Workspace) -> float | tuple[float, float]:
        """Compress, train and judge; the value is weight x size + error, or the two of them."""
        evaluation = self._evaluate(parameters)
        for name, value in _notes(evaluation).items():
            workspace.note(name, value)
        workspace.note("seed", self.seed)
        return (evaluation.size, evaluation.error) if self.pareto else evaluation.objective

    def to_json(self) -> dict[str, Any]:
        """A description of plain JSON types."""
        described = {item.name: getattr(self, item.name) for item in fields(self) if item.init}
        described.update(bounds=list(self.bounds), training=asdict(self.training), pruning=asdict(self.pruning))
        return {"type": TYPE, **described}

    def describe(self) -> str:
        """The model, the task, and what a value depends on."""
        training = f"{self.training.steps} steps of {self.training.batch} at {self.training.rate:g}"
        kind = "size and error" if self.pareto else f"{self.weight:g} x size + error"
        return f"{self.model} on {self.task}: {kind}, keep {self.pruning.keep:g}, {training}"

    def weighted(self, notes: Mapping[str, float]) -> float:
        """The single objective, weight x size + error, from the notes of a trial."""
        return self.weight * notes["size"] + notes["error"]

    def load(self) -> tuple[LoadedModel, Task, TaskData]:
        """The model on the CPU, the task, and its examples.

        Raises:
            ValueError: Something is missing or not what was expected.
        """
        task = task_by_name(self.task, self.model)
        limits = {"max_train": self.max_train, "max_validation": self.max_validation}
        data = task.load(self.data, seed=self.seed, cache=self.cache, **limits)
        return load_model(self.model if self.folder is None else self.folder, task, data, seed=self.seed), task, data

    def problem(self) -> CompressionProblem:
        """The problem, loaded anew."""
        loaded, task, data = self.load()
        return CompressionProblem(
            loaded.model,
            task,
            data,
            group=self.group,
            bounds=self.bounds,
            weight=self.weight,
            training=self.training,
            pruning=self.pruning,
            device=self.torch_device,
            seed=self.seed,
        )

    def _problem(self) -> CompressionProblem:
        if "problem" not in self._ready:
            self._ready["problem"] = self.problem()
        return self._ready["problem"]

    def _evaluate(self, ratios: Mapping[str, float]) -> CompressionResult:
        try:
            return self._problem().evaluate(dict(ratios), seed=self.seed)
        except (RuntimeError, MemoryError) as error:
            reason = why_failed(error)
            if reason is None:
                raise
        free_memory()  # here, where the error and what its frames hold are gone
        raise EvaluationFailedError(reason)


def why_failed(error: BaseException) -> str | None:
    """Why a training could not be finished: it diverged or ran out of memory; None for any other error."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    if isinstance(error, DivergedError):
        return f"the training diverged: {line}"
    if isinstance(error, torch.OutOfMemoryError | MemoryError) or any(sign in str(error) for sign in _NO_MEMORY):
        return f"out of memory, try a smaller batch: {line}"
    return None


def _notes(evaluation: CompressionResult) -> dict[str, float]:
    """What is kept of an evaluation with its trial; metrics have `metric_` before their names."""
    kept = {name: getattr(evaluation, name) for name in ("size", "error", "parameters", "flops")}
    return {**kept, **{f"metric_{name}": value for name, value in evaluation.metrics.items() if math.isfinite(value)}}


def free_memory() -> None:
    """Give back what nobody uses any more."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _made(kind: type[Any], name: str, given: Any) -> Any:
    """A settings object from its values by name."""
    if isinstance(given, kind):
        return given
    try:
        return kind(**given)
    except TypeError as error:
        raise StudyError(f"{name} is {given!r}, expected the values of {kind.__name__} by name: {error}.") from error
