"""Limits of what an evaluation measures."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betabo.problem.limits import Limit, as_limits

FINITE = st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("<= 80", -math.inf, 80.0),
        (">=-1e-3", -1e-3, math.inf),
        ("20..80", 20.0, 80.0),
        (" .5 .. 1. ", 0.5, 1.0),
        ((20, 80), 20.0, 80.0),
    ],
)
def test_bounds_are_read(text: Any, low: float, high: float) -> None:
    assert as_limits({"t": text}) == (Limit("t", low, high),)


def test_names_and_bounds_are_read_from_one_text_as_ax_has_them() -> None:
    assert as_limits(["temperature <= 80", "mass>=2", "flow = 1..2"]) == (
        Limit("temperature", high=80.0),
        Limit("mass", low=2.0),
        Limit("flow", 1.0, 2.0),
    )


@given(FINITE, FINITE, FINITE)
def test_excess_is_at_most_zero_exactly_inside(one: float, other: float, value: float) -> None:
    limit = Limit("t", min(one, other), max(one, other))
    assert (max(limit.excess(value)) <= 0) == (limit.low <= value <= limit.high)
    assert len(limit.labels) == len(limit.excess(value)) == 2


@given(st.one_of(st.just(-math.inf), FINITE), st.one_of(st.just(math.inf), FINITE))
def test_text_of_a_limit_is_read_as_the_limit(low: float, high: float) -> None:
    if low > high or math.isinf(high - low):
        return
    limit = Limit("t", low, high)
    assert Limit.parse("t", str(limit)) == limit


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"t": "< 80"}, "constraint t is '< 80', expected '<= 80', '>= 20' or '20..80'"),
        ({"t": "80"}, "constraint t is '80', expected"),
        ({"t": "80..20"}, r"constraint t is 80\.\.20, expected"),
        ({"": "<= 1"}, "a constraint's name is '', expected some text"),
        (["t <= 1", "t >= 0"], r"constraint t is given twice; write both bounds as one"),
        ([3], "a constraint is 3, expected a name and a bound"),
    ],
)
def test_mistakes_are_named(limits: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_limits(limits)


@pytest.mark.parametrize("limits", ["temperature <= 80", 3])
def test_what_is_no_list_is_refused(limits: Any) -> None:
    with pytest.raises(TypeError, match=r"expected a dict such as {'temperature': '<= 80'}"):
        as_limits(limits)
