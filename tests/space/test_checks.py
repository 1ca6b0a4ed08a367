"""Checks of what a user hands in, and what they say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from betabo.space.checks import (
    as_coordinates,
    as_points,
    check_inside,
    check_interval,
    check_scalar,
    finite_number,
    integer,
)


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.int8(3)])
def test_numbers_of_all_kinds_are_floats(value: Any) -> None:
    found = finite_number("low", value)
    assert type(found) is float
    assert found == 3.0


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (True, TypeError, "low is True, expected a number"),
        ("3", TypeError, "low is '3', expected a number"),
        (math.nan, ValueError, "low is nan, expected a finite number"),
        (10**400, ValueError, "expected a finite number"),
    ],
    ids=["bool", "text", "nan", "huge"],
)
def test_what_is_no_finite_number_is_refused(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        finite_number("low", value)


def test_integers_are_not_rounded() -> None:
    assert integer("n", np.int64(4)) == 4
    for value in (4.0, True, "4"):
        with pytest.raises(TypeError, match="expected an integer; use int"):
            integer("n", value)


@pytest.mark.parametrize(
    ("low", "high", "log", "error", "message"),
    [
        (1.0, 1.0, False, ValueError, r"both 1\.0, expected low < high; use Fixed\(1\.0\) for a constant"),
        (2.0, 1.0, False, ValueError, "swap them"),
        (0.0, 1.0, True, ValueError, "expected a number > 0 with log=True"),
        (1.0, 2.0, "yes", TypeError, "log is 'yes', expected True or False"),
    ],
)
def test_an_interval_that_is_none_is_refused(
    low: float, high: float, log: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        check_interval(low, high, log)


def test_bounds_are_inside() -> None:
    for value in (0.0, 0.5, 1.0):
        check_inside(value, 0.0, 1.0)
    for value in (-1e-12, 1.5, math.nan):
        with pytest.raises(ValueError, match=r"expected one in \[0\.0, 1\.0\]; change it or the bounds"):
            check_inside(value, 0.0, 1.0)


def test_scalars_are_those_of_json() -> None:
    for value in ("a", 1, 1.5, True, None):
        check_scalar("choice", value)
    with pytest.raises(TypeError, match=r"use \.item\(\) for a NumPy scalar"):
        check_scalar("choice", np.int64(1))
    with pytest.raises(ValueError, match="choice is inf, expected a finite number"):
        check_scalar("choice", math.inf)


def test_rounding_is_moved_onto_the_cube() -> None:
    assert as_coordinates([-1e-10, 1 + 1e-10], 2).tolist() == [0.0, 1.0]
    assert as_points([[0.5], [1 + 1e-10]], 1).tolist() == [[0.5], [1.0]]


@pytest.mark.parametrize("value", [-1e-6, 1.1, math.nan])
def test_what_is_further_out_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"expected a number in \[0, 1\]"):
        as_coordinates([value], 1)


def test_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"shape \(1,\), expected \(2,\)"):
        as_coordinates([0.5], 2)
    with pytest.raises(ValueError, match=r"shape \(2,\), expected \(n, 2\)"):
        as_points([0.5, 0.5], 2)
