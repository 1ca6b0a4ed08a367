"""Which point was meant: one that was asked for comes back as float32, or with the digits that were printed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from betabo.space.parameters import Float, Int, Parameter
from betabo.space.space import Point, Space

TOLERANCE = 1e-4
"""How far a number may be from the one that it stands for, as a share of its range."""

_SINGLE = 2.0**-23  # two roundings to float32, relative to the larger bound


def mismatch(space: Space, asked: Point, told: Any) -> float:
    """How far a point that was told is from one that was asked for, in tolerances.

    Two numbers of a continuum are the same within `TOLERANCE` of the range, or of its logarithm, and within the
    rounding of float32. With a step, they are so up to a quarter of a step; an integer that is told as one, and a
    category, have to be equal.

    Returns:
        0 for the very same point, at most 1 for one that stands for it, infinity for any other.
    """
    pairs = _pairs(space, asked, told)
    if pairs is None:
        return math.inf
    worst = max((_mismatch(space.parameters[name], a, t) for name, (a, t) in pairs.items()), default=0.0)
    return worst if worst <= 1 else math.inf


def nearest(space: Space, asked: Iterable[Point], told: Any) -> tuple[int | None, float]:
    """The point that was told among those that were asked for: its index, or None, and its `mismatch`."""
    distances = [mismatch(space, point, told) for point in asked]
    if not distances or math.isinf(min(distances)):
        return None, math.inf
    return distances.index(min(distances)), min(distances)


def _pairs(space: Space, asked: Point, told: Any) -> dict[str, tuple[Any, Any]] | None:
    """The value asked for and the value told of each parameter; None if what was told has others."""
    if not isinstance(asked, dict):
        try:
            values = np.asarray(told).tolist()
        except (TypeError, ValueError):
            return None
        if not isinstance(values, list) or len(values) != len(asked):
            return None
        return dict(zip(space.names, zip(asked.tolist(), values, strict=True), strict=True))
    if not isinstance(told, Mapping) or not told.keys() <= asked.keys():
        return None
    missing = asked.keys() - told.keys()
    if any(space.parameters[name].width for name in missing):
        return None
    return {name: (asked[name], told[name]) for name in asked if name in told}


def _mismatch(parameter: Parameter, asked: Any, told: Any) -> float:
    number = not isinstance(told, bool) and isinstance(told, int | float | np.integer | np.floating)
    if isinstance(parameter, Float) and number:
        return _of_numbers(parameter, float(asked), float(told))
    if isinstance(parameter, Int) and number and not isinstance(told, int | np.integer):
        rounding = _SINGLE * max(abs(parameter.low), abs(parameter.high))
        return abs(told - asked) / rounding if abs(told - asked) <= rounding else math.inf
    if isinstance(told, np.floating) and isinstance(asked, float):
        return 0.0 if abs(float(told) - asked) <= _SINGLE * abs(asked) else math.inf
    try:
        return 0.0 if np.array_equal(parameter.to_unit(told), parameter.to_unit(asked)) else math.inf
    except (TypeError, ValueError):
        return math.inf


def _of_numbers(parameter: Float, asked: float, told: float) -> float:
    if asked == told:
        return 0.0
    low, high = parameter.low, parameter.high
    rounding = _SINGLE * max(abs(low), abs(high))
    if parameter.log:
        if not told > 0 or math.isinf(told):
            return math.inf
        difference = abs(math.log(told) - math.log(asked))
        tolerance = max(TOLERANCE * (math.log(high) - math.log(low)), _SINGLE)
    else:
        difference, tolerance = abs(told - asked), max(TOLERANCE * high - TOLERANCE * low, rounding)
        if parameter.step is not None:
            tolerance = max(min(tolerance, parameter.step / 4), min(rounding, parameter.step / 2))
    return difference / tolerance if difference <= tolerance else math.inf
