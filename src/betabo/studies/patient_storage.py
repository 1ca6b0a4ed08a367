"""Optuna's storage with patience: the one place in which an outage of the database is waited for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, TypeVar

from optuna.distributions import CategoricalDistribution
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import BaseStorage, RDBStorage, get_storage
from optuna.storages._rdb.models import BaseModel
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy import text
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from betabo.optuna.trial_schema import check_choices, check_trial
from betabo.schema import SchemaError, shortened
from betabo.studies.database_errors import with_patience
from betabo.studies.errors import DamagedStudyError, StudyError
from betabo.visible import visible

T = TypeVar("T")

_logger = logging.getLogger(__name__)

_UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError, RecursionError)


def _patient(name: str, reads: bool = False) -> Callable[..., Any]:
    """The method of a storage that is called `name`, done again and again while the storage is in trouble."""

    @wraps(getattr(BaseStorage, name), updated=())  # whose being abstract is not to be copied
    def method(self: PatientStorage, *args: Any, **kwargs: Any) -> Any:
        return self._patiently(partial(getattr(self._cached, name), *args, **kwargs), reads)

    return method


def _of_study(name: str) -> Callable[..., Any]:
    """The method `name` that reads something of a study by its id, and says so if that is damaged."""
    read = _patient(name, reads=True)

    @wraps(read)
    def method(self: PatientStorage, study_id: int) -> Any:
        study = self.get_study_name_from_id(study_id)
        with _damage_of(study):
            return read(self, study_id)

    return method


@contextmanager
def _damage_of(study: str) -> Iterator[None]:
    """Turn what Optuna raises when it reads nonsense of a study that is there into one line."""
    try:
        yield
    except StudyError:
        raise
    except SchemaError as error:
        raise DamagedStudyError(study, str(error)) from error
    except _UNREADABLE as error:
        reason = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise DamagedStudyError(study, shortened(f"it cannot be read ({reason})")) from error


class PatientStorage(BaseStorage):
    """A storage whose every use outlasts an outage of the database, see `with_patience`.

    A lost connection leaves open whether a write arrived, so that it is written again. For a trial's end this makes no
    difference; of a new trial there may be two, of which a worker's ledger allows one.

    Args:
        backend: Optuna's storage.
        url: Its address, for messages.
        on_trouble: Called with a line when trouble begins, and when it ends; None sends it to the log of this module.
    """

    def __init__(self, backend: RDBStorage, url: str, on_trouble: Callable[[str], None] | None = None) -> None:
        self.backend, self._url, self._on_trouble = backend, url, on_trouble
        self._cached = get_storage(backend)  # which reads finished trials once
        self._thread = threading.local()
        self._checked: set[int] = set()  # ids of trials that have ended and are as they should be
        self._choices: dict[int, dict[str, CategoricalDistribution]] = {}  # of each study, by its id

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        from betabo.studies.storage import open_storage

        return open_storage, (self._url,)

    @property
    def engine(self) -> Engine:
        """SQLAlchemy's engine of the database."""
        return self.backend.engine

    @property
    def is_reading(self) -> bool:
        """Whether what this thread does with the database at the moment changes nothing."""
        return getattr(self._thread, "reads", False)

    @property
    def _is_joined(self) -> bool:
        """Whether this thread is within a transaction of `together`."""
        return getattr(self._thread, "joined", False)

    create_new_study = _patient("create_new_study")
    set_study_user_attr = _patient("set_study_user_attr")
    set_study_system_attr = _patient("set_study_system_attr")
    create_new_trial = _patient("create_new_trial")
    set_trial_param = _patient("set_trial_param")
    set_trial_intermediate_value = _patient("set_trial_intermediate_value")
    set_trial_user_attr = _patient("set_trial_user_attr")
    set_trial_system_attr = _patient("set_trial_system_attr")
    get_study_id_from_name = _patient("get_study_id_from_name", reads=True)
    get_study_name_from_id = _patient("get_study_name_from_id", reads=True)
    get_study_directions = _of_study("get_study_directions")
    get_study_user_attrs = _of_study("get_study_user_attrs")
    get_study_system_attrs = _of_study("get_study_system_attrs")
    get_all_studies = _patient("get_all_studies", reads=True)
    get_trial_id_from_study_id_trial_number = _patient("get_trial_id_from_study_id_trial_number", reads=True)
    get_trial = _patient("get_trial", reads=True)
    get_best_trial = _patient("get_best_trial", reads=True)

    def study_names(self) -> list[str]:
        """The names of all studies, in alphabetical order, also of those that are damaged."""

        def read() -> list[str]:
            with self.engine.connect() as connection:
                return sorted(str(row[0]) for row in connection.execute(text("SELECT study_name FROM studies")))

        return self._patiently(read, reads=True)

    def get_all_trials(
        self, study_id: int, deepcopy: bool = True, states: Container[TrialState] | None = None
    ) -> list[FrozenTrial]:
        """The trials of a study, each of them checked when it is first read, and again until it has ended.

        Raises:
            DamagedStudyError: Something about them is not what it should be.
        """
        name = self.get_study_name_from_id(study_id)
        with _damage_of(name):
            trials: list[FrozenTrial] = self._patiently(
                partial(self._cached.get_all_trials, study_id, deepcopy, states), reads=True
            )
            objectives = len(self.get_study_directions(study_id))
            for trial in trials:
                if trial._trial_id not in self._checked:
                    check_trial(trial, objectives)
                    check_choices(trial, self._choices.setdefault(study_id, {}))
                    if trial.state.is_finished():
                        self._checked.add(trial._trial_id)
        return trials

    def delete_study(self, study_id: int) -> None:
        """Delete a study; one that an earlier attempt deleted is no error."""
        attempts = 0
        self._choices.pop(study_id, None)  # a database gives the id again

        def delete() -> None:
            nonlocal attempts
            attempts += 1
            try:
                self._cached.delete_study(study_id)
            except KeyError:
                if attempts == 1:
                    raise

        self._patiently(delete)

    def erase_study(self, name: str) -> None:
        """Delete a study whose trials Optuna cannot read, and which it cannot delete for that reason."""
        trials = "SELECT trial_id FROM trials WHERE study_id IN (SELECT study_id FROM studies WHERE study_name = :name)"
        studies = "SELECT study_id FROM studies WHERE study_name = :name"

        def erase() -> None:
            with self.engine.begin() as connection:
                for table in reversed(BaseModel.metadata.sorted_tables):  # what refers to another comes first
                    key, of = ("trial_id", trials) if "trial_id" in table.columns else ("study_id", studies)
                    if key in table.columns:
                        connection.execute(text(f"DELETE FROM {table.name} WHERE {key} IN ({of})"), {"name": name})

        self._patiently(erase)

    def set_trial_state_values(self, trial_id: int, state: TrialState, values: Sequence[float] | None = None) -> bool:
        """Change the state of a trial; one that an earlier attempt ended in the same way is no error."""
        attempts = 0

        def change() -> bool:
            nonlocal attempts
            attempts += 1
            try:
                return self._cached.set_trial_state_values(trial_id, state, values)
            except UpdateFinishedTrialError:
                stored = self._cached.get_trial(trial_id)
                if attempts == 1 or (stored.state, stored.values or []) != (state, list(values or [])):
                    raise
                return True

        return self._patiently(change)

    def together(self, action: Callable[[], T]) -> T:
        """Do something with the storage as one transaction: all that it writes is stored at once, or nothing.

        Args:
            action: What to do. It must be harmless to repeat, and short, as others may have to wait for its end. Within
                another transaction it is a part of that.
        """
        return action() if self._is_joined else self._patiently(lambda: self._as_one(action))

    def remove_session(self) -> None:
        """Let go of what this thread holds."""
        self._cached.remove_session()

    def _as_one(self, action: Callable[[], T]) -> T:
        sessions = self.backend.scoped_session
        sessions.remove()
        self._thread.joined = True
        try:
            with self.engine.begin() as connection:
                sessions.registry.set(Session(bind=connection, join_transaction_mode="rollback_only"))
                return action()
        finally:
            self._thread.joined = False
            sessions.remove()

    def _patiently(self, action: Callable[[], T], reads: bool = False) -> T:
        if self._is_joined:  # the transaction is lost as a whole, and done again as a whole
            return action()
        with self._only_reading(reads):
            return with_patience(action, self._url, self._say)

    @contextmanager
    def _only_reading(self, reads: bool) -> Iterator[None]:
        before = self.is_reading
        self._thread.reads = reads
        try:
            yield
        finally:
            self._thread.reads = before

    def _say(self, line: str) -> None:
        (_logger.warning if self._on_trouble is None else self._on_trouble)(visible(line))
