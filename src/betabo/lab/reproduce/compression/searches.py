"""Searches over a compression problem by many methods, each stored as it goes, for comparisons between them.

A search is a file of JSON lines, one an evaluation. Interrupted, it goes on from the lines that are there. Methods with
the same seed begin with the same Sobol points.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.quasirandom import SobolEngine

from betabo.compress.problem import CompressionProblem, CompressionResult, uniform_levels
from betabo.compress.training import DivergedError
from betabo.files import write_bytes
from betabo.optimizer import Config, Optimizer

RANDOM = "random"
UNIFORM = "uniform"
SOBOL = "sobol"


@dataclass(frozen=True)
class SearchChoice:
    """What is searched, and how.

    Attributes:
        experiment: Name of the problem.
        method: A kernel, `"random"`, or `"uniform"` for the same ratio in all layers.
        acquisition: The acquisition function of a kernel, empty for the others.
        seed: Seed of the starting points and of the search.
        start: What a search begins with: `"sobol"` points, or `"uniform"` levels, the same ratio in all layers.
    """

    experiment: str
    method: str
    acquisition: str = ""
    seed: int = 0
    start: str = SOBOL

    @property
    def name(self) -> str:
        """A name for files."""
        start = "" if self.start == SOBOL else f"{self.start}-start"
        return "-".join(filter(None, (self.experiment, self.method, self.acquisition, start, f"s{self.seed}")))


def run_search(
    problem: CompressionProblem,
    search: SearchChoice,
    path: Path,
    *,
    trials: int = 35,
    starting_points: int = 5,
    progress: Callable[[int, CompressionResult | None], None] | None = None,
) -> list[dict[str, Any]]:
    """Run a search to its end, or the rest of it.

    Whenever a point is the best so far, its model is also judged on the test examples, which nothing depends on.

    Args:
        problem: The problem.
        search: The search.
        path: File of its evaluations.
        trials: Evaluations in all, failed ones included.
        starting_points: How many points the search begins with.
        progress: Called after each evaluation with the number of the trial.

    Returns:
        The evaluations, as the file has them.
    """
    records = read_search(path)
    points = _Points(problem, search, trials, starting_points, records)
    path.parent.mkdir(parents=True, exist_ok=True)
    for trial in range(len(records), trials):
        x = points.next()
        best = min((r["objective"] for r in records if "objective" in r), default=np.inf)
        record: dict[str, Any] = {"trial": trial, "x": [float(value) for value in x]}
        evaluation = None
        try:
            model, evaluation = problem.compress(record["x"])
            record.update(evaluation.to_json())
            if evaluation.objective < best and problem.data.test is not None:
                record["test"] = problem.judge(model)
            del model
        except (DivergedError, torch.cuda.OutOfMemoryError) as error:
            record["failed"] = f"{type(error).__name__}: {error}"
        points.tell(record["x"], record.get("objective"))
        records.append(record)
        _append(path, record)
        if progress is not None:
            progress(trial, evaluation)
    return records


def read_search(path: Path) -> list[dict[str, Any]]:
    """The evaluations of a file; a last line that was cut off is left out."""
    if not path.exists():
        return []
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return records


def starting_points(problem: CompressionProblem, count: int, seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Scrambled Sobol points in the bounds of a problem, count x d, the same for all methods."""
    unit = SobolEngine(problem.dims, scramble=True, seed=seed).draw(count, dtype=torch.float64).numpy()
    scaled: np.ndarray[Any, np.dtype[np.float64]] = _scale(problem, unit)
    return scaled


class _Points:
    """The points of a search after those that are evaluated, one after the other."""

    def __init__(
        self, problem: CompressionProblem, search: SearchChoice, trials: int, count: int, known: list[dict[str, Any]]
    ) -> None:
        self._optimizer: Optimizer | None = None
        count = min(count, trials)
        start = starting_points(problem, count, search.seed) if search.start == SOBOL else _diagonal(problem, count)
        if search.method == UNIFORM:
            self._fixed: Iterator[Any] = iter(_diagonal(problem, trials)[len(known) :])
        elif search.method == RANDOM:
            drawn = _scale(problem, np.random.default_rng(search.seed).random((trials, problem.dims)))
            self._fixed = iter(np.concatenate([start, drawn[len(start) :]])[len(known) :])
        else:
            config = Config(kernel=search.method, acquisition=search.acquisition, starting_points=len(start))
            self._optimizer = Optimizer(problem.bounds, seed=search.seed, initial=start[len(known) :], config=config)
            for record in known:
                self.tell(record["x"], record.get("objective"))

    def next(self) -> Any:
        return next(self._fixed) if self._optimizer is None else self._optimizer.ask()

    def tell(self, x: list[float], value: float | None) -> None:
        if self._optimizer is not None:
            self._optimizer.tell(np.array(x), value)


def _diagonal(problem: CompressionProblem, count: int) -> Any:
    """Points with the same ratio in all coordinates, count x d."""
    return np.array(uniform_levels(count, problem.bounds[0]))[:, None].repeat(problem.dims, axis=1)


def _scale(problem: CompressionProblem, unit: Any) -> Any:
    low, high = np.array(problem.bounds).T
    return low + (high - low) * unit


def _append(path: Path, record: dict[str, Any]) -> None:
    """Add a line, after removing one that was cut off."""
    complete = b""
    if path.exists():
        content = path.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]
        if len(complete) < len(content):
            write_bytes(path, complete)
    with path.open("ab") as file:
        file.write(json.dumps(record).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
