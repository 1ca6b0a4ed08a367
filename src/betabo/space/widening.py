"""Boxes that move: ranges that become wider or narrower, and what a wider one could be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from betabo.space.boundary import Side
from betabo.space.checks import finite_number
from betabo.space.parameters import Categorical, Float, Int, Parameter
from betabo.space.space import Space
from betabo.space.text import show_parameter
from betabo.suggestions import did_you_mean

RangeLike: TypeAlias = Parameter | Sequence[float]
"""A parameter, or the lower and the upper bound of a number."""

_GROWTH = 0.25  # by what share of its range a range is proposed to grow


def with_ranges(space: Space, ranges: Mapping[str, RangeLike]) -> Space:
    """The space with other ranges.

    A number keeps its scale and its step, unless a whole parameter is given.

    Args:
        space: The space.
        ranges: For some of the parameters, a pair (low, high) or a parameter of the same kind.

    Raises:
        ValueError: There is no such parameter, or the range makes no sense.
        TypeError: The parameter has no range, or another kind.
    """
    parameters = dict(space.parameters)
    for name, given in ranges.items():
        if name not in parameters:
            names = ", ".join(map(repr, parameters))
            raise ValueError(
                f"there is no parameter {name!r}, expected one of {names}.{did_you_mean(name, parameters)}"
            )
        parameters[name] = _with_range(name, parameters[name], given)
    return _like(space, parameters)


def wider_bound(parameter: Parameter, side: Side) -> float | None:
    """A bound a quarter of the range beyond the present one, rounded.

    Args:
        parameter: A parameter.
        side: Which bound.

    Returns:
        None where there is none: of what is no number, and below a lower bound of 0, where values rarely make sense.
    """
    if not isinstance(parameter, Float | Int):
        return None
    low, high = float(parameter.low), float(parameter.high)
    bound, sign = (low, -1) if side == "lower" else (high, 1)
    if parameter.step is not None and parameter.step != 1:
        assert parameter.count is not None
        wider = bound + sign * parameter.step * max(1, round(_GROWTH * (parameter.count - 1)))
        return float(f"{wider:.12g}") if wider >= 0 or low < 0 else None
    if parameter.log:
        growth = math.exp(_GROWTH * (math.log(high) - math.log(low)))
        wider = low / growth if side == "lower" else high * growth
    else:
        wider = bound + sign * _GROWTH * (high - low)
        if side == "lower" and low >= 0:
            wider = max(wider, 0.0)
    rounded = float(f"{wider:.2g}")
    wider = rounded if sign * (rounded - bound) > 0 else wider
    if isinstance(parameter, Int):
        wider = math.floor(wider) if side == "lower" else math.ceil(wider)
        if parameter.log:
            wider = max(wider, 1)
    return wider if wider != bound and math.isfinite(wider) else None


def widened(space: Space, faces: Iterable[tuple[str, Side]]) -> Space:
    """The space with some bounds moved to those of `wider_bound`; bounds that have none stay."""
    parameters = dict(space.parameters)
    for name, side in faces:
        parameter = parameters[name]
        bound = wider_bound(space.parameters[name], side)
        if bound is not None and isinstance(parameter, Float | Int):
            ends = (bound, parameter.high) if side == "lower" else (parameter.low, bound)
            parameters[name] = _with_range(name, parameter, ends)
    return _like(space, parameters)


def _like(space: Space, parameters: Mapping[str, Parameter]) -> Space:
    """A space of these parameters; a box if the other one is."""
    if not space.is_box:
        return Space(parameters)
    return Space.from_bounds([(p.low, p.high) for p in parameters.values() if isinstance(p, Float)])


def _with_range(name: str, parameter: Parameter, given: RangeLike) -> Parameter:
    if not isinstance(parameter, Float | Int):
        kind = "choices" if isinstance(parameter, Categorical) else "a constant"
        raise TypeError(f"{name} has {kind} ({show_parameter(parameter)}), expected a number, whose range can move.")
    if isinstance(given, Parameter):
        if not isinstance(given, Float | Int):
            raise TypeError(f"{name} is the number {show_parameter(parameter)}, expected a range, not {given!r}.")
        low, high, log = given.low, given.high, given.log
        if log and not parameter.log:
            raise TypeError(f"{name} is {show_parameter(parameter)}, without a log scale, which cannot be changed.")
    else:
        if isinstance(given, str | bytes) or not isinstance(given, Sequence) or len(given) != 2:
            raise TypeError(f"{name} is {given!r}, expected a pair (low, high).")
        low, high = (finite_number(end, value) for end, value in zip(("low", "high"), given, strict=True))
    try:
        if isinstance(parameter, Int):
            if not float(low).is_integer() or not float(high).is_integer():
                raise ValueError(f"the range is {low:g}..{high:g}, expected whole numbers.")
            return replace(parameter, low=int(low), high=int(high))
        return replace(parameter, low=float(low), high=float(high))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
