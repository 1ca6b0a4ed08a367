"""betabo against optimizers of other packages: the suites of problems and the campaigns that compare them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from betabo.files import write_text
from betabo.lab.bench.campaign import Campaign, OptimizerChoice
from betabo.lab.bench.optimizers import OPTIMIZERS, make_adapter
from betabo.lab.problems import BBOB_FUNCTIONS, BBOB_SUITES, PLACEMENTS, problem_by_name
from betabo.optimizer import Config

FUNCTIONS = ("griewank", "ackley", "branin", "hartmann", "levy")
NOT_RUN_FILE = "not-run.json"
ALL = "all"


@dataclass(frozen=True)
class Suite:
    """Problems that are searched with the same budget.

    Attributes:
        name: Its name, and that of its folder.
        description: What it is, in one line.
        problems: Names of problems, see `betabo.lab.problems.problem_by_name`.
        budget: Evaluations of a run, starting points included.
        starting_points: Starting points of a run, where all optimizers are given the same.
    """

    name: str
    description: str
    problems: tuple[str, ...]
    budget: int
    starting_points: int


def _placed(dims: int) -> tuple[str, ...]:
    return tuple(f"{function}-{dims}-{placement}" for function, placement in product(FUNCTIONS, PLACEMENTS))


SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        Suite("synthetic-20", "Five functions, three placements, 20 dimensions.", _placed(20), 140, 60),
        Suite("synthetic-6", "The same in 6 dimensions.", _placed(6), 60, 18),
        Suite(
            "real",
            "Designs, models of scikit-learn, a landing, and two functions with noise.",
            (
                "pressure_vessel-4-centre",
                "speed_reducer-7-centre",
                "svm_cancer-2-centre",
                "boosting_diabetes-6-centre",
                "mlp_digits-5-centre",
                "lunar_lander-10-centre",
                "hartmann-6-centre-noise0.3",
                "levy-6-face-noise2.0",
            ),
            60,
            12,
        ),
    )
}
"""The suites by name."""


@dataclass(frozen=True)
class PeerPlan:
    """What is to be run.

    Attributes:
        campaigns: A campaign for each suite, under its name.
        available: Optimizers and problems that can be run.
        not_run: Why an optimizer or a problem cannot be run here, by its name.
    """

    campaigns: dict[str, Campaign]
    available: tuple[str, ...]
    not_run: dict[str, str] = field(default_factory=dict)


def bbob_suite(name: str, dims: int, instances: Sequence[int] = (1, 2, 3), evaluations: int = 15) -> Suite:
    """The 24 functions of a suite in one dimension, as the suite `sbox-5`.

    Args:
        name: A name in `BBOB_SUITES`.
        dims: Number of coordinates.
        instances: Instances of each function. Those above 10 are kept for judging.
        evaluations: Evaluations of a run for each coordinate.
    """
    if evaluations < 1:
        raise ValueError(f"evaluations is {evaluations}, expected at least 1 for each coordinate.")
    problems = tuple(f"{name}-f{f}-d{dims}-i{i}" for f, i in product(BBOB_FUNCTIONS, instances))
    starts = Config().design_size(dims)
    return Suite(f"{name}-{dims}", f"{name}, {dims} dimensions", problems, evaluations * dims, starts)


def suites_named(
    name: str, dims: Sequence[int] = (5,), instances: Sequence[int] = (1, 2, 3), evaluations: int = 15
) -> list[Suite]:
    """The suite of a name; all in `SUITES` for `"all"`; a suite for each number of coordinates for one of BBOB.

    Args:
        name: A name in `SUITES` or in `BBOB_SUITES`, or `"all"`.
        dims: Numbers of coordinates, for `BBOB_SUITES`.
        instances: Instances of each function, for `BBOB_SUITES`.
        evaluations: Evaluations of a run for each coordinate, for `BBOB_SUITES`.
    """
    if name in BBOB_SUITES:
        return [bbob_suite(name, d, instances, evaluations) for d in dims]
    if name == ALL:
        return list(SUITES.values())
    if name not in SUITES:
        raise ValueError(f"the suite is {name!r}, expected one of {', '.join([*SUITES, *BBOB_SUITES, ALL])}.")
    return [SUITES[name]]


def plan_peers(
    suites: Sequence[Suite],
    optimizers: Sequence[str] | None = None,
    seeds: int = 5,
    common_start: bool = False,
) -> PeerPlan:
    """The campaigns that compare optimizers without settings.

    Only those that plan for a number of evaluations are told it, as anybody who uses them would. An optimizer or a
    problem whose package is missing is left out, with the reason in `PeerPlan.not_run`.

    Args:
        suites: What is searched, see `suites_named`.
        optimizers: Names in `betabo.lab.bench.OPTIMIZERS`; None for all of them.
        seeds: Number of seeds.
        common_start: Whether all optimizers are given the same starting points, so that only what they make of them is
            compared. Else each starts as it does by itself: optimizers as they come.

    Raises:
        ValueError: A name is unknown, or nothing is left to run.
    """
    if seeds < 1:
        raise ValueError(f"seeds is {seeds}, expected at least 1.")
    names = list(dict.fromkeys(OPTIMIZERS if optimizers is None else optimizers))
    not_run = {name: reason for name in names if (reason := _why_optimizer_is_missing(name))}
    usable = [name for name in names if name not in not_run]
    if not usable:
        raise ValueError(f"none of the optimizers can be run: {_listed(not_run)}.")
    campaigns, available = {}, list(usable)
    for part in suites:
        missing = {name: reason for name in part.problems if (reason := _why_problem_is_missing(name))}
        not_run |= missing
        problems = tuple(name for name in part.problems if name not in missing)
        available += problems
        starts = part.starting_points if common_start else 0
        if problems:
            campaigns[part.name] = Campaign(
                name=part.name,
                optimizers={name: _as_it_comes(name, part.budget - starts) for name in usable},
                problems=problems,
                seeds=tuple(range(seeds)),
                budget=part.budget,
                starting_points=starts,
            )
    if not campaigns:
        raise ValueError(f"none of the problems can be run: {_listed(not_run)}.")
    return PeerPlan(campaigns, tuple(available), not_run)


def record_not_run(plan: PeerPlan, out: str | Path) -> None:
    """Note in a folder what could not be run, for the report. What can be run now is taken off the list."""
    path = Path(out) / NOT_RUN_FILE
    reasons = {name: reason for name, reason in read_not_run(out).items() if name not in plan.available}
    write_text(path, json.dumps(reasons | plan.not_run, indent=1), parents=True)


def read_not_run(out: str | Path) -> dict[str, str]:
    """What could not be run, with the reason, as `record_not_run` noted it."""
    path = Path(out) / NOT_RUN_FILE
    reasons: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return reasons


def _as_it_comes(name: str, budget: int) -> OptimizerChoice:
    return OptimizerChoice(name, {"budget": budget} if "budget" in OPTIMIZERS[name].settings else {})


def _why_optimizer_is_missing(name: str) -> str:
    """What an optimizer lacks, empty where nothing does. Adapters import their packages when they are made."""
    try:
        make_adapter(name, {})
    except ImportError as error:
        return str(error)
    return ""


def _why_problem_is_missing(name: str) -> str:
    try:
        problem_by_name(name)
    except ImportError as error:
        return str(error)
    return ""


def _listed(reasons: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
