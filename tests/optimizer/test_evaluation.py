"""One call of the objective."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from betabo import Float, Space, minimize
from betabo.optimizer import evaluation
from betabo.optimizer.evaluation import call, check_objective, is_double_interrupt
from betabo.problem import Problem

BOX = Space.from_bounds([(0, 1), (0, 1)])
NAMED = Space({"lr": Float(0, 1), "width": Float(0, 1)})
POINT = np.zeros(2)


@pytest.mark.parametrize(
    "value", [1, 1.0, True, np.float32(1), np.array(1.0), np.array([1.0]), torch.tensor(1.0), torch.tensor([1.0])]
)
def test_numbers_of_all_kinds_are_values(value: Any) -> None:
    (result,) = Problem(BOX).measure(call(lambda x: value, POINT)).values
    assert type(result) is float
    assert result == 1.0


def test_what_is_not_finite_is_a_value_here() -> None:
    assert math.isnan(Problem(BOX).measure(call(lambda x: math.nan, POINT)).values[0])
    assert Problem(BOX).measure(call(lambda x: 10**400, POINT)).values == (math.inf,)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "returned None, expected a number; does it lack a return?"),
        ("0.5", "returned the str '0.5', expected a number"),
        ((1.0, 2.0), r"returned the tuple \(1.0, 2.0\), expected a number"),
        (np.zeros(3), r"returned the ndarray array\(\[0., 0., 0.\]\), expected a number"),
        ({"loss": 1}, "returned the dict {'loss': 1}, expected a number"),
        ([0.0] * 99, r"returned the list \[0.0, .*\.\.\., expected a number"),
    ],
)
def test_what_is_no_number_is_shown_at_the_first_evaluation(value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        minimize(lambda x: value, [(0, 1)], budget=3)


@pytest.mark.parametrize(
    ("fun", "space", "message"),
    [
        (lambda: 1.0, BOX, r"\(\) cannot be called with one argument, .* an array of 2 numbers"),
        (lambda x, y: x + y, BOX, "missing a required argument: 'y'"),
        (lambda lr, width: lr, NAMED, r"a dict of lr, width: .* Pass lambda point: fun\(\*\*point\)"),
        (3, BOX, "fun is 3, expected a function"),
    ],
)
def test_a_function_of_something_else_is_refused_before_it_is_called(
    fun: Callable[..., Any], space: Space, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        check_objective(fun, space)


@pytest.mark.parametrize("fun", [lambda x: x, lambda *points: 1, lambda x, more=1: x, math.sqrt, max, np.sum])
def test_a_function_of_a_point_passes(fun: Callable[..., Any]) -> None:
    check_objective(fun, BOX)


def test_two_interrupts_at_once_are_one_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([100.0, 101.0, 110.0])
    monkeypatch.setattr(evaluation, "_last_interrupt", -math.inf)
    monkeypatch.setattr("time.monotonic", lambda: next(moments))
    assert [is_double_interrupt() for _ in range(3)] == [False, True, False]


def test_an_unknown_way_to_treat_errors_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"on_error is 'recrod', expected 'raise' or 'record'. Did you mean 'record'\?"
    ):
        minimize(lambda x: 1.0, [(0, 1)], on_error="recrod")  # type: ignore[arg-type]
