"""Hyperparameters over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optuna
import pytest

from betabo.report.facts import StudyFacts, read_study
from betabo.report.traces import traces


def facts_of(records: list[dict[str, Any]], add: Callable[..., None], objectives: int = 1) -> StudyFacts:
    study = optuna.create_study(directions=["minimize"] * objectives)
    for record in records:
        step = {"betabo:step": {"origin": "model", "diagnostics": record}}
        add(study, {"drop": 0.1}, [1.0] * objectives, system_attrs=step)
    return read_study(study)


def test_each_coordinate_has_a_line(study: optuna.Study) -> None:
    labels = ["act=relu", "act=tanh", "act=None", "drop", "layers", "rate"]
    found = {trace.quantity: trace for trace in traces(read_study(study), labels)}
    assert list(found) == ["bandwidth", "lengthscale", "boundary_weight", "noise"]
    assert list(found["lengthscale"].lines) == labels
    assert found["lengthscale"].lines["drop"] == pytest.approx([0.4 * (i - 7) for i in range(8, 24)])
    assert found["lengthscale"].numbers == list(range(8, 24))
    assert list(found["bandwidth"].lines) == [""]


def test_a_quantity_that_never_changed_is_known(study: optuna.Study) -> None:
    found = {trace.quantity: trace for trace in traces(read_study(study), [])}
    assert [quantity for quantity, trace in found.items() if trace.is_constant] == ["boundary_weight"]
    assert found["boundary_weight"].first == 0


def test_gaps_stay_gaps(add_trial: Callable[..., None]) -> None:
    records = [{"noise": 1.0}, {}, {"noise": "broken"}, {"noise": float("nan")}, {"noise": 2.0}]
    (found,) = traces(facts_of(records, add_trial), [])
    assert (found.numbers, found.lines) == ([0, 4], {"": [1.0, 2.0]})


def test_a_space_that_grew_has_lines_that_begin_later(add_trial: Callable[..., None]) -> None:
    records = [{"lengthscale": [1.0, 2.0]}, {"lengthscale": [1.0, 2.0, 3.0]}]
    (found,) = traces(facts_of(records, add_trial), ["x", "y", "z"])
    assert found.lines["z"] == [None, 3.0]


def test_several_objectives_have_lines_of_their_own(add_trial: Callable[..., None]) -> None:
    models = [{"noise": 1.0}, {"noise": 2.0}, {"noise": 3.0}]
    (found,) = traces(facts_of([{"noise": 1.0, "models": models}], add_trial, objectives=2), [])
    assert found.lines == {"objective 1": [1.0], "objective 2": [2.0]}


def test_the_smallest_of_many_lines_are_kept(add_trial: Callable[..., None]) -> None:
    labels = [f"x{i}" for i in range(30)]
    (found,) = traces(facts_of([{"bandwidth": [30.0 - i for i in range(30)]}], add_trial), labels)
    assert list(found.lines) == labels[-12:]
    assert found.left_out == 18


def test_other_samplers_leave_none(make_random: Callable[..., optuna.Study]) -> None:
    assert traces(read_study(make_random(["minimize"])), []) == []
