"""Studies whose box moves."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest

from betabo import Space
from betabo.optuna import fit_study, read_trials
from betabo.studies import (
    CommandObjective,
    Plan,
    StudyError,
    load_study,
    move_box,
    open_study,
    parse_parameters,
    study_gains_beyond,
)


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.chdir(tmp_path)
    return Plan("s", parse_parameters(["x=0..1", "n=1..4:int"]), CommandObjective("echo {x} {n}"), trials=40, seed=0)


def run(plan: Plan, count: int) -> optuna.Study:
    study = open_study(plan)
    for _ in range(count):
        trial = study.ask(study.sampler._known)  # type: ignore[attr-defined]
        study.tell(trial, (trial.params["x"] - 1.3) ** 2 + abs(trial.params["n"] - 2))
    return study


def test_a_study_goes_on_in_a_wider_box_with_all_its_trials(plan: Plan) -> None:
    best = run(plan, 12).best_trial
    assert read_trials(load_study("s"))[best.number].faces.get("x") == "upper"
    space, inside = move_box("s", {"x": (0, 2)})
    assert inside == 12
    with pytest.raises(StudyError, match=r"has the parameter x=0\.\.2, which is x=0\.\.1 now"):
        open_study(plan)
    wide = Plan("s", space, plan.objective, trials=40, seed=0)
    study = run(wide, 8)
    assert study.best_value < 1e-3
    assert study.best_trial.params["x"] > 1
    assert len(fit_study(study).units) == 20
    records = read_trials(study)
    assert records[best.number].positions["x"] == pytest.approx(0.5)
    assert not records[best.number].faces.get("x")
    assert all(record.is_modelled for record in records[12:])


def test_trials_outside_a_narrower_box_are_kept_and_do_not_count(plan: Plan) -> None:
    study = run(plan, 10)
    low = sum(trial.params["x"] <= 0.6 for trial in study.trials)
    _, inside = move_box("s", {"x": (0, 0.6)})
    assert inside == low < 10
    study = load_study("s")
    assert len(study.trials) == 10
    assert len(fit_study(study).units) == low
    assert move_box("s", {"x": (0, 1)})[1] == 10


def test_what_lies_beyond_is_estimated(plan: Plan) -> None:
    study = run(plan, 14)
    (gain,) = study_gains_beyond(study)
    assert (gain.parameter, gain.side, gain.bound) == ("x", "upper", 1.0)
    assert gain.gain > 0
    with pytest.raises(ValueError, match="has 2 objectives"):
        study_gains_beyond(optuna.create_study(directions=["minimize"] * 2))


def test_mistakes_change_nothing(plan: Plan) -> None:
    study = run(plan, 3)
    for ranges, message in (({"y": (0, 1)}, "there is no parameter 'y'"), ({"n": (1, 2.5)}, "expected whole numbers")):
        with pytest.raises(StudyError, match=message):
            move_box("s", ranges)  # type: ignore[arg-type]
    with pytest.raises(StudyError, match="there is no study 'none'"):
        move_box("none", {"x": (0, 2)})
    optuna.create_study(study_name="other", storage=study._storage)
    with pytest.raises(StudyError, match="was not made by betabo minimize"):
        move_box("other", {"x": (0, 2)})
    study.ask()
    open_study(plan)
    assert Space.from_json(load_study("s").user_attrs["betabo:plan"]["space"]) == plan.space
