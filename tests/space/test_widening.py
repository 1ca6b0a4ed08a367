"""Boxes that move."""

from __future__ import annotations

from typing import Any

import pytest

from betabo import Categorical, Fixed, Float, Int, Space
from betabo.space.parameters import Parameter
from betabo.space.widening import widened, wider_bound, with_ranges

MIXED = Space({"lr": Float(1e-5, 1e-1, log=True), "n": Int(1, 8), "act": Categorical(["a", "b"]), "k": Fixed(1)})


def test_a_number_keeps_its_scale_and_step() -> None:
    space = with_ranges(MIXED, {"lr": (1e-5, 1.0), "n": Float(1, 16)})
    assert space.parameters["lr"] == Float(1e-5, 1.0, log=True)
    assert space.parameters["n"] == Int(1, 16)
    assert space.parameters["act"] == MIXED.parameters["act"]
    stepped = with_ranges(Space({"x": Float(0, 1, step=0.25)}), {"x": (-0.5, 1)})
    assert stepped.parameters["x"] == Float(-0.5, 1, step=0.25)
    box = with_ranges(Space.from_bounds([(0, 1), (0, 2)]), {"x1": (0, 3)})
    assert box == Space.from_bounds([(0, 1), (0, 3)])


@pytest.mark.parametrize(
    ("ranges", "error", "message"),
    [
        ({"lrr": (0, 1)}, ValueError, r"there is no parameter 'lrr'.*Did you mean 'lr'"),
        ({"lr": (0, 1)}, ValueError, "lr: low is 0.0, expected a number > 0 with log=True"),
        ({"n": (1, 4.5)}, ValueError, r"n: the range is 1..4.5, expected whole numbers"),
        ({"n": (4, 4)}, ValueError, "n: low and high are both 4"),
        ({"act": (0, 1)}, TypeError, r"act has choices .*expected a number, whose range can move"),
        ({"k": (0, 1)}, TypeError, "k has a constant"),
        ({"n": Categorical([1, 2])}, TypeError, "n is the number 1..8:int, expected a range"),
        ({"n": Float(1, 9, log=True)}, TypeError, "without a log scale, which cannot be changed"),
        ({"n": 3}, TypeError, "n is 3, expected a pair"),
        ({"n": (1, float("nan"))}, ValueError, "high is nan, expected a finite number"),
    ],
)
def test_what_makes_no_sense_is_refused(ranges: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        with_ranges(MIXED, ranges)


@pytest.mark.parametrize(
    ("parameter", "side", "bound"),
    [
        (Float(-1, 1), "upper", 1.5),
        (Float(-1, 1), "lower", -1.5),
        (Float(0, 1), "lower", None),
        (Float(0.1, 1), "lower", 0.0),
        (Float(1e-4, 1, log=True), "upper", 10.0),
        (Float(1e-4, 1, log=True), "lower", 1e-5),
        (Int(1, 9), "upper", 11),
        (Int(1, 9, log=True), "lower", None),
        (Float(0, 1, step=0.25), "upper", 1.25),
        (Float(0, 1, step=0.25), "lower", None),
        (Int(32, 256, step=32), "upper", 320),
        (Categorical(["a", "b"]), "upper", None),
    ],
)
def test_a_bound_further_out(parameter: Parameter, side: Any, bound: float | None) -> None:
    assert wider_bound(parameter, side) == bound


def test_both_bounds_of_a_number_may_move() -> None:
    space = widened(Space({"x": Float(-1, 1), "y": Float(0, 1)}), [("x", "lower"), ("x", "upper"), ("y", "lower")])
    assert space == Space({"x": Float(-1.5, 1.5), "y": Float(0, 1)})
