"""Numbers with slopes, against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from betabo.problem.duals import Dual, as_dual, choose

POINTS = np.random.default_rng(0).uniform(0.3, 2.0, size=(20, 2))

FUNCTIONS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + 2 * y - 3,
    lambda x, y: 3 - x * y,
    lambda x, y: x / y + 2 / x - y / 4,
    lambda x, y: x**3 - y**0.5,
    lambda x, y: x**y + 2.0**x,
    lambda x, y: abs(x - y) + -x,
    lambda x, y: x % 5 + 5 % y,
    lambda x, y: x % (0.4 * y),
]


def dual(points: Any, place: int) -> Dual:
    return Dual(points[:, place], np.tile(np.eye(2)[place], (len(points), 1)))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_slopes_are_those_of_finite_differences(function: Callable[[Any, Any], Any]) -> None:
    found = function(dual(POINTS, 0), dual(POINTS, 1))
    np.testing.assert_allclose(found.value, function(*POINTS.T), rtol=1e-14)
    for place in (0, 1):
        step = 1e-6 * np.eye(2)[place]
        slope = (function(*(POINTS + step).T) - function(*(POINTS - step).T)) / 2e-6
        np.testing.assert_allclose(found.slope[:, place], slope, rtol=1e-6, atol=1e-8)


def test_whole_parts_have_no_slope() -> None:
    found = dual(POINTS, 0) // 0.5
    assert (found.value == POINTS[:, 0] // 0.5).all()
    assert ((3 // dual(POINTS, 0)).value == 3 // POINTS[:, 0]).all()
    assert not found.slope.any()


def test_one_of_two_keeps_its_slope() -> None:
    x, y = dual(POINTS, 0), dual(POINTS, 1)
    smaller = choose(x.value <= y.value, x, y)
    assert (smaller.value == POINTS.min(axis=1)).all()
    assert (smaller.slope.argmax(axis=1) == POINTS.argmin(axis=1)).all()
    assert as_dual(3, x).slope.shape == x.slope.shape
    assert as_dual(x, x) is x
