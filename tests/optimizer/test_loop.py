from __future__ import annotations

from typing import Any

import pytest

from betabo.optimizer import Optimizer
from betabo.optimizer.callers import Caller
from betabo.optimizer.loop import MemorySearch, run_search
from betabo.optimizer.progress import SearchProgress
from betabo.optimizer.stopping import Stopping


class Strict(MemorySearch):
    """Says what was withdrawn, and fails when something cannot be kept."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.withdrawn: list[Any] = []

    def tell(self, point: Any, found: Any) -> None:
        if found.values[0] > 100:
            raise OSError("the disk is full")
        super().tell(point, found)

    def withdraw(self, point: Any) -> None:
        self.withdrawn.append(point)


def make(budget: int) -> Strict:
    return Strict(Optimizer([(0, 1)], seed=0, starting_points=100), budget)


def run(search: Strict, fun: Any, budget: int, **more: Any) -> Any:
    return run_search(search, Caller(fun), SearchProgress(), budget=budget, stopping=Stopping(), **more)


def test_no_more_points_are_asked_for_than_the_budget_has() -> None:
    search = make(5)
    result = run(search, lambda x: x[0], 5)
    assert (result.nfev, result.message) == (5, "the budget of 5 evaluations is used up")
    assert search.ask() is None


def test_a_first_error_takes_its_point_back() -> None:
    search = make(5)
    with pytest.raises(ZeroDivisionError):
        run(search, lambda x: 1 / 0, 5)
    assert len(search.withdrawn) == 1
    assert run(make(3), lambda x: 1 / 0, 3, on_error="record").nfail == 3


def test_a_result_that_cannot_be_kept_is_no_failure_of_the_objective() -> None:
    values = iter([1.0, 1000.0])
    with pytest.raises(OSError, match="disk"):
        run(make(5), lambda x: next(values), 5, on_error="record")
