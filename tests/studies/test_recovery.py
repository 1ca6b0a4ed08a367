from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

from betabo.optuna.attributes import HEARTBEAT, INTERRUPTED, RETRY_OF, WORKER
from betabo.optuna.workers import this_worker
from betabo.studies import Plan, open_storage, open_study, run_worker
from betabo.studies.ledger import Ledger, state_of
from betabo.studies.recovery import GRACE_PERIOD, HEARTBEAT_INTERVAL, Recovery, close_trial

MakePlan = Callable[..., Plan]

ELSEWHERE = {"host": "elsewhere", "boot": "", "pid": 1, "started": "1"}
DEAD = {**this_worker(), "started": "0"}
DISTRIBUTIONS = {"x": FloatDistribution(0, 1), "y": FloatDistribution(1e-3, 1, log=True)}


@pytest.fixture
def plan(make_plan: MakePlan) -> Plan:
    return make_plan(trials=3)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Moves the watchers' clock on by some seconds."""
    now = [0.0]
    monkeypatch.setattr("betabo.studies.recovery.time.monotonic", lambda: now[0])

    def advance(seconds: float) -> None:
        now[0] += seconds

    return advance


def start_trial(
    study: optuna.Study, worker: dict[str, Any] | None, complete: bool = True, retry_of: int | None = None
) -> None:
    notes = {} if worker is None else {WORKER: worker, HEARTBEAT: 0}
    notes |= {} if retry_of is None else {RETRY_OF: retry_of}
    names = ["x", "y"] if complete else ["x"]
    study.add_trial(
        create_trial(
            state=TrialState.RUNNING,
            params=dict.fromkeys(names, 0.5),
            distributions={name: DISTRIBUTIONS[name] for name in names},
            system_attrs=notes,
        )
    )


def test_a_dead_worker_here_is_noticed_at_once(plan: Plan) -> None:
    study = open_study(plan)
    start_trial(study, DEAD)
    start_trial(study, this_worker())
    assert Recovery(study).recover() == [(0, "its worker died")]
    assert [state_of(trial) for trial in study.trials] == ["interrupted", "running"]
    assert Recovery(study).recover() == []


def test_a_trial_without_parameters_is_withdrawn(plan: Plan) -> None:
    study = open_study(plan)
    start_trial(study, DEAD, complete=False)
    assert Recovery(study).recover() == [(0, "its worker died before it began")]
    assert [state_of(trial) for trial in study.trials] == ["withdrawn"]


def test_a_trial_of_another_program_is_left_alone(plan: Plan) -> None:
    study = open_study(plan)
    start_trial(study, None)
    assert Recovery(study).recover() == []
    assert study.trials[0].state == TrialState.RUNNING


def test_a_worker_that_forgot_its_trial_gives_it_back(plan: Plan) -> None:
    study = open_study(plan)
    me = {**this_worker(), "token": "mine"}
    start_trial(study, me)
    start_trial(study, {**this_worker(), "token": "another thread"})
    assert Recovery(study, me).recover() == [(0, "its worker died")]


def test_a_silent_worker_elsewhere_is_dead_after_the_grace_period(plan: Plan, clock: Callable[[float], None]) -> None:
    study = open_study(plan)
    start_trial(study, ELSEWHERE)
    watcher = Recovery(study)
    assert watcher.recover() == []
    clock(GRACE_PERIOD - 1)
    assert watcher.recover() == []
    clock(2)
    assert watcher.recover() == []  # suspected
    clock(2 * HEARTBEAT_INTERVAL + 1)
    assert watcher.recover() == [(0, "its worker died")]


def test_a_heartbeat_clears_the_suspicion(plan: Plan, clock: Callable[[float], None]) -> None:
    study, storage = open_study(plan), open_storage(plan.storage)
    start_trial(study, ELSEWHERE)
    watcher = Recovery(study)
    trial_id = storage.get_trial_id_from_study_id_trial_number(storage.get_study_id_from_name("test"), 0)
    for beat in range(1, 4):
        assert watcher.recover() == []
        clock(GRACE_PERIOD + 1)
        assert watcher.recover() == []
        storage.set_trial_system_attr(trial_id, HEARTBEAT, beat)
        clock(GRACE_PERIOD + 1)
    assert watcher.recover() == []
    assert study.trials[0].state == TrialState.RUNNING


def test_a_trial_of_a_dead_worker_is_repeated_with_the_same_parameters(plan: Plan) -> None:
    study = open_study(plan)
    start_trial(study, DEAD)
    run_worker(plan)
    books = Ledger(study.trials)
    assert books.finished == 3
    assert books.trials[1].params == {"x": 0.5, "y": 0.5}
    assert books.trials[1].state == TrialState.COMPLETE


def test_of_two_repetitions_whose_workers_died_one_is_repeated(plan: Plan) -> None:
    study = open_study(plan)
    start_trial(study, DEAD)
    Recovery(study).recover()
    start_trial(study, DEAD, retry_of=0)
    start_trial(study, DEAD, retry_of=0)
    assert Recovery(study).recover() == [(1, "its worker died"), (2, "its worker died before it began")]
    assert [state_of(trial) for trial in study.trials] == ["interrupted", "interrupted", "withdrawn"]
    run_worker(plan)
    complete = [trial for trial in study.trials if trial.state == TrialState.COMPLETE]
    assert [trial.system_attrs.get(RETRY_OF) for trial in complete] == [1, None, None]
    assert [trial.params == {"x": 0.5, "y": 0.5} for trial in complete] == [True, False, False]


def test_a_study_in_which_both_repetitions_were_closed_as_interrupted_runs_the_point_once(plan: Plan) -> None:
    study = open_study(plan)
    for retry_of in (None, 0, 0):
        start_trial(study, DEAD, retry_of=retry_of)
        close_trial(study, len(study.trials) - 1, INTERRUPTED, "its worker died")
    run_worker(plan)
    complete = [trial for trial in study.trials if trial.state == TrialState.COMPLETE]
    assert [trial.params == {"x": 0.5, "y": 0.5} for trial in complete] == [True, False, False]


def test_workers_show_that_they_live(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("betabo.studies.recovery.HEARTBEAT_INTERVAL", 0.02)
    monkeypatch.setenv("SLEEP", "0.5")
    run_worker(plan)
    trials = open_study(plan).trials
    assert all(trial.system_attrs[HEARTBEAT] >= 1 for trial in trials)
    assert len({trial.system_attrs[WORKER]["token"] for trial in trials}) == 1


def test_who_stops_a_worker_says_so(plan: Plan) -> None:
    study = open_study(plan)
    start_trial(study, DEAD)
    assert Recovery(study).recover("it was stopped at once") == [(0, "it was stopped at once")]
    assert study.trials[0].system_attrs[INTERRUPTED] == "it was stopped at once"
