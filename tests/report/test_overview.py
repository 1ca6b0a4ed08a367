"""The words and tables of the page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState

from betabo.report.boundary import parameter_facts
from betabo.report.facts import StudyFacts, centre_trial, read_study
from betabo.report.overview import (
    front_table,
    parameter_table,
    show_day,
    summary,
    tiles,
    trial_table,
    why_no_best,
)

Add = Callable[..., None]
X = {"x": FloatDistribution(0, 1)}


def summary_of(study: optuna.Study) -> str:
    facts = read_study(study)
    return summary(facts, parameter_facts(facts, centre_trial(facts)))


def values_by_label(facts: StudyFacts) -> dict[str, str]:
    return {tile["label"]: tile["value"] for tile in tiles(facts, centre_trial(facts))}


class TestSummary:
    def test_says_the_best_and_the_bounds(self, study: optuna.Study) -> None:
        text = summary_of(study)
        assert text.startswith("The study minimizes value; 25 of its 30 trials finished. The best value is ")
        assert text.endswith("2 of its 3 numeric parameters are on a bound.")

    def test_says_where_it_began(self, add_trial: Add) -> None:
        study = optuna.create_study(direction="maximize")
        for x, value in ((0.5, 1.0), (0.4, 3.0)):
            add_trial(study, {"x": x}, [value], X)
        assert "The best value is 3, found in trial 1, up from 1 in trial 0." in summary_of(study)
        assert summary_of(study).endswith("The best point lies inside the box.")

    def test_of_a_front_counts_it(self, add_trial: Add) -> None:
        study = optuna.create_study(directions=["minimize", "maximize"])
        add_trial(study, {"x": 0.5}, [0.0, 0.0], X)
        assert summary_of(study).endswith("1 trial makes up the Pareto front.")
        add_trial(study, {"x": 0.5}, [1.0, 1.0], X)
        assert summary_of(study).endswith("2 trials make up the Pareto front.")

    def test_says_why_there_is_no_best(self, add_trial: Add) -> None:
        study = optuna.create_study()
        assert summary_of(study) == "The study has no trials yet."
        add_trial(study, {"x": 0.5}, None, X, state=TrialState.FAIL)
        assert summary_of(study).endswith("No trial has finished with a value yet.")
        for violation in (3.0, 2.0):
            add_trial(study, {"x": 0.5}, [1.0], X, system_attrs={"constraints": [violation]})
        assert summary_of(study).endswith("Trial 2 comes closest: it violates them by 2 in sum.")
        assert why_no_best(read_study(study)) in summary_of(study)


def test_there_is_no_reason_where_there_is_a_best(study: optuna.Study) -> None:
    assert why_no_best(read_study(study)) == ""


def test_tiles_have_the_key_figures(study: optuna.Study) -> None:
    facts = read_study(study)
    found = values_by_label(facts)
    assert found["best value"] == f"{study.best_value:.6g}"
    assert found["trials"] == "30"
    (trials,) = [tile for tile in tiles(facts, centre_trial(facts)) if tile["label"] == "trials"]
    assert trials["note"] == "1 pruned, 1 running, 1 waiting, 1 interrupted, 1 failed"
    assert "feasible" not in found


def test_tiles_count_what_is_feasible(add_trial: Add) -> None:
    study = optuna.create_study()
    for constraint in (-1.0, 1.0, -2.0):
        add_trial(study, {"x": 0.5}, [1.0], X, system_attrs={"constraints": [constraint]})
    assert values_by_label(read_study(study))["feasible"] == "2"


def test_days_have_no_leading_zero() -> None:
    assert show_day(datetime(2026, 11, 3)) == "3 Nov 2026"


def test_the_table_of_parameters_shows_where_the_best_is(study: optuna.Study) -> None:
    facts = read_study(study)
    table = parameter_table(facts, parameter_facts(facts, centre_trial(facts)))
    assert table is not None
    rows = {row["name"]: row for row in table["rows"]}
    assert (rows["drop"]["best"], rows["drop"]["at"], rows["drop"]["face"]) == ("0.5", "100.0", "upper")
    assert (rows["act"]["best"], rows["act"]["at"], rows["act"]["face"]) == ("tanh", None, None)
    assert parameter_table(facts, []) is None


def test_the_table_of_the_front_marks_the_balanced_trial(add_trial: Add) -> None:
    study = optuna.create_study(directions=["minimize", "minimize"])
    for values in ([10.0, 0.0], [0.0, 10.0], [1.0, 1.0], [9.0, 9.0]):
        add_trial(study, {"x": 0.5}, values, X)
    facts = read_study(study)
    table = front_table(facts, centre_trial(facts))
    assert table is not None
    assert [(row["number"], row["is_centre"]) for row in table["rows"]] == [(1, False), (2, True), (0, False)]


def test_one_objective_has_no_table_of_a_front(study: optuna.Study) -> None:
    facts = read_study(study)
    assert front_table(facts, centre_trial(facts)) is None


@pytest.mark.parametrize("value", [2**60, float("inf"), True])
def test_the_table_of_trials_has_text_where_javascript_has_no_such_number(value: object, add_trial: Add) -> None:
    study = optuna.create_study()
    add_trial(study, {"c": value}, [1.0], {"c": optuna.distributions.CategoricalDistribution([value, "other"])})
    table = trial_table(read_study(study))
    labels = [column["label"] for column in table["columns"]]
    assert table["rows"][0]["cells"][labels.index("c")] == str(value)
    assert table["rows"][0]["best"] is True
