"""Where studies live: an SQLite file or a PostgreSQL server, through Optuna's storage."""

from __future__ import annotations

import importlib.util
import logging
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from betabo.extras import install_extra, needs_extra
from betabo.files import private_file
from betabo.studies.database_errors import may_pass, was_reached, with_patience
from betabo.studies.errors import DamagedStudyError, StudyError
from betabo.suggestions import did_you_mean

if TYPE_CHECKING:
    from optuna.storages import RDBStorage
    from optuna.study import Study
    from sqlalchemy.engine import URL, Connection

    from betabo.studies.patient_storage import PatientStorage

DEFAULT_STORAGE = "sqlite:///betabo.db"

LOCK_TIMEOUT = 60.0  # seconds that SQLite waits for another process
CONNECT_TIMEOUT = 10  # seconds that PostgreSQL may take to answer

# A connection whose other end vanished without a word is given up after a minute, and not after two hours.
_KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}

_EXPECTED = "expected sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE"


@dataclass(frozen=True)
class StudyInfo:
    """A study at a glance.

    Attributes:
        name: Its name.
        directions: `"minimize"` or `"maximize"` for each objective.
        states: Number of trials in each state, by the names of `trial_rows`.
        trials: Number of trials that count: complete, pruned and failed ones.
        best: Best value that violates no constraint; None without one, or with several objectives.
        created: Start of the first trial.
        last: Start or end of the last event.
        damage: What is wrong with a study that cannot be read, of which no more is known than the name; else empty.
    """

    name: str
    directions: tuple[str, ...] = ()
    states: dict[str, int] = field(default_factory=dict)
    trials: int = 0
    best: float | None = None
    created: datetime | None = None
    last: datetime | None = None
    damage: str = ""


def open_storage(
    url: str = DEFAULT_STORAGE,
    *,
    must_exist: bool = False,
    keep_connections: bool = False,
    is_known: bool = False,
    on_trouble: Callable[[str], None] | None = None,
) -> PatientStorage:
    """Open a storage, or create an SQLite file.

    Args:
        url: `sqlite:///FILE` or `postgresql://USER:PASSWORD@HOST/DATABASE`.
        must_exist: Whether an SQLite file that is not there is an error.
        keep_connections: Whether connections to a server stay open between two transactions, which saves time; the
            caller ends them by `storage.engine.dispose()`.
        is_known: Whether the storage has been open before, so that a server that does not answer is waited for rather
            than taken for a wrong address.
        on_trouble: Called with a line when the storage is in trouble, and when it answers again; None sends it to the
            log of `betabo.studies.patient_storage`.

    Raises:
        StudyError: The storage cannot be used, with the reason; a password is never shown.
    """
    address = _parse_url(url)
    from sqlalchemy.pool import NullPool

    from betabo.studies.patient_storage import PatientStorage

    shown = address.render_as_string(hide_password=True)
    options: dict[str, Any] = {"pool_pre_ping": True} if keep_connections else {"poolclass": NullPool}
    if address.drivername.startswith("sqlite"):
        _check_file(address, must_exist)
        options["connect_args"] = {"timeout": LOCK_TIMEOUT}
    elif address.drivername.startswith("postgresql"):
        address = address.set(drivername=_postgres_driver(address.drivername))
        options["connect_args"] = {"connect_timeout": CONNECT_TIMEOUT, **_KEEPALIVES}
    passes = may_pass if is_known else was_reached
    backend = with_patience(lambda: _create(address, shown, options), url, on_trouble, passes)
    storage = PatientStorage(backend, url, on_trouble)
    if address.drivername.startswith("sqlite"):
        _lock_early(storage)
    return storage


def load_study(name: str, url: str = DEFAULT_STORAGE) -> Study:
    """The study with a name.

    Raises:
        StudyError: There is none; the message lists those with close names.
        DamagedStudyError: It is not what a study has to be. Its trials are checked when they are read.
    """
    storage = open_storage(url, must_exist=True)
    try:
        return _load(name, storage)
    except KeyError:
        raise StudyError(_unknown_study(name, storage.study_names(), url)) from None


def study_names(url: str = DEFAULT_STORAGE) -> list[str]:
    """The names of the studies in a storage, in alphabetical order."""
    return open_storage(url, must_exist=True).study_names()


def list_studies(url: str = DEFAULT_STORAGE) -> list[StudyInfo]:
    """The studies in a storage, in alphabetical order, also those that are damaged."""
    storage = open_storage(url, must_exist=True)
    return [_summary(name, storage) for name in storage.study_names()]


def storage_place(url: str) -> str:
    """Where a storage is, without who uses it: the whole path of a file, or a server and its database."""
    address = _parse_url(url)
    if address.drivername.startswith("sqlite"):
        return str(Path(str(address.database)).resolve())
    return f"{address.host or ''}:{address.port or ''}/{address.database or ''}"


@contextmanager
def quiet_optuna() -> Iterator[None]:
    """Keep Optuna's notices to warnings for a while."""
    import optuna

    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(level, logging.WARNING))
    try:
        yield
    finally:
        optuna.logging.set_verbosity(level)


