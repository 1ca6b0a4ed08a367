from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import optuna
import pytest

from betabo.optuna.attributes import WITHDRAWN, WORKER
from betabo.optuna.trials import read_trials
from betabo.optuna.workers import this_worker
from betabo.studies import Plan, StudyError, delete_study, load_study, open_study, rename_study, run_worker, study_names
from betabo.studies.manage import forget_if_empty
from betabo.studies.plan import logs_of
from betabo.studies.recovery import close_trial


def test_a_deleted_study_is_gone_and_others_stay(make_plan: Callable[..., Plan]) -> None:
    run_worker(make_plan(trials=2))
    open_study(make_plan(study="other"))
    delete_study("test")
    assert study_names() == ["other"]
    assert run_worker(make_plan(trials=2)).trials == 2  # the name is free again


def test_a_renamed_study_keeps_trials_plan_and_logs(make_plan: Callable[..., Plan]) -> None:
    plan = make_plan(trials=3)
    run_worker(plan)
    before = load_study("test")
    folder = logs_of(plan, before)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trial-00000.log").write_text("said")
    rename_study("test", "new", logs=plan.logs)
    after = load_study("new")
    assert study_names() == ["new"]
    assert [trial.params for trial in after.trials] == [trial.params for trial in before.trials]
    renamed = make_plan(study="new", trials=5)
    assert (logs_of(renamed, after) / "trial-00000.log").read_text() == "said"
    assert not folder.exists()
    assert run_worker(renamed).trials == 2  # it goes on


def test_a_name_that_is_taken_is_refused(make_plan: Callable[..., Plan]) -> None:
    open_study(make_plan(study="a"))
    open_study(make_plan(study="b"))
    with pytest.raises(StudyError, match="there is a study 'b' already; choose another name"):
        rename_study("a", "b")
    assert study_names() == ["a", "b"]
    with pytest.raises(StudyError, match="new name is ' '"):
        rename_study("a", " ")


@pytest.mark.parametrize("change", [delete_study, lambda name: rename_study(name, "new")])
def test_a_study_with_a_worker_is_left_alone(make_plan: Callable[..., Plan], change: Callable[[str], None]) -> None:
    study = open_study(make_plan())
    running = optuna.trial.create_trial(state=optuna.trial.TrialState.RUNNING, system_attrs={WORKER: this_worker()})
    study.add_trial(running)
    with pytest.raises(StudyError, match=r"while .* runs trial 0 of it; stop that first"):
        change("test")
    assert [trial.number for trial in read_trials(load_study("test"))] == [0]


def test_only_a_study_that_never_began_is_forgotten(make_plan: Callable[..., Plan], home: Path) -> None:
    study = open_study(make_plan())
    study.ask()
    close_trial(study, 0, WITHDRAWN, "the objective is broken")
    assert forget_if_empty(study)
    assert study_names() == []
    run_worker(make_plan(trials=1))
    assert not forget_if_empty(load_study("test"))
    assert study_names() == ["test"]
