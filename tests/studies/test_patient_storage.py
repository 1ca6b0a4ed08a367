"""A storage that waits for its database."""

from __future__ import annotations

import pickle
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.trial import TrialState
from sqlalchemy.exc import OperationalError

from betabo.studies import StudyError, load_study, open_storage
from betabo.studies.database_errors import patience
from betabo.studies.patient_storage import PatientStorage

URL = "sqlite:///studies.db"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("betabo.studies.database_errors.time.sleep", lambda _: None)
    optuna.logging.set_verbosity(optuna.logging.WARNING)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def storage(said: list[str]) -> PatientStorage:
    return open_storage(URL, on_trouble=said.append)


@pytest.fixture
def study(storage: PatientStorage) -> optuna.Study:
    return optuna.create_study(study_name="s", storage=storage)


class Cutter:
    """Loses the connection at every use of a method of Optuna's storage, once before it and once after it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self.cuts = 0

    def cut(self, *names: str) -> None:
        for name in names:
            self._patch.setattr(RDBStorage, name, self._cutting(getattr(RDBStorage, name)))

    def _cutting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        turns = iter(("before", "after") + ("not at all",) * 1000)

        def call(storage: RDBStorage, *arguments: Any, **named: Any) -> Any:
            turn = next(turns)
            if turn == "not at all":
                return method(storage, *arguments, **named)
            if turn == "after":
                method(storage, *arguments, **named)
            self.cuts += 1
            raise OperationalError("x", {}, sqlite3.OperationalError("server closed the connection unexpectedly"))

        return call


@pytest.fixture
def cutter(monkeypatch: pytest.MonkeyPatch) -> Cutter:
    return Cutter(monkeypatch)


def test_a_study_is_run_by_optuna_as_if_nothing_had_happened(study: optuna.Study, cutter: Cutter) -> None:
    cutter.cut("_get_trials", "get_trial", "_set_trial_param", "set_trial_user_attr", "set_trial_state_values")

    def objective(trial: optuna.Trial) -> float:
        trial.set_user_attr("a", 1)
        return trial.suggest_float("x", 0, 1)

    study.optimize(objective, n_trials=3)
    assert cutter.cuts >= 8
    assert [(trial.state, trial.value, trial.user_attrs) for trial in load_study("s", URL).trials] == [
        (TrialState.COMPLETE, trial.params["x"], {"a": 1}) for trial in study.trials
    ]


def test_studies_are_made_read_and_deleted(storage: PatientStorage, cutter: Cutter) -> None:
    cutter.cut("create_new_study", "get_study_id_from_name", "set_study_user_attr", "get_study_user_attrs")
    cutter.cut("delete_study", "get_all_studies", "get_study_directions")
    made = optuna.create_study(study_name="t", storage=storage, direction="maximize", load_if_exists=True)
    made.set_user_attr("a", 1)
    assert made.user_attrs == {"a": 1}
    optuna.delete_study(study_name="t", storage=storage)
    assert storage.get_all_studies() == []
    assert cutter.cuts >= 10


def test_the_same_end_of_a_trial_twice_is_no_error_and_another_end_is(study: optuna.Study, cutter: Cutter) -> None:
    trial = study.ask()
    cutter.cut("set_trial_state_values")
    storage = study._storage
    assert storage.set_trial_state_values(trial._trial_id, TrialState.COMPLETE, [1.0])
    with pytest.raises(UpdateFinishedTrialError):
        storage.set_trial_state_values(trial._trial_id, TrialState.COMPLETE, [1.0])


def test_one_line_when_trouble_lasts_and_one_when_it_has_passed(
    study: optuna.Study, cutter: Cutter, said: list[str]
) -> None:
    cutter.cut("get_study_user_attrs")
    assert study.user_attrs == {}
    trouble, relief = said
    assert "the storage studies.db cannot be used: server closed the connection" in trouble
    assert "answers again" in relief


def test_control_characters_of_a_server_are_shown(study: optuna.Study, said: list[str]) -> None:
    study._storage._say("it said \x1b[2J")  # type: ignore[attr-defined]
    assert said == ["it said \u241b[2J"]


def test_without_patience_there_is_an_error_at_once(study: optuna.Study, cutter: Cutter) -> None:
    cutter.cut("get_study_user_attrs")
    with pytest.raises(StudyError, match="cannot be used"), patience(0):
        _ = study.user_attrs
    assert cutter.cuts == 1


def test_what_is_written_together_is_stored_as_a_whole_or_not_at_all(
    storage: PatientStorage, study: optuna.Study
) -> None:
    trial = study.ask()
    number, attempts = trial._trial_id, 0

    def fails_half_way() -> None:
        storage.set_trial_user_attr(number, "a", 1)
        raise RuntimeError("in the middle")

    def is_cut_once() -> None:
        nonlocal attempts
        attempts += 1
        storage.set_trial_user_attr(number, "b", attempts)
        if attempts == 1:
            raise OperationalError("x", {}, sqlite3.OperationalError("server closed the connection unexpectedly"))
        storage.set_trial_param(number, "x", 0.5, FloatDistribution(0, 1))
        storage.set_trial_state_values(number, TrialState.COMPLETE, [2.0])

    with pytest.raises(RuntimeError):
        storage.together(fails_half_way)
    storage.together(is_cut_once)
    (stored,) = load_study("s", URL).trials
    assert (stored.user_attrs, stored.params, stored.value) == ({"b": 2}, {"x": 0.5}, 2.0)


def test_nobody_sees_half_of_what_is_written_together(storage: PatientStorage, study: optuna.Study) -> None:
    number = study.ask()._trial_id
    seen: list[dict[str, Any]] = []

    def look() -> None:
        seen.append(load_study("s", URL).trials[0].user_attrs)

    def write() -> None:
        storage.set_trial_user_attr(number, "a", 1)
        watcher = threading.Thread(target=look)
        watcher.start()
        watcher.join()
        storage.set_trial_user_attr(number, "b", 1)

    storage.together(write)
    look()
    assert seen == [{}, {"a": 1, "b": 1}]


def test_reading_takes_no_lock_that_keeps_others_out(study: optuna.Study) -> None:
    other = sqlite3.connect("studies.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with patience(0):
        assert study.trials == []
        assert study.user_attrs == {}
    other.execute("ROLLBACK")
    other.close()


def test_a_copy_in_another_process_opens_the_same_storage(study: optuna.Study) -> None:
    study.enqueue_trial({"x": 1})
    copy = pickle.loads(pickle.dumps(study._storage))
    assert len(copy.get_all_trials(study._study_id)) == 1
