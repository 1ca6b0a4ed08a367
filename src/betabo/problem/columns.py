"""Many points of the unit cube in the user's units at once, with slopes where they are wanted."""

from __future__ import annotations

from typing import Any

import numpy as np

from betabo.problem.duals import Array, Dual
from betabo.space import Categorical, Fixed, Float, Int, Space


def columns_of(space: Space, points: Array) -> dict[str, Any]:
    """The values of points by parameter, to within rounding of `Space.from_unit`.

    Args:
        space: The space.
        points: Points of the unit cube, `n x dims`, that are snapped.

    Returns:
        An array of shape `n` for each parameter: floats, or objects where choices are not all numbers.
    """
    return {
        name: value.value if isinstance(value, Dual) else value
        for name, value in _columns(space, points, rounded=True).items()
    }


def duals_of(space: Space, points: Array) -> dict[str, Any]:
    """The same with slopes by the coordinates of the cube; integers and steps are taken as if there were none."""
    return _columns(space, points, rounded=False)


def _columns(space: Space, points: Array, rounded: bool) -> dict[str, Any]:
    values: dict[str, Any] = {}
    start = 0
    for name, parameter in space.parameters.items():
        mine = points[:, start : start + parameter.width]
        if isinstance(parameter, Fixed):
            values[name] = np.full(len(points), parameter.value, dtype=_kind([parameter.value]))
        elif isinstance(parameter, Categorical):
            choices = np.array(parameter.choices, dtype=_kind(parameter.choices))
            values[name] = choices[mine.argmax(axis=1)]
        elif isinstance(parameter, Float | Int):
            values[name] = _number(parameter, mine[:, 0], start, space.dims, rounded)
        start += parameter.width
    return values


def _number(parameter: Float | Int, unit: Array, place: int, dims: int, rounded: bool) -> Dual:
    low, high = float(parameter.low), float(parameter.high)
    if parameter.log:
        value = np.exp(np.log(low) * (1 - unit) + np.log(high) * unit)
        rate = value * np.log(high / low)
        value = np.where(unit <= 0, low, np.where(unit >= 1, high, value))
    else:
        value = low * (1 - unit) + high * unit
        rate = np.full_like(value, high - low)
    if rounded and isinstance(parameter, Int):
        value = np.rint(value)
    elif rounded and parameter.step is not None:
        value = low + np.rint((value - low) / parameter.step) * parameter.step
    slope = np.zeros((len(unit), dims))
    slope[:, place] = rate
    return Dual(np.clip(value, low, high), slope)


def _kind(values: Any) -> Any:
    return np.float64 if all(isinstance(value, bool | int | float) for value in values) else object
