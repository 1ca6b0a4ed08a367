from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from betabo.studies.errors import EvaluationFailedError, ObjectiveError
from betabo.studies.values import as_values


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
