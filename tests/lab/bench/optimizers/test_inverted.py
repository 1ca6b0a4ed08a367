from __future__ import annotations

import threading

import numpy as np
import pytest

from betabo.lab.bench.optimizers.inverted import InvertedSearch

BOUNDS = [(-5.0, 10.0), (0.0, 15.0)]
NO_STARTS = np.empty((0, 2))


class Walk(InvertedSearch):
    """Three steps from the start along the first coordinate, and no more."""

    def minimize(self, function, start) -> None:
        self.heard = [function(np.add(start, [step, 0.0])) for step in range(3)]


class Broken(InvertedSearch):
    def minimize(self, function, start) -> None:
        function(start)
        raise ZeroDivisionError("inside")


def asked(search: InvertedSearch, values: list[float], starts: np.ndarray = NO_STARTS, seed: int = 0) -> np.ndarray:
    search.start(BOUNDS, starts, seed)
    points = []
    for value in values:
        points.append(search.ask())
        search.tell(points[-1], value)
    search.end()
    return np.array(points)


def test_a_search_that_ends_is_followed_by_one_from_a_random_point() -> None:
    points = asked(Walk(), [0.0] * 7)
    steps = np.diff(points[:, 0])
    np.testing.assert_allclose(steps[[0, 1, 3, 4]], [min(1.0, 10 - x) for x in points[[0, 1, 3, 4], 0]], atol=1e-12)
    assert points[3, 1] != points[0, 1] != points[6, 1]


def test_it_starts_at_the_best_starting_point() -> None:
    starts = np.array([[0.0, 1.0], [2.0, 3.0], [1.0, 1.0]])
    points = asked(Walk(), [5.0, -1.0, 3.0, 0.0], starts)
    assert points[:3].tolist() == starts.tolist()
    assert points[3].tolist() == [2.0, 3.0]


def test_failures_count_as_the_highest_value() -> None:
    search = Walk()
    asked(search, [3.0, float("nan"), 1.0, 0.0])
    assert search.heard == [3.0, 3.0, 1.0]
    search = Walk()
    asked(search, [float("inf"), 2.0, float("nan"), 0.0])
    assert search.heard == [0.0, 2.0, 2.0]


def test_errors_of_the_package_are_passed_on() -> None:
    search = Broken()
    search.start(BOUNDS, NO_STARTS, 0)
    search.tell(search.ask(), 1.0)
    with pytest.raises(ZeroDivisionError, match="inside"):
        search.ask()


def test_no_thread_is_left() -> None:
    before = threading.active_count()
    search = Walk()
    search.start(BOUNDS, NO_STARTS, 0)
    search.ask()
    assert threading.active_count() == before + 1
    search.end()
    assert threading.active_count() == before
