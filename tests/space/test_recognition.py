"""A point comes back as float32 or rounded, and is recognized; another point is not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from betabo.space import Categorical, Fixed, Float, Int, Space
from betabo.space.recognition import TOLERANCE, mismatch, nearest

SPACE = Space(
    {
        "rate": Float(1e-6, 1e-1, log=True),
        "share": Float(0.0, 1.0, step=0.25),
        "shift": Float(-1.0, 4.0),
        "layers": Int(1, 10**6),
        "act": Categorical(["relu", "tanh", None]),
        "size": Categorical([0.1, 0.2]),
        "seed": Fixed(7),
    }
)
ASKED = {
    "rate": 0.00123456789,
    "share": 0.75,
    "shift": 1.23456789,
    "layers": 12345,
    "act": None,
    "size": 0.1,
    "seed": 7,
}
BOX = Space.from_bounds([(0.0, 1.0), (1e6, 1e6 + 1), (-1e300, 1e300)])


def told(**changes: Any) -> float:
    return mismatch(SPACE, ASKED, {**ASKED, **changes})


def test_the_same_point_is_no_mismatch() -> None:
    assert told() == 0
    assert mismatch(SPACE, ASKED, {name: value for name, value in ASKED.items() if name != "seed"}) == 0


@pytest.mark.parametrize("name", ["rate", "share", "shift", "layers", "size"])
def test_a_float32_is_the_number_that_it_was_made_of(name: str) -> None:
    assert told(**{name: np.float32(ASKED[name])}) <= 1


@pytest.mark.parametrize("shown", ["{:.5g}", "{:.6f}", "{:.8g}"])
def test_the_digits_that_were_printed_are_the_number(shown: str) -> None:
    for name in ("rate", "share", "shift"):
        assert told(**{name: float(shown.format(ASKED[name]))}) <= 1


@pytest.mark.parametrize(
    "changes",
    [
        {"rate": 0.00125},
        {"rate": -0.00123456789},
        {"rate": math.inf},
        {"share": 0.5},
        {"share": 0.7502},
        {"shift": 1.236},
        {"shift": math.nan},
        {"layers": 12346},
        {"layers": np.int64(12344)},
        {"layers": 12346.0},
        {"layers": True},
        {"act": "relu"},
        {"act": "none"},
        {"size": 0.2},
        {"seed": 8},
        {"shift": "1.23456789"},
        {"other": 1},
    ],
    ids=str,
)
def test_another_value_is_another_point(changes: dict[str, Any]) -> None:
    assert math.isinf(told(**changes))


@pytest.mark.parametrize("point", [None, 3.0, "x", [0.5], [[0.5]], [0.5, 1e6], ["a", "b", "c"], {"x0": 0.5}], ids=str)
def test_what_is_no_point_is_none_that_was_asked_for(point: Any) -> None:
    assert math.isinf(mismatch(BOX, np.array([0.5, 1e6 + 0.3, 0.0]), point))
    assert math.isinf(mismatch(SPACE, ASKED, point))


def test_a_parameter_may_not_be_left_out() -> None:
    assert math.isinf(mismatch(SPACE, ASKED, {name: value for name, value in ASKED.items() if name != "act"}))


def test_rounding_may_go_over_a_bound() -> None:
    space = Space.from_bounds([(0.0, 0.1)])
    single = np.array([0.1], dtype=np.float32)
    assert float(single[0]) > 0.1
    assert mismatch(space, np.array([0.1]), single) <= 1


@given(st.floats(0, 1), st.floats(0, 1), st.floats(-1e300, 1e300))
def test_any_point_of_a_box_is_known_as_float32(first: float, second: float, third: float) -> None:
    asked = np.array([first, 1e6 + second, third / 1e280])
    assert mismatch(BOX, asked, asked.astype(np.float32)) <= 1


@given(st.floats(0, 1), st.floats(-1, 1))
def test_the_tolerance_is_a_share_of_the_range(place: float, shift: float) -> None:
    space = Space.from_bounds([(-3.0, 5.0)])
    asked = np.array([-3.0 + 8 * place])
    far = mismatch(space, asked, asked + 8 * TOLERANCE * shift)
    assert far == pytest.approx(abs(shift), abs=1e-6) or math.isinf(far)
    assert math.isinf(mismatch(space, asked, asked + 8 * TOLERANCE * math.copysign(1.001, shift)))


def test_the_nearest_of_several_is_meant() -> None:
    space = Space.from_bounds([(0.0, 1.0)])
    asked = [np.array([0.5]), np.array([0.50004]), np.array([0.9])]
    assert nearest(space, asked, [0.50003])[0] == 1
    assert nearest(space, asked, [0.7]) == (None, math.inf)
    assert nearest(space, [], [0.7]) == (None, math.inf)
