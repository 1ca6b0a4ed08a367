"""Minimize a function in one call: in this process, or as a study that outlives it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ParamSpec, cast

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds

from betabo.optimizer.callers import Executor, make_caller
from betabo.optimizer.config import Config
from betabo.optimizer.evaluation import OnError, check_objective, check_on_error
from betabo.optimizer.known import KnownPoints
from betabo.optimizer.loop import MemorySearch, Search, run_search
from betabo.optimizer.optimizer import Optimizer
from betabo.optimizer.progress import SearchProgress, show_progress
from betabo.optimizer.result import SearchResult
from betabo.optimizer.stopping import StopChoice, Stopping
from betabo.problem import Problem
from betabo.problem.known import KnownLike
from betabo.problem.limits import LimitsLike
from betabo.problem.problem import ObjectivesLike
from betabo.space import Parameter, Space
from betabo.space.checks import integer
from betabo.suggestions import did_you_mean

Array = npt.NDArray[np.float64]
Arguments = ParamSpec("Arguments")

_STORAGE = "sqlite:///betabo.db"  # as `betabo.studies.storage` has it, which is slow to import

_ELSEWHERE = {
    **dict.fromkeys(("n_calls", "n_trials", "n_iter", "maxiter", "max_evals", "max_iter", "trials"), "budget"),
    **dict.fromkeys(("random_state", "rng"), "seed"),
    **dict.fromkeys(("x0", "enqueue"), "initial"),
    **dict.fromkeys(("n_jobs", "processes"), "workers"),
    "n_initial_points": "starting_points",
    "n_startup_trials": "starting_points",
    "acq_func": "acquisition",
    "study_name": "study",
    "directions": "objectives",
    "dimensions": "space",
}
"""What other packages call some arguments."""


def minimize(
    fun: Callable[[Any], Any],
    bounds: Sequence[Sequence[float]] | Array | Bounds | None = None,
    *,
    space: Space | Mapping[str, Parameter] | None = None,
    problem: Problem | None = None,
    objectives: ObjectivesLike = "minimize",
    constraints: LimitsLike = (),
    known: KnownLike | Iterable[KnownLike] = (),
    budget: int = 50,
    confirm: float = 0.0,
    seed: int | None = None,
    initial: Iterable[Any] = (),
    known_points: KnownPoints = (),
    earlier: KnownPoints = (),
    timeout: float | str | None = None,
    target: float | None = None,
    stop: StopChoice = None,
    workers: int | None = None,
    executor: Executor | None = None,
    callback: Callable[[SearchResult], Any] | None = None,
    progress: bool = False,
    on_error: OnError = "raise",
    study: str | None = None,
    storage: str = _STORAGE,
    config: Config | None = None,
    **settings: Any,
) -> SearchResult:
    """Minimize an expensive black box over a bounded space.

    Args:
        fun: The objective. It is given an array for bounds, a dictionary for a space with names, and returns a number;
            with several objectives or with constraints, a dict with the number of each name.
            NaN or infinity is a failed evaluation: it is recorded and the search goes on elsewhere. So is an exception,
            or what is no number, once an evaluation has succeeded; before, it is raised, see `on_error`. After Ctrl-C
            the result so far is returned; a second Ctrl-C within two seconds raises.
        bounds: Pairs of lower and upper bounds, or a `scipy.optimize.Bounds`.
        space: A dictionary of `Float`, `Int`, `Categorical` and `Fixed` parameters, or a `Space`, in place of bounds.
        problem: Space, objectives, constraints and points as a whole, in place of the single arguments.
        objectives: `"minimize"`, `"maximize"`, or the name and direction of each of several objectives, such as
            `{"loss": "minimize", "speed": "maximize"}`; see `SearchResult.front`.
        constraints: Limits of what the objective measures beside its value, such as `{"temperature": "<= 80"}`,
            `"20..80"` for both sides. They are modelled like the objective, and may be violated on the way.
        known: Constraints on the parameters that no proposal violates, starting points included: text such as
            `"x + y <= 1"`, `simplex("a", "b")` or `at_most(2, "a", "b", "c")`, a function of a point that returns True
            or False, or, of bounds, SciPy's `LinearConstraint`, `NonlinearConstraint` and dictionaries.
        budget: Number of evaluations.
        confirm: Share of the budget, less than 1, that is kept for the end, to measure promising points again: those of
            which another value is expected to improve the answer most. Where the model sees no noise the search goes on
            as usual.
        seed: Seed of the search; None draws one.
        initial: Points to evaluate first, in the user's units.
        known_points: Results that are known already: pairs `(point, value)`; a DataFrame, or a file of CSV, Parquet or
            JSON, with a column for each parameter and `value`. The model learns from them, and they take the place of
            starting points; they do not count as evaluations. Those outside the space are left out with a warning.
        earlier: Results of an earlier task, as `known_points` are given, or the name of an earlier study in `storage`.
            They count as far as they predict what this search finds, and are never the answer; the best of them that
            lies in the space is evaluated first.
        timeout: Seconds, or text such as `"90s"`, `"15m"` and `"2h"`, after which no evaluation begins.
        target: Value that is good enough: the search stops when it is reached.
        stop: Further reasons to stop: `"plateau"` when the best value has not improved for long, `"regret"` when the
            model believes that little is left to be gained, `"plateau=30"`, `"regret=0.01"`, a `Plateau` or a `Regret`
            of `betabo.optimizer.stopping`, or several of these.
        workers: Number of points that are evaluated at the same time, each in a process of its own; None is 1, or as
            many as the executor has. A worker that is free gets its next point at once, so that the order of
            evaluations, and with it the search, depends on how long they take.
        executor: Who evaluates in place of processes of our own: one of `concurrent.futures`, a Dask client, or a pool
            of `multiprocessing` or of Ray.
        callback: Called after each evaluation with the result so far; the search stops when it returns True.
        progress: Whether to show progress on the terminal.
        on_error: `"raise"` raises an exception of the objective until an evaluation has succeeded; `"record"` records
            it as a failed evaluation from the first one on.
        study: Name of a study in which every evaluation is stored as it happens. The same call goes on where it
            stopped, also after a crash or beside other programs, and `budget` is the total. `betabo show`, `report` and
            so on know the study. None keeps nothing.
        storage: Database of the study: `sqlite:///FILE` or `postgresql://USER@HOST/NAME`.
        config: The configuration as a whole, in place of `settings`.
        settings: Settings of `Config`, such as `kernel="beta"`, `acquisition="ucb"` or `noise="none"`.

    Returns:
        The result: `x`, `fun`, `nfev` and so on as in SciPy, and the whole record.

    Example:
        >>> result = minimize(lambda x: (x[0] - 1) ** 2 + x[1], bounds=[(-5, 10), (0, 15)], budget=30, seed=0)
        >>> result.x, result.fun
    """
    given = [part for part in (bounds, space, problem) if part is not None]
    if len(given) != 1:
        raise ValueError("expected either bounds or space, or a problem, and only one of them.")
    _check_settings(settings)
    if integer("budget", budget) < 1:
        raise ValueError(f"budget is {budget}, expected at least 1.")
    if not (isinstance(confirm, int | float) and 0 <= confirm < 1):
        raise ValueError(f"confirm is {confirm!r}, expected a share of the budget, from 0 to less than 1.")
    if not isinstance(storage, str):
        raise TypeError(f"storage is {storage!r}, expected text such as 'sqlite:///runs.db'.")
    if not isinstance(progress, bool):
        raise TypeError(f"progress is {progress!r}, expected True or False.")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is {callback!r}, expected a function of the result so far.")
    check_on_error(on_error)
    whole = Problem.of(
        given[0],
        objectives=objectives,
        constraints=constraints,
        known=known,
        initial=initial,
        known_points=known_points,
        earlier=earlier,
    )
    if isinstance(earlier, str) and Path(earlier).suffix.lower() not in (".csv", ".parquet", ".json"):
        from betabo.studies import load_study
        from betabo.studies.beginning import points_of_study

        whole = replace(whole, earlier=points_of_study(load_study(earlier, storage), whole))
    check_objective(fun, whole.space)
    stopping = Stopping.of(timeout, target, stop, whole.directions)
    with ExitStack() as held:
        caller = make_caller(fun, workers, executor)
        search: Search
        if study is None:
            if storage != _STORAGE and not earlier:
                raise ValueError(f"storage is {storage!r} without a study; pass study=, the name that it is to have.")
            search = MemorySearch(Optimizer(whole, seed=seed, config=config, **settings), budget, confirm)
        else:
            if confirm:
                raise ValueError(f"confirm is {confirm!r} with study={study!r}, expected 0: a study has no share kept.")
            from betabo.studies.search import open_search

            search = open_search(fun, whole, study, storage, budget, Config.of(config, settings), seed)
        held.callback(search.close)
        display = held.enter_context(show_progress(budget, whole) if progress else SearchProgress())
        held.enter_context(caller)
        return run_search(
            search, caller, display, budget=budget, stopping=stopping, on_error=on_error, callback=callback
        )


def _check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse what is no argument, and say what may be meant."""
    arguments = [name for name in minimize.__annotations__ if name not in ("fun", "settings", "return")]
    known = [*arguments, *(setting.name for setting in fields(Config))]
    for name in settings:
        if name not in known:
            meant = f" Did you mean {_ELSEWHERE[name]!r}?" if name in _ELSEWHERE else did_you_mean(name, known)
            raise TypeError(f"unknown argument {name}, expected some of {', '.join(known)}.{meant}")


def _with_arguments_of(
    _: Callable[Arguments, SearchResult],
) -> Callable[[Callable[..., SearchResult]], Callable[Arguments, SearchResult]]:
    """Say that a function takes the arguments of another one."""
    return lambda function: cast("Callable[Arguments, SearchResult]", function)


@_with_arguments_of(minimize)
def maximize(fun: Any, bounds: Any = None, **arguments: Any) -> SearchResult:
    """Maximize an expensive black box over a bounded space: `minimize` with the direction turned, and its arguments.

    Example:
        >>> result = maximize(lambda x: x[1] - (x[0] - 1) ** 2, bounds=[(-5, 10), (0, 15)], budget=30, seed=0)
        >>> result.x, result.fun
    """
    for name in ("problem", "objectives"):
        if arguments.get(name) is not None:
            raise TypeError(f"maximize takes no {name}, which says itself what is maximized; call minimize with it.")
    return minimize(fun, bounds, objectives="maximize", **arguments)
