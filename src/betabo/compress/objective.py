"""Compression as the objective of a study: stored, resumed, shared between workers."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch

from betabo.compress.plan import CompressionPlan
from betabo.compress.pretrained import LoadedModel, load_model, model_outline
from betabo.compress.problem import CompressionProblem, CompressionResult, torch_device
from betabo.compress.settings import CompressionJob, CompressionMethod
from betabo.compress.tasks import Task, TaskData, task_by_name
from betabo.compress.training import DivergedError
from betabo.space import Space
from betabo.studies.errors import EvaluationFailedError, ObjectiveError, StudyError
from betabo.studies.workspace import Workspace

_NO_MEMORY = ("out of memory", "can't allocate memory", "ALLOC_FAILED")  # of a GPU, of the CPU, of its libraries
TYPE = "betabo.compress.objective:CompressionObjective"


@dataclass(frozen=True, kw_only=True)
class CompressionObjective(CompressionJob):
    """Compress a model with the ratios of a trial, train it for a short while, and judge it.

    A trial notes its `size`, `error`, `flops`, `parameters`, `seed` and metrics. One that runs out of memory or
    diverges fails, and the study goes on. The settings are those of a `CompressionJob`, and:

    Args:
        folder: The prepared model, which is read in place of `model`; None if it needs no preparation.
        cache: Folder for the examples in the form that the model reads; None to make it anew in each worker.
    """

    folder: str | None = None
    cache: str | None = None
    _ready: dict[str, CompressionProblem] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        with _as_study_error():
            super().__post_init__()

    def check(self, space: Space) -> None:  # noqa: ARG002
        """See that the task, the device and the prepared model are there."""
        with _as_study_error():
            task_by_name(self.task)
            torch_device(self.device)
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

    def outline(self) -> CompressionPlan:
        """Which layers would be compressed, from the configuration of the model alone.

        Raises:
            ValueError: There is no such task, device or model, or they do not go together.
        """
        torch_device(self.device)
        task = task_by_name(self.task)
        if self.max_length is not None:
            task.with_length(self.max_length)
        return CompressionPlan.of(model_outline(self.model, task.kind), self.group)

    def load(self) -> tuple[LoadedModel, Task, TaskData]:
        """The model on the CPU, the task, and its examples.

        Raises:
            ValueError: Something is missing or not what was expected.
        """
        task = task_by_name(self.task)
        if self.max_length is not None:
            task = task.with_length(self.max_length)
        task = task.suited_to(self.model)
        limits = {"max_train": self.max_train, "max_validation": self.max_validation}
        data = task.load(self.data, seed=self.seed, cache=self.cache, **limits)
        return load_model(self.model if self.folder is None else self.folder, task, data, seed=self.seed), task, data

    def problem(self) -> CompressionProblem:
        """The problem, loaded anew."""
        loaded, task, data = self.load()
        method = self.convert(CompressionMethod)
        return CompressionProblem(loaded.model, task, data, method, precision=loaded.precision)

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
    """Free the memory that is no longer used."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


@contextmanager
def _as_study_error() -> Iterator[None]:
    """What is wrong with the settings is wrong with the study."""
    try:
        yield
    except ValueError as error:
        raise StudyError(str(error)) from error
