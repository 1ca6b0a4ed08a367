"""Figures of how a study went hold its numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution

from betabo.report import boundary, figures
from betabo.report.facts import best_so_far, read_study

Add = Callable[..., None]
X = {"x": FloatDistribution(0, 1)}


def by_name(figure: Any) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data}


def test_convergence_has_every_value_by_its_origin(study: optuna.Study) -> None:
    facts = read_study(study)
    found = by_name(figures.convergence(facts, best_so_far(facts)))
    assert list(found["starting design"].x) == list(range(8))
    assert list(found["proposed by the model"].y) == [t.value for t in study.trials[8:24]]
    assert list(found["enqueued"].x) == [24]
    assert list(found["pruned"].x) == [25]
    assert list(found["best so far"].y) == np.minimum.accumulate([t.value for t in study.trials[:25]]).tolist()
    assert [len(found[state].x) for state in ("failed", "interrupted", "running")] == [1, 1, 1]


def test_convergence_keeps_what_violates_a_constraint_apart(add_trial: Add) -> None:
    study = optuna.create_study()
    for constraint in (-1.0, 1.0):
        add_trial(study, {"x": 0.5}, [constraint], X, system_attrs={"constraints": [constraint]})
    facts = read_study(study)
    found = by_name(figures.convergence(facts, best_so_far(facts), view=(-2.0, 2.0)))
    assert list(found["violates a constraint"].x) == [1]
    assert list(found["best so far"].y) == [-1.0, -1.0]


def test_values_that_json_cannot_hold_are_gaps(add_trial: Add) -> None:
    study = optuna.create_study()
    for value in (1.0, float("inf")):
        add_trial(study, {"x": 0.5}, [value], X)
    facts = read_study(study)
    assert list(by_name(figures.convergence(facts, best_so_far(facts)))["trials"].y) == [1.0, None]


def test_front_is_joined_from_end_to_end(add_trial: Add) -> None:
    study = optuna.create_study(directions=["minimize", "minimize"])
    for values in ([3.0, 1.0], [1.0, 3.0], [2.0, 2.0], [3.0, 3.0]):
        add_trial(study, {"x": 0.5}, values, X)
    found = by_name(figures.front(read_study(study)))
    assert (list(found["Pareto front"].x), list(found["Pareto front"].y)) == ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])
    assert list(found["trials"].x) == [3.0]


@pytest.mark.parametrize(("objectives", "panels"), [(2, 1), (3, 3), (4, 6), (5, 6)])
def test_front_has_a_panel_for_each_pair_up_to_six(objectives: int, panels: int, make_random: Any) -> None:
    figure = figures.front(read_study(make_random(["minimize"] * objectives)))
    assert len({trace.xaxis for trace in figure.data}) == panels


def test_hypervolume_is_drawn_as_it_is() -> None:
    (trace,) = figures.hypervolume([0, 2], [0.5, 0.75]).data
    assert (list(trace.x), list(trace.y)) == ([0, 2], [0.5, 0.75])


def test_boundary_has_distances_their_median_and_what_to_expect(study: optuna.Study) -> None:
    facts = read_study(study)
    medians, expected = boundary.running_median(facts.trials), boundary.expected_distance(facts.trials)
    found = by_name(figures.boundary(facts, medians, expected))
    assert list(found["enqueued"].y) == [0.0]
    assert list(found["running median"].y) == medians[1]
    assert list(found["random points, on average"].y) == [expected, expected]
