"""Checks of what a user hands in: numbers, bounds, scalars, coordinates. Errors say what was found and expected."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]

# How far outside [0, 1] a coordinate may lie and still count as rounding of a bound.
_ROUNDING = 1e-9


def finite_number(name: str, value: object) -> float:
    """The value as a Python float, or an error that calls it `name`."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} is {value!r}, expected a number.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} is {value!r}, expected a finite number.")
    return number


def integer(name: str, value: object) -> int:
    """The value as a Python int, or an error that calls it `name`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} is {value!r}, expected an integer; use int(...) for a whole number of another type.")
    return int(value)


def check_interval(low: float, high: float, log: object) -> None:
    """Refuse bounds that are no interval, and a log scale that reaches zero."""
    if low == high:
        raise ValueError(f"low and high are both {low!r}, expected low < high; use Fixed({low!r}) for a constant.")
    if low > high:
        raise ValueError(f"low is {low!r} and high is {high!r}, expected low < high; swap them.")
    if not isinstance(log, bool):
        raise TypeError(f"log is {log!r}, expected True or False.")
    if log and low <= 0:
        raise ValueError(f"low is {low!r}, expected a number > 0 with log=True; raise low or use log=False.")


def check_inside(value: float, low: float, high: float) -> None:
    """Refuse a value outside its bounds."""
    if not low <= value <= high:
        raise ValueError(f"value is {value!r}, expected one in [{low!r}, {high!r}]; change it or the bounds.")


def check_scalar(name: str, value: object) -> None:
    """Refuse what JSON does not have as a scalar."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}, expected a finite number.")
    if not isinstance(value, str | int | float | None):
        raise TypeError(
            f"{name} is {value!r}, expected a string, a Python number, a boolean or None, as JSON has them; "
            "use .item() for a NumPy scalar and a string as the name of anything else."
        )


def as_coordinates(u: ArrayLike, width: int) -> Array:
    """Coordinates of one point, of shape `width`, moved into [0, 1] if rounding put them outside."""
    array = np.asarray(u, dtype=np.float64)
    if array.shape != (width,):
        raise ValueError(f"Coordinates have shape {array.shape}, expected ({width},).")
    return _inside_cube(array)


def as_points(u: ArrayLike, width: int) -> Array:
    """Points, `n x width`, moved into [0, 1] if rounding put them outside."""
    array = np.asarray(u, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != width:
        raise ValueError(f"Points have shape {array.shape}, expected (n, {width}).")
    return _inside_cube(array)


def _inside_cube(array: Array) -> Array:
    outside = ~((array >= -_ROUNDING) & (array <= 1 + _ROUNDING))  # also true for NaN
    if outside.any():
        raise ValueError(f"A coordinate is {float(array[outside][0])!r}, expected a number in [0, 1].")
    return np.clip(array, 0.0, 1.0)
