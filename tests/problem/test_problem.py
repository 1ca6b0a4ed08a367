"""Problems: what may be given, and what they say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from betabo import Float, Problem, Space
from betabo.problem import Limit

SPACE = Space({"x": Float(0.0, 1.0)})
WHOLE = Problem(
    SPACE,
    objectives={"loss": "minimize", "speed": "maximize"},
    constraints={"t": "<= 80", "m": "1..2"},
    initial=[{"x": 1}],
)


def test_directions_become_losses() -> None:
    assert WHOLE.losses((0.5, 3.0)) == (0.5, -3.0)
    assert WHOLE.names == ("loss", "speed")
    assert WHOLE.directions == ("minimize", "maximize")
    assert Problem(SPACE, objectives="maximize").losses([2.0]) == (-2.0,)


def test_violation_is_the_sum_of_what_is_exceeded() -> None:
    assert WHOLE.excess({"t": 81.0, "m": 0.5}) == (1.0, 0.5, -1.5)
    assert WHOLE.violation({"t": 81.0, "m": 0.5}) == 1.5
    assert WHOLE.violation({"t": 80.0, "m": 1.0}) == 0.0
    assert Problem(SPACE).violation({}) == 0.0


def test_is_written_as_json_and_read() -> None:
    data = json.loads(json.dumps(WHOLE.to_json()))
    again = Problem.from_json(SPACE, data)
    assert (again.objectives, again.constraints) == (WHOLE.objectives, WHOLE.constraints)
    assert again.constraints == (Limit("t", high=80.0), Limit("m", 1.0, 2.0))
    assert Problem(SPACE).to_json() == {}


def test_is_given_as_a_whole_or_in_parts() -> None:
    assert Problem.of(WHOLE, objectives="minimize", constraints=(), initial=()) is WHOLE
    assert Problem.of(SPACE, objectives="maximize").directions == ("maximize",)
    with pytest.raises(ValueError, match="a Problem is given together with constraints; put everything into"):
        Problem.of(WHOLE, constraints={"t": "<= 1"})


@pytest.mark.parametrize(
    ("objectives", "error", "message"),
    [
        ("minimise", ValueError, "direction is 'minimise', expected .* Did you mean 'minimize'"),
        ({"loss": "down"}, ValueError, "objective loss is 'down', expected 'minimize' or 'maximize'"),
        ({}, ValueError, "objectives is empty"),
        ({"": "minimize"}, ValueError, "an objective's name is '', expected some text"),
        (["loss"], TypeError, r"objectives is \['loss'\], expected"),
    ],
)
def test_mistakes_in_objectives_are_named(objectives: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Problem(SPACE, objectives=objectives)


def test_any_name_of_a_constraint_is_read_again() -> None:
    problem = Problem(SPACE, constraints={"max temp": "<= 80", "°C": "20..80"})
    assert Problem.from_json(SPACE, json.loads(json.dumps(problem.to_json()))) == problem


def test_constraints_may_be_a_list_of_texts() -> None:
    assert Problem.from_json(SPACE, {"constraints": ["t <= 80"]}).constraints == (Limit("t", high=80.0),)
