from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from betabo import Float, Problem
from betabo.studies.errors import EvaluationFailedError, ObjectiveError
from betabo.studies.values import as_values, read_numbers


@pytest.mark.parametrize(
    ("result", "values"),
    [
        pytest.param(1, (1.0,), id="int"),
        pytest.param(np.float32(0.5), (0.5,), id="numpy"),
        pytest.param(np.array(0.5), (0.5,), id="array"),
        pytest.param(torch.tensor(0.5), (0.5,), id="tensor"),
        pytest.param((1, 2.5), (1.0, 2.5), id="tuple"),
        pytest.param([3], (3.0,), id="list"),
    ],
)
def test_numbers_are_values(result: Any, values: tuple[float, ...]) -> None:
    assert as_values(result, "it returned") == values


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("0.5", "it returned the str '0.5'"),
        (None, "it returned None"),
        ({"loss": 1}, "it returned the dict"),
        ([], "an empty list"),
        ([1, "2"], "the str '2'"),
        ("x" * 999, r"\.\.\.; expected a number"),
    ],
    ids=["text", "none", "dict", "empty", "mixed", "long"],
)
def test_anything_else_breaks_the_objective(result: Any, message: str) -> None:
    with pytest.raises(ObjectiveError, match=message):
        as_values(result, "it returned")


@pytest.mark.parametrize(
    "result", [float("nan"), float("inf"), (1.0, -float("inf")), 10**999], ids=["nan", "inf", "tuple", "huge"]
)
def test_what_is_not_finite_fails_the_evaluation(result: Any) -> None:
    with pytest.raises(EvaluationFailedError, match=r"it returned (nan|-?inf)"):
        as_values(result, "it returned")


NAMED = Problem({"x": Float(0.0, 1.0)}, objectives={"loss": "minimize"}, constraints={"heat": "<= 80"})
PLAIN = Problem({"x": Float(0.0, 1.0)})


def test_numbers_may_have_names() -> None:
    assert read_numbers({"loss": 1, "heat": 2}, NAMED, "f") == ((1.0,), {"heat": 2.0})
    assert read_numbers((1.0, {"heat": 2}), NAMED, "f") == ((1.0,), {"heat": 2.0})
    assert read_numbers(3, PLAIN, "f") == read_numbers({"value": 3, "other": "x"}, PLAIN, "f") == ((3.0,), {})


@pytest.mark.parametrize(
    ("given", "problem", "message"),
    [
        ({"loss": 1}, NAMED, "f returned nothing for the constraint 'heat'"),
        ({"heat": 1}, NAMED, "f returned a dict without 'loss'"),
        ({"loss": 1}, PLAIN, "f returned the dict .*, expected a number"),
        ({"value": "1", "other": 0}, PLAIN, "f returned the str '1', expected a number"),
        ((1.0, 2.0), PLAIN, "f gave 2 values, expected 1, one for each direction"),
    ],
)
def test_numbers_that_are_missing_break_the_objective(given: Any, problem: Problem, message: str) -> None:
    with pytest.raises(ObjectiveError, match=message):
        read_numbers(given, problem, "f")


def test_a_measured_number_that_is_not_finite_fails_the_evaluation() -> None:
    with pytest.raises(EvaluationFailedError, match="heat was nan"):
        read_numbers({"loss": 1, "heat": float("nan")}, NAMED, "f")
