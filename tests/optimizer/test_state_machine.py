"""Random sequences of everything that can be done to a search, against a record that is kept by hand."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from betabo import Categorical, Float, Int, Optimizer

numbers = st.integers(0, 999)
values = st.floats(-1e6, 1e6)
units = st.floats(0, 1)


class Search(RuleBasedStateMachine):
    """Asks, tells in any order, reports failures, saves and loads."""

    space: ClassVar[Any]

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.optimizer = Optimizer(self.space, seed=0, kernel="rbf", starting_points=3, max_failures=1000)
        self.pending: list[Any] = []
        self.told: list[tuple[Any, float | None, bool]] = []  # point, value, whether it had been asked for

    def teardown(self) -> None:
        self.folder.cleanup()

    def check_point(self, point: Any) -> None:
        raise NotImplementedError

    def somewhere(self, u: float, v: float, number: int) -> Any:
        raise NotImplementedError

    def flat(self, point: Any) -> list[Any]:
        return list(point.values()) if isinstance(point, dict) else point.tolist()

    def asked(self, points: list[Any]) -> None:
        for point in points:
            self.check_point(point)
            assert self.flat(point) not in [self.flat(other) for other in self.pending]
            self.pending.append(point)

    @rule(count=st.integers(1, 5))
    def ask_for_several(self, count: int) -> None:
        points = self.optimizer.ask(count)
        assert len(points) == count
        self.asked(points)

    @rule()
    def ask_for_one(self) -> None:
        self.asked([self.optimizer.ask()])

    @precondition(lambda self: self.pending)
    @rule(number=numbers, value=values)
    def tell_one(self, number: int, value: float) -> None:
        point = self.pending.pop(number % len(self.pending))
        self.optimizer.tell(point, value)
        self.told.append((point, value, True))

    @precondition(lambda self: self.pending)
    @rule(number=numbers, value=st.sampled_from([None, math.nan, math.inf, "failure"]))
    def tell_a_failure(self, number: int, value: Any) -> None:
        point = self.pending.pop(number % len(self.pending))
        if value == "failure":
            self.optimizer.tell_failure(point, "for a reason")
        else:
            self.optimizer.tell(point, value)
        self.told.append((point, None, True))

    @rule(u=units, v=units, number=numbers, value=values)
    def tell_what_was_never_asked_for(self, u: float, v: float, number: int, value: float) -> None:
        self.tell_uninvited(self.somewhere(u, v, number), value)

    @precondition(lambda self: self.told)
    @rule(number=numbers, value=st.one_of(values, st.none()))
    def tell_again(self, number: int, value: float | None) -> None:
        self.tell_uninvited(self.told[number % len(self.told)][0], value)

    def tell_uninvited(self, point: Any, value: float | None) -> None:
        """Tell a point of one's own, which is the pending one if it is the same; tell nothing close to one."""
        unit = self.optimizer.space.to_unit(point)
        close = [p for p in self.pending if np.abs(self.optimizer.space.to_unit(p) - unit).max() < 1e-3]
        if close and [self.flat(p) for p in close] != [self.flat(point)]:
            return
        self.optimizer.tell(point, value)
        self.told.append((point, value, bool(close)))
        self.pending = [p for p in self.pending if not close or p is not close[0]]

    @rule(then_ask=st.booleans())
    def save_and_load(self, then_ask: bool) -> None:
        path = Path(self.folder.name) / "search.json"
        self.optimizer.save(path)
        loaded = Optimizer.load(path)
        assert loaded.to_json() == self.optimizer.to_json()
        if then_ask:
            expected, found = self.optimizer.ask(), loaded.ask()
            assert self.flat(found) == self.flat(expected)
            self.asked([found])
        self.optimizer = loaded

    @invariant()
    def pending_is_what_was_asked_for_and_not_told(self) -> None:
        found = [self.optimizer.space.from_unit(pending.unit) for pending in self.optimizer.pending]
        assert [self.flat(point) for point in found] == [self.flat(point) for point in self.pending]

    @invariant()
    def history_is_what_was_told(self) -> None:
        assert len(self.optimizer.history) == len(self.told)
        for evaluation, (point, value, asked) in zip(self.optimizer.history, self.told, strict=True):
            assert evaluation.value == value
            assert evaluation.failed == (value is None) == bool(evaluation.error)
            assert (evaluation.origin == "user") == (not asked)
            assert evaluation.unit == pytest.approx(self.optimizer.space.to_unit(point).tolist(), abs=1e-9)

    @invariant()
    def result_is_the_best_of_it(self) -> None:
        finished = [value for _, value, _ in self.told if value is not None]
        result = self.optimizer.result()
        assert (result.nfev, result.nfail) == (len(self.told), len(self.told) - len(finished))
        if not finished:
            assert math.isnan(result.fun)
            assert math.isnan(result.fun_observed)
            return
        self.check_point(result.x)
        means = {place: sum(there) / len(there) for place, there in self.values_by_place().items()}
        assert result.fun_observed == pytest.approx(min(means.values()))
        assert result.fun == pytest.approx(means[self.place(result.x)])

    def place(self, point: Any) -> tuple[float, ...]:
        return tuple(self.optimizer.space.to_unit(point).round(9) + 0.0)

    def values_by_place(self) -> dict[tuple[float, ...], list[float]]:
        by_place: dict[tuple[float, ...], list[float]] = {}
        for point, value, _ in self.told:
            if value is not None:
                by_place.setdefault(self.place(point), []).append(value)
        return by_place


class SearchInABox(Search):
    space: ClassVar[Any] = [(-2.0, 3.0), (1e5, 1e6)]

    def check_point(self, point: Any) -> None:
        assert isinstance(point, np.ndarray)
        assert point.dtype == np.float64
        assert -2 <= point[0] <= 3
        assert 1e5 <= point[1] <= 1e6

    def somewhere(self, u: float, v: float, number: int) -> Any:
        return np.array([min(-2 + 5 * u, 3.0), min(1e5 + 9e5 * v, 1e6)])


class SearchWithNames(Search):
    space: ClassVar[Any] = {
        "shift": Float(-1.0, 4.0),
        "rate": Float(1e-6, 1e-1, log=True),
        "layers": Int(1, 7),
        "act": Categorical(["relu", "tanh", None]),
    }

    def check_point(self, point: Any) -> None:
        assert list(point) == list(self.space)
        assert type(point["shift"]) is type(point["rate"]) is float
        assert type(point["layers"]) is int
        assert -1 <= point["shift"] <= 4
        assert 1e-6 <= point["rate"] <= 1e-1
        assert 1 <= point["layers"] <= 7
        assert point["act"] in ("relu", "tanh", None)

    def somewhere(self, u: float, v: float, number: int) -> Any:
        rate = min(max(10 ** (-6 + 5 * v), 1e-6), 1e-1)
        return {"shift": -1 + 5 * u, "rate": rate, "layers": 1 + number % 7, "act": ["relu", "tanh", None][number % 3]}


FEW = settings(max_examples=10, stateful_step_count=12)

TestSearchInABox = SearchInABox.TestCase
TestSearchInABox.settings = FEW
TestSearchWithNames = SearchWithNames.TestCase
TestSearchWithNames.settings = FEW
