"""What a database in trouble raises, in one line; and patience with it."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import optuna
import pytest
from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import OperationalError

from betabo.studies import StudyError, open_storage
from betabo.studies.database_errors import storage_errors, with_patience

URL = "sqlite:///studies.db"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def locked() -> StorageInternalError:
    error = StorageInternalError("commit")
    error.__cause__ = OperationalError("UPDATE", {}, sqlite3.OperationalError("database is locked"))
    return error


def test_patience_outlasts_a_lock() -> None:
    failures = [locked(), locked()]
    said: list[str] = []

    def action() -> int:
        if failures:
            raise failures.pop()
        return 3

    assert with_patience(action, URL, said.append) == 3
    assert len(said) == 1
    assert "database is locked" in said[0]


def test_patience_ends() -> None:
    def action() -> None:
        raise locked()

    with pytest.raises(StudyError, match=r"studies.db cannot be used: database is locked; another program holds it"):
        with_patience(action, URL, patience=0.2)


def test_a_real_lock_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("betabo.studies.storage.LOCK_TIMEOUT", 0.05)
    study = optuna.create_study(storage=open_storage(URL))
    other = sqlite3.connect("studies.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    timer = threading.Timer(0.5, lambda: other.execute("ROLLBACK"))
    timer.start()
    said: list[str] = []
    assert with_patience(lambda: study.ask().number, URL, said.append) == 0
    timer.join()
    other.close()
    assert said


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("attempt to write a readonly database", "make the file and its folder writable, or use another --storage"),
        ("database is locked", "another program holds it; close that and try again"),
        ("database disk image is malformed", "it is damaged: restore a copy of it, or use another file"),
        ("database or disk is full", "free some space on the disk and run the same again"),
        ("disk I/O error", "check that the file and its folder exist and are writable"),
    ],
)
def test_an_error_of_sqlite_says_what_to_do(said: str, advice: str) -> None:
    with (
        pytest.raises(StudyError, match=f"the storage studies.db cannot be used: {said}; {advice}"),
        storage_errors(URL),
    ):
        raise OperationalError("SELECT", {}, sqlite3.OperationalError(said))


def test_an_error_of_a_server_never_shows_the_password() -> None:
    url = "postgresql://ann:secret@db.example.org/studies"
    reason = RuntimeError("connection to db.example.org failed: no entry for ann with secret\nhint")
    with (
        pytest.raises(StudyError, match=r"check the address, the password and the server") as caught,
        storage_errors(url),
    ):
        raise OperationalError("SELECT", {}, reason)
    assert "secret" not in str(caught.value)
    assert "ann with ***" in str(caught.value)


def test_what_does_not_pass_is_not_waited_for() -> None:
    calls: list[int] = []

    def action() -> None:
        calls.append(1)
        raise OperationalError("SELECT", {}, sqlite3.OperationalError("no such table: studies"))

    with pytest.raises(StudyError, match="no such table"):
        with_patience(action, URL, patience=60)
    assert len(calls) == 1


def test_other_errors_pass_through() -> None:
    with pytest.raises(KeyError), storage_errors(URL):
        raise KeyError("a mistake of the program's")
