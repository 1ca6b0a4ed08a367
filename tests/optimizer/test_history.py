"""The record of a search."""

from __future__ import annotations

import json

import pytest

from betabo.optimizer.history import Evaluation, stack


@pytest.mark.parametrize(
    "evaluation",
    [Evaluation((0.5, 1.0), 2.0, origin="model", diagnostics={"noise": 0.1}), Evaluation((0.0,), None, "it broke")],
    ids=["value", "failure"],
)
def test_an_evaluation_returns_from_json(evaluation: Evaluation) -> None:
    assert Evaluation.from_json(json.loads(json.dumps(evaluation.to_json()))) == evaluation


def test_an_evaluation_without_a_value_failed() -> None:
    assert Evaluation((0.0,), None).failed
    assert not Evaluation((0.0,), 0.0).failed


def test_points_are_stacked_also_where_there_are_none() -> None:
    assert stack([(0.0, 1.0), (0.5, 0.25)], 2).tolist() == [[0.0, 1.0], [0.5, 0.25]]
    assert stack([], 3).shape == (0, 3)
