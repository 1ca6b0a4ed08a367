"""What an evaluation may return."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from betabo.problem.measurement import Measurement, as_number, read_measurement

GOALS, MEASURED = ("loss", "speed"), ("temperature",)
EXPECTED = Measurement((0.5, 3.0), {"temperature": 70.0})


@pytest.mark.parametrize(
    "given",
    [
        {"loss": 0.5, "speed": 3, "temperature": 70, "ignored": "text"},
        ((0.5, 3), {"temperature": 70}),
        [np.array([0.5, 3]), {"temperature": np.float32(70)}],
        (torch.tensor([0.5, 3]), {"temperature": torch.tensor(70)}),
        ({"loss": 0.5, "speed": 3}, {"temperature": 70}),
    ],
)
def test_all_forms_mean_the_same(given: Any) -> None:
    assert read_measurement(given, GOALS, MEASURED) == EXPECTED


def test_an_objective_may_have_a_limit_itself() -> None:
    assert read_measurement((0.5, 3.0), GOALS, ("speed",)) == Measurement((0.5, 3.0), {"speed": 3.0})


def test_one_objective_needs_no_dict() -> None:
    assert read_measurement(1, ("value",), ()) == read_measurement(1, ("loss",), ()) == Measurement((1.0,))
    assert read_measurement({"value": 1}, ("value",), ()) == Measurement((1.0,))
    assert read_measurement((1, {"t": 2}), ("value",), ("t",)) == Measurement((1.0,), {"t": 2.0})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (0.5, "returned 0.5, expected a dict with 'loss', 'speed', 'temperature'"),
        ((0.5, 1, 2), "returned 3 values, expected a dict with"),
        ((0.5, 1), "returned nothing for the constraint 'temperature'"),
        ({"loss": 1, "temperature": 2}, "returned a dict without 'speed'"),
        ({"loss": 1, "speed": "fast", "temperature": 2}, "the str 'fast', expected a number"),
        ({"loss": 1, "speed": 1, "temperature": None}, "returned for temperature None, expected a number"),
        ("text", "returned 'text', expected a dict"),
    ],
)
def test_mistakes_are_named(given: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        read_measurement(given, GOALS, MEASURED)


def test_numbers_that_are_not_finite_are_trouble() -> None:
    assert Measurement((1.0, math.inf)).trouble == "the value was inf"
    assert Measurement((1.0,), {"t": math.nan}).trouble == "t was nan"
    assert Measurement((1.0,), {"t": 1.0}).trouble == ""
    assert as_number(10**400, "it is") == math.inf


def test_a_dict_may_have_the_error_of_its_value() -> None:
    assert read_measurement({"value": 1.3, "error": 0.2}, ["value"], []) == Measurement((1.3,), {}, 0.2)
    assert read_measurement((1.3, {"error": 0.2}), ["value"], []).error == 0.2
    assert read_measurement({"value": 1.3}, ["value"], []).error is None
    assert read_measurement({"value": 1.3, "error": 0.2}, ["value"], ["error"]).error is None  # it is a constraint's


@pytest.mark.parametrize("error", [-0.1, float("nan"), "much"])
def test_an_error_is_no_less_than_nothing(error: Any) -> None:
    with pytest.raises(TypeError, match="error"):
        read_measurement({"value": 1.3, "error": error}, ["value"], [])