def _parse_url(url: str) -> URL:
    with needs_extra("optuna", "studies need Optuna 5"):
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError
    try:
        address = make_url(url)
    except (ArgumentError, ValueError) as error:
        if "@" in url:  # there may be a password in it
            raise StudyError(f"the storage's address cannot be read; {_EXPECTED}.") from error
        hint = f"; did you mean sqlite:///{url}?" if url and "://" not in url else "."
        raise StudyError(f"the storage is {url!r}, {_EXPECTED}{hint}") from error
    if "{" in url or "}" in url:
        raise StudyError(f"the storage's address has a brace; write %7B or %7D for it; {_EXPECTED}.")
    if address.drivername == "postgres":
        address = address.set(drivername="postgresql")
    if address.drivername.startswith("sqlite") and not address.database:
        raise StudyError(f"the storage {url!r} names no file; expected sqlite:///FILE, as memory is not kept.")
    return address


def _check_file(address: URL, must_exist: bool) -> None:
    """Refuse an SQLite file that is missing, damaged, or another program's; make a new one its owner's alone."""
    name = str(address.database)
    if name == ":memory:":
        raise StudyError("the storage is in memory, which is not kept; expected sqlite:///FILE.")
    if name.startswith("file:"):
        return
    path = Path(name)
    if path.is_dir():
        raise StudyError(f"the storage {path} is a folder; expected a file, such as sqlite:///{path / 'betabo.db'}.")
    if not path.exists():
        if must_exist:
            raise StudyError(f"there is no storage {path} in {Path.cwd()}; give --storage, or start a study first.")
        if not path.parent.is_dir():
            raise StudyError(f"the folder of the storage {path} does not exist; create {path.parent} first.")
        if not os.access(path.parent, os.W_OK):
            raise StudyError(f"the storage {path} cannot be created: the folder {path.parent.absolute()} is read-only.")
        private_file(path)  # a command, a constant or an error in it may hold a secret
        return
    if not os.access(path, os.R_OK):
        raise StudyError(f"the storage {path} cannot be read; check its permissions.")
    try:
        connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT)
        try:
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        if "locked" in str(error):
            raise StudyError(f"the storage {path} is locked by another program; close it and try again.") from error
        raise StudyError(
            f"the storage {path} is damaged or no SQLite file ({error}); restore a copy of it, or use another file."
        ) from error
    if tables and not tables & {"studies", "version_info", "alembic_version"}:
        raise StudyError(f"the storage {path} is a database of another program; use another file.")


def _postgres_driver(drivername: str) -> str:
    if "+" in drivername:
        return drivername
    for driver in ("psycopg", "psycopg2"):
        if importlib.util.find_spec(driver) is not None:
            return f"postgresql+{driver}"
    raise StudyError(install_extra("postgres", "PostgreSQL needs psycopg"))


def _create(address: URL, shown: str, options: dict[str, Any]) -> RDBStorage:
    from optuna.storages import RDBStorage
    from sqlalchemy.exc import IntegrityError, NoSuchModuleError, OperationalError, ProgrammingError

    url = address.render_as_string(hide_password=False)
    attempts = 5
    for attempt in range(attempts):
        try:
            return RDBStorage(url, engine_kwargs=options)
        except NoSuchModuleError as error:
            raise StudyError(f"the storage {shown} is of an unknown kind, {_EXPECTED}.") from error
        except ImportError as error:
            raise StudyError(f"the storage {shown} needs a driver that is not installed: {error.__cause__}.") from error
        except UnicodeError as error:
            raise StudyError(f"the host of the storage {shown} cannot be one ({error}); {_EXPECTED}.") from error
        except RuntimeError as error:  # Optuna's check of the schema
            raise StudyError(f"the storage {shown} was made by another version of Optuna. {error}") from error
        except (OperationalError, ProgrammingError, IntegrityError) as error:
            # Of two processes that create the tables at once, one is told that they exist.
            if attempt + 1 == attempts or not any(word in str(error) for word in ("exists", "duplicate", "UNIQUE")):
                raise
            time.sleep(0.2)
    raise AssertionError("unreachable")


def _lock_early(storage: PatientStorage) -> None:
    """Let a transaction that writes take SQLite's lock when it begins.

    Optuna reads a trial's state and then writes it; its row locks, which make that one step, do not exist in SQLite.
    """
    from sqlalchemy import event

    engine = storage.engine
    engine.dispose()

    @event.listens_for(engine, "connect")
    def _no_implicit_begin(connection: Any, _record: Any) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = not storage.is_reading and os.access(str(engine.url.database), os.W_OK)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _unknown_study(name: str, names: list[str], url: str) -> str:
    if not names:
        return f"there is no study {name!r}: the storage {_parse_url(url).render_as_string()} has none yet."
    hint = did_you_mean(name, names, most=3)
    if hint:
        return f"there is no study {name!r}.{hint}"
    listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    return f"there is no study {name!r}; the storage has {listed}."


def _load(name: str, storage: PatientStorage) -> Study:
    import optuna

    from betabo.studies.stored_plan import stored_plan

    study = optuna.load_study(study_name=name, storage=storage)
    stored_plan(study)  # which has to be whole
    return study


def _summary(name: str, storage: PatientStorage) -> StudyInfo:
    from betabo.optuna.best import best_trials, directions_of
    from betabo.optuna.trials import read_trials

    try:
        study = _load(name, storage)
        trials, directions = read_trials(study), directions_of(study)
    except DamagedStudyError as error:
        return StudyInfo(name, damage=error.what)
    best = best_trials(trials, directions) if len(directions) == 1 else []
    times = [time for trial in trials for time in (trial.started, trial.finished) if time is not None]
    return StudyInfo(
        name=name,
        directions=directions,
        states=dict(Counter(str(trial.state) for trial in trials)),
        trials=sum(trial.counts for trial in trials),
        best=best[0].values[0] if best else None,
        created=min(times, default=None),
        last=max(times, default=None),
    )
