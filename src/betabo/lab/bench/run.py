"""One run of a campaign: one optimizer on one problem with one seed."""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.quasirandom import SobolEngine

from betabo.lab.bench.optimizers import OptimizerAdapter, make_adapter
from betabo.lab.bench.versions import versions
from betabo.lab.problems import BenchmarkProblem, problem_by_name
from betabo.space.boundary import boundary_distance

Report = Callable[[int, float], None]
"""Called after each evaluation with their number and the best value so far."""

_SAME = 1e-9  # how far an optimizer's starting point may be from the one it was given, in shares of the side
_DESIGN, _NOISE = 0, 1  # streams of random numbers that all optimizers share


@dataclass(frozen=True)
class Run:
    """What is to be done.

    Attributes:
        optimizer: The campaign's name for the optimizer.
        use: Its name in `betabo.lab.bench.optimizers.OPTIMIZERS`.
        settings: Its settings by name.
        problem: Name of the problem, see `betabo.lab.problems.problem_by_name`.
        seed: Seed of starting points, noise and search.
        budget: Number of evaluations, starting points included.
        starting_points: Number of starting points, the same for all optimizers; 0 lets each start by itself.
        imports: Modules to be imported first, which register problems or optimizers of their own.
    """

    optimizer: str
    use: str
    settings: dict[str, Any]
    problem: str
    seed: int
    budget: int
    starting_points: int
    imports: tuple[str, ...] = field(default=(), compare=False)

    @property
    def key(self) -> str:
        """Name of the run, and of its file without the ending: optimizer/problem/seed."""
        return f"{self.optimizer}/{self.problem}/{self.seed}"

    def configuration(self) -> dict[str, Any]:
        """What decides on the outcome, JSON-able."""
        return {name: value for name, value in asdict(self).items() if name != "imports"}


@dataclass(frozen=True)
class Record:
    """What a run found.

    Attributes:
        rows: One dictionary an evaluation, see `perform`.
        metadata: Configuration, problem, versions and time, JSON-able.
    """

    rows: list[dict[str, Any]]
    metadata: dict[str, Any]


def starting_points(problem: BenchmarkProblem, count: int, seed: int) -> npt.NDArray[np.float64]:
    """Scrambled Sobol points `count x d` in the problem's own units, the same for every optimizer."""
    if count == 0:
        return np.empty((0, problem.dim))
    engine = SobolEngine(problem.dim, scramble=True, seed=_stream(problem.name, seed, _DESIGN))
    return problem.from_unit(engine.draw(count, dtype=torch.float64)).numpy()


def perform(run: Run, report: Report | None = None) -> Record:
    """Carry out a run.

    The rows of the record have the columns

    * `evaluation`: how many evaluations were made, from 1; `origin`: `"start"` or `"model"`, which with
      a design of the optimizer's own is every point;
    * `x`: the point in the unit cube; `boundary_distance`: 1 at the centre of the box, 0 on a face;
    * `value`, `true_value`: with and without noise; `best`: the lowest value without noise so far;
    * `bandwidth`, `boundary_weight`, `lengthscale`, `noise`, `fit`: of the model that proposed the point, empty lists
      and NaN where there is none;
    * `ask_seconds`, `evaluate_seconds`, `tell_seconds`: time of the step; `fit_seconds`, `acquisition_seconds`: what
      of it went into fitting the model and maximizing the acquisition function.

    Args:
        run: What is to be done.
        report: Called after each evaluation.

    Raises:
        RuntimeError: The optimizer does not begin with the starting points.
    """
    for module in run.imports:
        import_module(module)
    problem = problem_by_name(run.problem)
    adapter = make_adapter(run.use, run.settings)
    began, clock = datetime.now(UTC), time.perf_counter()
    torch.manual_seed(run.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other packages, about single fits; the record has their status
        try:
            rows = _search(run, problem, adapter, report)
        finally:
            adapter.end()
    metadata = {
        "configuration": run.configuration(),
        "problem": {
            **problem.description(),
            "group": problem.group,
            "near_face": problem.near_face,
            "noise_std": problem.noise_std,
            "bounds": problem.box,
            "optimal_value": problem.optimal_value,
        },
        "versions": versions(),
        "started": began.isoformat(timespec="seconds"),
        "seconds": time.perf_counter() - clock,
        "threads": torch.get_num_threads(),
    }
    return Record(rows, metadata)


def _search(
    run: Run, problem: BenchmarkProblem, adapter: OptimizerAdapter, report: Report | None
) -> list[dict[str, Any]]:
    starts = starting_points(problem, run.starting_points, run.seed)
    noise = np.random.default_rng(_stream(problem.name, run.seed, _NOISE))
    low, high = np.array(problem.box).T
    rows: list[dict[str, Any]] = []
    best = float("inf")
    adapter.start(problem.box, starts.copy(), run.seed)
    for number in range(run.budget):
        clock = [time.perf_counter()]
        point = np.asarray(adapter.ask(), dtype=np.float64)
        clock.append(time.perf_counter())
        if number < len(starts):
            if not np.abs((point - starts[number]) / (high - low)).max() <= _SAME:
                raise RuntimeError(
                    f"{run.use} asked for {point}, expected its starting point number {number}, {starts[number]}."
                )
            evaluated = starts[number]  # to the last digit the same for all optimizers, so that ties are ties
        else:
            evaluated = point
        x = torch.from_numpy(evaluated)
        true_value = float(problem.evaluate_true(x))
        value = true_value + (problem.noise_std or 0.0) * noise.standard_normal()
        clock.append(time.perf_counter())
        adapter.tell(point, value)
        clock.append(time.perf_counter())
        best = min(best, true_value)
        unit = problem.to_unit(x).tolist()
        figures = adapter.diagnostics()
        rows.append(
            {
                "evaluation": number + 1,
                "origin": "start" if number < len(starts) else "model",
                "x": unit,
                "boundary_distance": boundary_distance(unit),
                "value": value,
                "true_value": true_value,
                "best": best,
                "bandwidth": figures.get("bandwidth", []),
                "boundary_weight": figures.get("boundary_weight", float("nan")),
                "lengthscale": figures.get("lengthscale", []),
                "noise": figures.get("noise", float("nan")),
                "fit": figures.get("fit", ""),
                "fit_seconds": figures.get("fit_seconds", 0.0),
                "acquisition_seconds": figures.get("acquisition_seconds", 0.0),
                "ask_seconds": clock[1] - clock[0],
                "evaluate_seconds": clock[2] - clock[1],
                "tell_seconds": clock[3] - clock[2],
            }
        )
        if report is not None:
            report(number + 1, best)
    return rows


def _stream(problem: str, seed: int, purpose: int) -> int:
    """A seed out of a problem's name, a run's seed and a purpose."""
    return int(np.random.SeedSequence([zlib.crc32(problem.encode()), seed, purpose]).generate_state(1)[0])
