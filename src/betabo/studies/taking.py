"""Take trials of a study, one at a time, and store what came of each."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState, create_trial

from betabo.optuna.attributes import CONSTRAINT, HEARTBEAT, INTERRUPTED, REASON, RETRY_OF, SECONDS, WITHDRAWN, WORKER
from betabo.optuna.trials import COUNTED
from betabo.optuna.workers import this_worker
from betabo.studies import recovery
from betabo.studies.choice import choose_parameters
from betabo.studies.database_errors import patience
from betabo.studies.errors import StudyError, TooManyFailedTrialsError
from betabo.studies.ledger import Ledger
from betabo.studies.patient_storage import PatientStorage
from betabo.studies.plan import Plan
from betabo.studies.recovery import Recovery, close_trial

PAUSE = 0.5
"""Seconds between two looks at trials that other workers run."""

_OWN_NOTES = {WORKER, HEARTBEAT, RETRY_OF, INTERRUPTED, WITHDRAWN, REASON, SECONDS}


@dataclass(frozen=True)
class Taken:
    """A trial that somebody runs.

    Attributes:
        number: Its number in the study.
        id: Its number in the storage.
        parameters: Its parameters.
    """

    number: int
    id: int
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """What came of a trial.

    Attributes:
        state: Complete, failed or pruned.
        values: A value for each objective; empty where it failed.
        measured: What the constraints are about, by name.
        reason: Why it failed, or was pruned.
        notes: What the objective noted, by name.
        seconds: How long the objective took.
    """

    state: TrialState
    values: tuple[float, ...]
    measured: Mapping[str, float]
    reason: str
    notes: Mapping[str, Any]
    seconds: float


class Taker:
    """Somebody who runs one trial of a study at a time; there may be several in a process.

    Args:
        plan: What to do.
        study: The study that was opened from the plan.
        storage: Its storage.
    """

    def __init__(self, plan: Plan, study: Study, storage: PatientStorage) -> None:
        self._plan, self._study, self._storage = plan, study, storage
        self._study_id = storage.get_study_id_from_name(plan.study)
        self._me = {**this_worker(), "token": secrets.token_hex(4)}
        self._recovery = Recovery(study, self._me)
        self._finished_before = {t.number for t in self.ledger().trials if t.state.is_finished()}

    def ledger(self) -> Ledger:
        """The trials as they are now."""
        return Ledger(self._study.get_trials(deepcopy=False))

    def recover(self, ledger: Ledger) -> list[tuple[int, str]]:
        """Close the trials of workers that died, see `Recovery.recover`."""
        return self._recovery.recover(ledger=ledger)

    def open(self, ledger: Ledger) -> int | None:
        """Open a trial, in place of an interrupted one or of one in the queue, or a new one.

        Returns:
            Its number in the storage; None if none is to be had now.
        """
        total = self._plan.trials
        if ledger.taken >= total:
            return None
        for trial in ledger.owed:
            if ledger.state(trial) == "interrupted" or ledger.may_run(trial.number, total):
                return self._create(self._repetition(trial))
        if ledger.lines < total:
            return self._create(create_trial(state=TrialState.RUNNING, system_attrs=self._signature()))
        return None

    def accept(self, trial_id: int) -> Taken | None:
        """Find the parameters of an open trial, or withdraw it if the study has enough."""
        ledger = self.ledger()
        opened = next(trial for trial in ledger.trials if trial._trial_id == trial_id)
        if not ledger.may_run(opened.number, self._plan.trials):
            self.close(opened.number, WITHDRAWN, "the study has enough")
            return None
        try:
            parameters = choose_parameters(self._study, self._storage, opened, self._plan.space, self._is_quick(opened))
        except StudyError:  # the storage is gone; whoever finds the trial will close it
            raise
        except BaseException as error:
            self.close(opened.number, WITHDRAWN, "it has no parameters")
            if not isinstance(error, Exception):
                raise
            raise StudyError(f"no parameters were found for a trial: {type(error).__name__}: {error}") from error
        self._take_out_of_queue(opened.system_attrs.get(RETRY_OF), ledger)
        return Taken(opened.number, trial_id, parameters)

    def store(self, taken: Taken, ended: Ended) -> bool:
        """Store the end of a trial, in one transaction; False if another worker took it over and ended it.

        Raises:
            StudyError: The storage does not take it.
        """
        try:
            return bool(self._storage.together(lambda: self._store(taken, ended)))
        except StudyError as error:
            shown = ended.reason or ", ".join(map(repr, ended.values))
            raise StudyError(f"trial {taken.number} ended ({shown}) and could not be stored: {error}") from error

    def close(self, number: int, key: str, value: Any) -> None:
        """Give a running trial a note and end it."""
        close_trial(self._study, number, key, value)

    def check_failures(self, ledger: Ledger) -> None:
        """Stop when nothing works: the last trials since this one began to take some all failed."""
        recent = [
            trial
            for trial in ledger.trials
            if trial.number not in self._finished_before and ledger.state(trial) in COUNTED
        ]
        last = recent[-self._plan.config.max_failures :]
        if len(last) == self._plan.config.max_failures and all(ledger.state(trial) == "failed" for trial in last):
            reason = last[-1].system_attrs.get(REASON, "no reason is known")
            raise TooManyFailedTrialsError(
                f"the last {len(last)} trials failed, the most recent one because {reason}; "
                "everything is stored. Check the objective or the bounds, and run the same again."
            )

    def _create(self, template: FrozenTrial) -> int:
        return int(self._storage.create_new_trial(self._study_id, template))

    def _repetition(self, trial: FrozenTrial) -> FrozenTrial:
        """A running trial with the parameters of another one."""
        kept = {key: value for key, value in trial.system_attrs.items() if key not in _OWN_NOTES}
        return create_trial(
            state=TrialState.RUNNING,
            params=trial.params,
            distributions=trial.distributions,
            user_attrs=trial.user_attrs,
            system_attrs={**kept, **self._signature(), RETRY_OF: trial.number},
        )

    def _signature(self) -> dict[str, Any]:
        return {WORKER: self._me, HEARTBEAT: 0}

    def _is_quick(self, opened: FrozenTrial) -> bool:
        """Whether the parameters of a trial need no model, and nobody else has to see them before they are stored."""
        space = self._plan.space
        return space.is_continuous and opened.number < self._plan.config.design_size(space.dims)

    def _take_out_of_queue(self, number: int | None, ledger: Ledger) -> None:
        """Close the trial in the queue that another one was opened for, once the other has its parameters."""
        if number is not None and any(trial.number == number for trial in ledger.waiting):
            self.close(number, WITHDRAWN, "another trial runs it")

    def _store(self, taken: Taken, ended: Ended) -> bool:
        """Store the end of a trial; False if somebody else ended it. Harmless to repeat."""
        try:
            for name, value in ended.notes.items():
                self._storage.set_trial_user_attr(taken.id, name, value)
            for limit in self._plan.problem.constraints if ended.measured else ():
                for name, excess in zip(limit.labels, limit.excess(ended.measured[limit.name]), strict=True):
                    self._storage.set_trial_system_attr(taken.id, f"{CONSTRAINT}{name}", excess)
            self._storage.set_trial_system_attr(taken.id, SECONDS, ended.seconds)
            if ended.reason or ended.state == TrialState.FAIL:
                self._storage.set_trial_system_attr(taken.id, REASON, ended.reason or "no reason given")
            self._storage.set_trial_state_values(taken.id, ended.state, ended.values or None)
        except UpdateFinishedTrialError:  # by somebody else, or by us in an attempt whose answer was lost
            stored = self._storage.get_trial(taken.id)
            return stored.state == ended.state and tuple(stored.values or ()) == ended.values
        return True


@contextmanager
def beating(storage: PatientStorage, trial_id: int) -> Iterator[None]:
    """Give signs of life of a trial from a thread, for workers on other machines to see."""
    ended = threading.Event()

    def beat() -> None:
        count = 0
        while not ended.wait(recovery.HEARTBEAT_INTERVAL):
            count += 1
            try:
                with patience(0):
                    storage.set_trial_system_attr(trial_id, HEARTBEAT, count)
            except UpdateFinishedTrialError:
                break
            except StudyError:
                continue  # whoever stores the result will say so
        storage.remove_session()

    thread = threading.Thread(target=beat, name="betabo-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
