"""Grids of values, which are decimal numbers and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from betabo.space.steps import Steps


def test_values_are_decimal() -> None:
    grid = Steps(0.0, 1.0, 0.1)
    assert [grid.value(k) for k in range(grid.count)] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


@pytest.mark.parametrize(("low", "high", "step"), [(0.0, 1.0, 0.1), (-3, 9, 4), (1e-3, 2e-3, 1e-5), (0.1, 0.3, 0.1)])
def test_every_value_returns(low: float, high: float, step: float) -> None:
    grid = Steps(low, high, step)
    assert (grid.value(0), grid.value(grid.count - 1)) == (low, high)
    for k in range(grid.count):
        assert grid.index(grid.value(k)) == k
        assert grid.nearest(grid.coordinate(np.array([k])))[0] == k


def test_coordinates_are_evenly_spaced() -> None:
    assert Steps(2, 10, 2).coordinate(np.arange(5)).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_half_way_the_smaller_one_is_nearest() -> None:
    grid = Steps(0, 4, 2)
    assert grid.nearest(np.array([0.24, 0.25, 0.26, 0.74, 0.75, 0.76])).tolist() == [0, 0, 1, 1, 1, 2]


def test_neighbours_end_at_the_bounds() -> None:
    grid = Steps(0, 4, 2)
    assert grid.beside(np.array([0.0])).tolist() == [[0.5]]
    assert grid.beside(np.array([0.5])).tolist() == [[0.0], [1.0]]
    assert grid.beside(np.array([1.0])).tolist() == [[0.5]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 1.0, 0.0), "step is 0.0, expected a number > 0"),
        ((0.0, 1.0, 0.3), "expected a whole number of steps of 0.3 above low = 0.0; use 0.9"),
        ((0.0, 1.0, 2.0), "expected a whole number of steps of 2.0 above low = 0.0; use 2.0"),
        ((0.0, 1.0, 1e-17), "too small for the interval; leave the step out"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(arguments: tuple[float, float, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Steps(*arguments)


def test_a_value_off_the_grid_is_refused_with_one_on_it() -> None:
    with pytest.raises(ValueError, match=r"value is 0\.35, expected a step of 0\.1 from 0\.0, such as 0\.[34]"):
        Steps(0.0, 1.0, 0.1).index(0.35)
