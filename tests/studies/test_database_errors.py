"""What a database in trouble raises, in one line; and patience with it."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import optuna
import pytest
from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import OperationalError, PendingRollbackError

from betabo.studies import StudyError, open_storage
from betabo.studies.database_errors import may_pass, patience, was_reached, with_patience

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
    begins, ends = said
    assert "database is locked" in begins
    assert begins.endswith("Trying again for 90 s.")
    assert ends.startswith("the storage answers again after")


def test_a_second_attempt_that_succeeds_is_not_worth_a_line() -> None:
    failures = [locked()]
    said: list[str] = []

    def action() -> None:
        if failures:
            raise failures.pop()

    with_patience(action, URL, said.append)
    assert not failures
    assert said == []


def test_pauses_grow_and_are_drawn_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("betabo.studies.database_errors.time.sleep", pauses.append)
    failures = [locked() for _ in range(16)]

    def action() -> None:
        if failures:
            raise failures.pop()

    with_patience(action, URL)
    with_patience(action, URL)
    longest = [min(0.1 * 2**n, 5.0) for n in range(16)]
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, longest, strict=True))
    assert len({round(pause / most, 6) for pause, most in zip(pauses, longest, strict=True)}) == 16


def test_patience_ends() -> None:
    def action() -> None:
        raise locked()

    with (
        pytest.raises(StudyError, match=r"studies.db cannot be used: database is locked; another program holds it"),
        patience(0.2),
    ):
        with_patience(action, URL)


def test_without_patience_there_is_one_attempt() -> None:
    calls: list[int] = []

    def action() -> None:
        calls.append(1)
        raise locked()

    with pytest.raises(StudyError, match="database is locked"), patience(0):
        with_patience(action, URL)
    assert len(calls) == 1


def lost(said: str) -> OperationalError:
    return OperationalError("SELECT 'password'", {}, RuntimeError(said))


def test_a_query_that_was_tried_again_on_a_lost_connection_is_waited_for() -> None:
    """Optuna reads trials a second way when the first fails, on a connection that is not there any more."""
    try:
        try:
            raise lost("server closed the connection unexpectedly")
        except OperationalError:
            raise PendingRollbackError("Can't reconnect until invalid transaction is rolled back") from None
    except PendingRollbackError as second:
        error = StorageInternalError("commit")
        error.__cause__ = second
    assert may_pass(error)
    assert was_reached(error)


@pytest.mark.parametrize(
    ("said", "passes", "reached"),
    [
        ("FATAL:  the database system is starting up", True, True),
        ("FATAL:  terminating connection due to administrator command", True, True),
        ("FATAL:  sorry, too many clients already", True, True),
        ('connection to server at "db" failed: Connection refused', True, False),
        ("connection timeout expired", True, False),
        ('FATAL:  password authentication failed for user "ann"', False, False),
        ('FATAL:  database "nowhere" does not exist', False, False),
        ('could not translate host name "db" to address', False, False),
    ],
)
def test_what_a_server_says_decides_who_waits(said: str, passes: bool, reached: bool) -> None:
    """A worker waits for whatever may pass; somebody who has just typed an address waits for a server that is there."""
    assert (may_pass(lost(said)), was_reached(lost(said))) == (passes, reached)


def test_a_real_lock_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("betabo.studies.storage.LOCK_TIMEOUT", 0.05)
    said: list[str] = []
    study = optuna.create_study(storage=open_storage(URL, on_trouble=said.append))
    other = sqlite3.connect("studies.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    timer = threading.Timer(0.5, lambda: other.execute("ROLLBACK"))
    timer.start()
    assert study.ask().number == 0
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
    def action() -> None:
        raise OperationalError("SELECT", {}, sqlite3.OperationalError(said))

    with pytest.raises(StudyError, match=f"the storage studies.db cannot be used: {said}; {advice}"), patience(0):
        with_patience(action, URL)


def test_an_error_of_a_server_never_shows_the_password() -> None:
    url = "postgresql://ann:secret@db.example.org/studies"
    reason = RuntimeError("connection to db.example.org failed: no entry for ann with secret\nhint")

    def action() -> None:
        raise OperationalError("SELECT", {}, reason)

    with pytest.raises(StudyError, match=r"check the address, the password and the server") as caught, patience(0):
        with_patience(action, url)
    assert "secret" not in str(caught.value)
    assert "ann with ***" in str(caught.value)


def test_what_does_not_pass_is_not_waited_for() -> None:
    calls: list[int] = []

    def action() -> None:
        calls.append(1)
        raise OperationalError("SELECT", {}, sqlite3.OperationalError("no such table: studies"))

    with pytest.raises(StudyError, match="no such table"):
        with_patience(action, URL)
    assert len(calls) == 1


def test_other_errors_pass_through() -> None:
    def action() -> None:
        raise KeyError("a mistake of the program's")

    with pytest.raises(KeyError):
        with_patience(action, URL)
