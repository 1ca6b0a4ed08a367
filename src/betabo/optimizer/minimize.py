"""Minimize a function in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from betabo.optimizer.config import Config
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
    initial_points: Iterable[Any] = (),
    callback: Callable[[SearchResult], Any] | None = None,
    progress: bool = False,
    config: Config | None = None,
    **settings: Any,
) -> SearchResult:
    """Minimize an expensive black box over a bounded space.

    Args:
        fun: The objective. It is given an array for bounds, a dictionary for a space with names, and returns a number.
            An exception, NaN or infinity is a failed evaluation: it is recorded and the search goes on elsewhere.
        bounds: Pairs of lower and upper bounds, or a `scipy.optimize.Bounds`.
        space: A dictionary of `Float`, `Int`, `Categorical` and `Fixed` parameters, or a `Space`, in place of bounds.
        budget: Number of evaluations.
        seed: Seed of the search; None draws one.
        initial_points: Points to evaluate first, in the user's units.
        callback: Called after each evaluation with the result so far; the search stops when it returns True.
        progress: Whether to show progress on the terminal.
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
    optimizer = Optimizer(
        bounds if space is None else space, seed=seed, initial_points=initial_points, config=config, **settings
    )
    message, complete = f"the budget of {budget} evaluations is used up", True
    with show_progress(budget) if progress else SearchProgress() as display:
        for _ in range(budget):
            try:
                point = optimizer.ask()
            except TooManyFailuresError as error:
                message, complete = str(error), False
                break
            try:
                optimizer.tell(point, fun(point.copy()))  # a copy, as the objective may change it in place
            except Exception as error:
                optimizer.tell_failure(point, f"{type(error).__name__}: {error}")
            display.update(optimizer.history)
            stop = None if callback is None else callback(optimizer.result())
            if isinstance(stop, (bool, np.bool_)) and stop:
                message = "the callback asked to stop"
                break
    result = optimizer.result(message)
    result.success = complete and result.x is not None
    return result
