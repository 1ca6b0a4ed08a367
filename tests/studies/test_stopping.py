"""Studies that end before they have their trials."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest

from betabo.optimizer.stopping import Plateau, Stopping
from betabo.studies import (
    CommandObjective,
    Plan,
    StudyError,
    as_stopping,
    open_study,
    parse_parameters,
    run_study,
    study_remaining_gain,
)
from betabo.studies.stopping import study_progress


def plan_of(directions: tuple[str, ...] = ("minimize",)) -> Plan:
    return Plan("s", parse_parameters(["x=0..1"]), CommandObjective("echo {x}"), trials=40, directions=directions)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def tell(study: optuna.Study, *values: float | None, heat: float | None = None) -> None:
    for value in values:
        trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
        if heat is not None:
            trial.set_constraint("heat", heat)
        study.tell(trial, value, state=None if value is not None else optuna.trial.TrialState.FAIL)


def test_values_are_those_of_trials_that_count() -> None:
    plan = plan_of(("maximize",))
    study = open_study(plan)
    tell(study, 1.0, None, 3.0)
    tell(study, 9.0, heat=1.0)
    progress = study_progress(study, plan)
    assert progress.values == [-1.0, None, -3.0, None]
    assert (progress.dims, progress.design) == (1, 5)
    assert Stopping.of(None, 2.5, None, plan.directions).reason(progress)
    assert not Stopping.of(None, 3.5, None, plan.directions).reason(progress)


def test_of_several_objectives_the_volume_is_what_grows() -> None:
    plan = plan_of(("minimize", "maximize"))
    study = open_study(plan)
    for first, second in ((3.0, 1.0), (2.0, 2.0), (2.5, 1.0)):
        trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
        study.tell(trial, (first, second))
    values = study_progress(study, plan).values
    assert values[0] > values[1] == values[2]  # type: ignore[operator]


def test_what_is_left_to_be_gained() -> None:
    plan = plan_of()
    study = open_study(plan)
    for _ in range(12):
        trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
        study.tell(trial, (trial.params["x"] - 0.3) ** 2)
    gain = study_remaining_gain(study, plan.config)
    assert gain.best == study.best_value
    assert gain.bound(0.8) < 0.05
    with pytest.raises(ValueError, match="has 2 objectives, expected one"):
        study_remaining_gain(optuna.create_study(directions=["minimize"] * 2))


def test_a_run_ends_when_a_rule_says_so() -> None:
    plan = plan_of()
    study = run_study(plan, stopping=Stopping.of(None, 1.0, None, plan.directions))
    assert 1 <= len(study.trials) < 40


def test_mistakes_are_errors_of_the_study() -> None:
    assert as_stopping("2h", None, ["plateau=5"], ["minimize"]) == Stopping(7200.0, None, False, (Plateau(5),))
    with pytest.raises(StudyError, match="timeout is 'soon', expected seconds > 0"):
        as_stopping("soon", None, None, ["minimize"])
    with pytest.raises(StudyError, match="there are 2 objectives, expected one for a target"):
        as_stopping(None, 1.0, None, ["minimize"] * 2)
