"""Minimize a function in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, cast

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds

from betabo.optimizer.callers import Executor, make_caller
from betabo.optimizer.config import Config
from betabo.optimizer.evaluation import (
    OnError,
    check_objective,
    check_on_error,
    explain_first,
    is_double_interrupt,
)
from betabo.optimizer.known import KnownPoints
from betabo.optimizer.optimizer import Optimizer, TooManyFailuresError
from betabo.optimizer.progress import SearchProgress, show_progress
from betabo.optimizer.result import SearchResult
from betabo.optimizer.stopping import StopChoice, Stopping
from betabo.problem import Problem
from betabo.problem.known import KnownLike
from betabo.problem.limits import LimitsLike
from betabo.problem.problem import ObjectivesLike
from betabo.space import Parameter, Space

Array = npt.NDArray[np.float64]
Arguments = ParamSpec("Arguments")


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
    timeout: float | str | None = None,
    target: float | None = None,
    stop: StopChoice = None,
    workers: int | None = None,
    executor: Executor | None = None,
    callback: Callable[[SearchResult], Any] | None = None,
    progress: bool = False,
    on_error: OnError = "raise",
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
    if budget < 1:
        raise ValueError(f"budget is {budget}, expected at least 1.")
    if not (isinstance(confirm, int | float) and 0 <= confirm < 1):
        raise ValueError(f"confirm is {confirm!r}, expected a share of the budget, from 0 to less than 1.")
    check_on_error(on_error)
    optimizer = Optimizer(
        given[0],
        objectives=objectives,
        constraints=constraints,
        known=known,
        seed=seed,
        initial=initial,
        known_points=known_points,
        config=config,
        **settings,
    )
    check_objective(fun, optimizer.space)
    stopping = Stopping.of(timeout, target, stop, optimizer.problem.directions)
    searching = budget - round(confirm * budget)
    asked, message, complete = 0, "", True
    with (
        show_progress(budget, optimizer.problem) if progress else SearchProgress() as display,
        make_caller(fun, workers, executor) as caller,
    ):
        try:
            while True:
                while caller.is_free and asked < budget and not message:
                    caller.submit(optimizer.ask(confirm=asked >= searching))
                    asked += 1
                if not caller.is_busy:
                    break
                point, returned = caller.take()
                try:
                    optimizer.tell(point, optimizer.problem.measure(returned()))
                except Exception as error:
                    if on_error == "raise" and all(evaluation.failed for evaluation in optimizer.evaluated):
                        explain_first(error)
                        raise
                    optimizer.tell_failure(point, f"{type(error).__name__}: {error}")
                display.update(optimizer.evaluated)
                answer = None if callback is None else callback(optimizer.result(refit=False))
                if isinstance(answer, (bool, np.bool_)) and answer:
                    message = message or "the callback asked to stop"
                elif len(optimizer.evaluated) < budget and not stopping.is_empty:
                    message = message or stopping.reason(optimizer.progress())
        except TooManyFailuresError as error:
            message, complete = str(error), False
        except KeyboardInterrupt:
            if is_double_interrupt() or not optimizer.evaluated:
                raise
            message, complete = f"interrupted after {len(optimizer.evaluated)} evaluations", False
    result = optimizer.result(message or f"the budget of {budget} evaluations is used up")
    result.success = complete and result.success
    return result


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
