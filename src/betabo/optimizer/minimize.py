"""Minimize a function in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from betabo.optimizer.config import Config
from betabo.optimizer.evaluation import (
    OnError,
    call,
    check_objective,
    check_on_error,
    explain_first,
    is_double_interrupt,
)
from betabo.optimizer.known import KnownPoints
from betabo.optimizer.optimizer import Optimizer, TooManyFailuresError
from betabo.optimizer.progress import SearchProgress, show_progress
from betabo.optimizer.result import SearchResult


def minimize(
    fun: Callable[[Any], float],
    bounds: Any = None,
    *,
    space: Any = None,
    budget: int = 50,
    seed: int | None = None,
    initial: Iterable[Any] = (),
    known_points: KnownPoints = (),
    callback: Callable[[SearchResult], Any] | None = None,
    progress: bool = False,
    on_error: OnError = "raise",
    config: Config | None = None,
    **settings: Any,
) -> SearchResult:
    """Minimize an expensive black box over a bounded space.

    Args:
        fun: The objective. It is given an array for bounds, a dictionary for a space with names, and returns a number.
            NaN or infinity is a failed evaluation: it is recorded and the search goes on elsewhere. So is an exception,
            or what is no number, once an evaluation has succeeded; before, it is raised, see `on_error`. After Ctrl-C
            the result so far is returned; a second Ctrl-C within two seconds raises.
        bounds: Pairs of lower and upper bounds, or a `scipy.optimize.Bounds`.
        space: A dictionary of `Float`, `Int`, `Categorical` and `Fixed` parameters, or a `Space`, in place of bounds.
        budget: Number of evaluations.
        seed: Seed of the search; None draws one.
        initial: Points to evaluate first, in the user's units.
        known_points: Results that are known already: pairs `(point, value)`; a DataFrame, or a file of CSV, Parquet or
            JSON, with a column for each parameter and `value`. The model learns from them, and they take the place of
            starting points; they do not count as evaluations. Those outside the space are left out with a warning.
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
    if (bounds is None) == (space is None):
        raise ValueError("expected either bounds or space, and not both.")
    if budget < 1:
        raise ValueError(f"budget is {budget}, expected at least 1.")
    check_on_error(on_error)
    optimizer = Optimizer(
        bounds if space is None else space,
        seed=seed,
        initial=initial,
        known_points=known_points,
        config=config,
        **settings,
    )
    check_objective(fun, optimizer.space)
    message, complete = f"the budget of {budget} evaluations is used up", True
    with show_progress(budget) if progress else SearchProgress() as display:
        try:
            for _ in range(budget):
                point = optimizer.ask()
                try:
                    optimizer.tell(point, call(fun, point))
                except Exception as error:
                    if on_error == "raise" and all(evaluation.failed for evaluation in optimizer.evaluated):
                        explain_first(error)
                        raise
                    optimizer.tell_failure(point, f"{type(error).__name__}: {error}")
                display.update(optimizer.evaluated)
                stop = None if callback is None else callback(optimizer.result())
                if isinstance(stop, (bool, np.bool_)) and stop:
                    message = "the callback asked to stop"
                    break
        except TooManyFailuresError as error:
            message, complete = str(error), False
        except KeyboardInterrupt:
            if is_double_interrupt() or not optimizer.evaluated:
                raise
            message, complete = f"interrupted after {len(optimizer.evaluated)} evaluations", False
    result = optimizer.result(message)
    result.success = complete and result.x is not None
    return result
