"""A worker: takes trials of a study one after the other until the study has enough of them."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from optuna.exceptions import TrialPruned, UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState, create_trial

from betabo.optuna.attributes import CONSTRAINT, HEARTBEAT, INTERRUPTED, REASON, RETRY_OF, SECONDS, WITHDRAWN, WORKER
from betabo.optuna.space import to_distributions
from betabo.optuna.trials import COUNTED
from betabo.optuna.workers import this_worker
from betabo.studies import recovery
from betabo.studies.choice import choose_parameters
from betabo.studies.database_errors import patience
from betabo.studies.errors import EvaluationFailedError, ObjectiveError, StudyError
from betabo.studies.events import Event, Kind
from betabo.studies.ledger import Ledger
from betabo.studies.patient_storage import PatientStorage
from betabo.studies.plan import Plan, logs_of, open_study
from betabo.studies.recovery import Recovery, close_trial
from betabo.studies.storage import open_storage
from betabo.studies.values import read_numbers
from betabo.studies.workspace import Workspace

OnEvent = Callable[[Event], None]
Redirect = Callable[[Workspace], AbstractContextManager[None]]

_PAUSE = 0.5  # seconds between two looks at trials that other workers run
_OWN_NOTES = {WORKER, HEARTBEAT, RETRY_OF, INTERRUPTED, WITHDRAWN, REASON, SECONDS}


@dataclass(frozen=True)
class WorkerOutcome:
    """How a worker ended.

    Attributes:
        trials: Number of trials that it finished.
        reason: `"done"` if the study has its trials, `"stopped"` if it was asked to stop.
    """

    trials: int
    reason: str


def run_worker(
    plan: Plan,
    *,
    stop: threading.Event | None = None,
    on_event: OnEvent | None = None,
    redirect: Redirect | None = None,
) -> WorkerOutcome:
    """Work on a study in this process until it has its trials.

    Any number of workers, in any number of processes and on any number of machines, may work on the same study. The
    number of trials is exact nevertheless. An exception that is not the objective's, such as a keyboard interrupt,
    leaves the running trial to be repeated.

    Args:
        plan: What to do.
        stop: When it is set, the worker ends after the running trial.
        on_event: Called with what happens.
        redirect: Makes a context for each evaluation, to send its output somewhere.

    Returns:
        How it ended.

    Raises:
        StudyError: The study cannot go on: the objective is broken, too many trials failed, or the storage is gone.
    """
    plan.objective.prepare(plan.space)
    tell = (lambda _: None) if on_event is None else on_event

    def warn(line: str) -> None:
        tell(Event("warning", message=line))

    storage = open_storage(plan.storage, keep_connections=True, is_known=True, on_trouble=warn)
    try:
        study = open_study(plan, warn, storage)
        stop = threading.Event() if stop is None else stop
        return _Worker(plan, study, storage, stop, tell, _as_it_is if redirect is None else redirect).run()
    finally:
        storage.engine.dispose()


def _as_it_is(_: Workspace) -> AbstractContextManager[None]:
    return nullcontext()


@dataclass(frozen=True)
class _Taken:
    """A trial that this worker runs."""

    number: int
    id: int
    parameters: dict[str, Any]


class _Worker:
    def __init__(
        self,
        plan: Plan,
        study: Study,
        storage: PatientStorage,
        stop: threading.Event,
        on_event: OnEvent,
        redirect: Redirect,
    ) -> None:
        self._plan, self._study, self._storage = plan, study, storage
        self._stop, self._on_event, self._redirect = stop, on_event, redirect
        self._home = logs_of(plan, study)
        self._study_id = storage.get_study_id_from_name(plan.study)
        self._me = {**this_worker(), "token": secrets.token_hex(4)}  # there may be several in a process
        self._recovery = Recovery(self._study, self._me)
        self._distributions = to_distributions(plan.space)
        self._finished_before = {t.number for t in self._ledger().trials if t.state.is_finished()}
        self._count = 0
        self._says_waiting = False

    def run(self) -> WorkerOutcome:
        self._emit("ready")
        while not self._stop.is_set():
            ledger = self._ledger()
            closed = self._recovery.recover(ledger=ledger)
            for number, why in closed:
                self._emit("interrupted", trial=number, message=why)
            ledger = self._ledger() if closed else ledger
            if ledger.finished >= self._plan.trials:
                return WorkerOutcome(self._count, "done")
            self._check_failures(ledger)
            if not self._work(ledger):
                self._wait(ledger)
        return WorkerOutcome(self._count, "stopped")

    def _work(self, ledger: Ledger) -> bool:
        """Take a trial and run it; False if none is to be had now."""
        opened = self._open(ledger)
        if opened is None:
            return False
        self._says_waiting = False
        with _beating(self._storage, opened):
            taken = self._accept(opened)
            if taken is not None and self._stop.is_set():
                self._close(taken.number, INTERRUPTED, "stopped before it began")
            elif taken is not None:
                self._evaluate(taken)
        return True

    def _open(self, ledger: Ledger) -> int | None:
        """Open a trial, in place of an interrupted one or of one in the queue, or a new one; returns its id."""
        total = self._plan.trials
        if ledger.taken >= total:
            return None
        for trial in ledger.owed:
            if ledger.state(trial) == "interrupted" or ledger.may_run(trial.number, total):
                return self._create(self._repetition(trial))
        if ledger.lines < total:
            return self._create(create_trial(state=TrialState.RUNNING, system_attrs=self._signature()))
        return None

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

    def _accept(self, trial_id: int) -> _Taken | None:
        """Find the parameters of an open trial, or withdraw it if the study has enough."""
        ledger = self._ledger()
        opened = next(trial for trial in ledger.trials if trial._trial_id == trial_id)
        if not ledger.may_run(opened.number, self._plan.trials):
            self._close(opened.number, WITHDRAWN, "the study has enough")
            return None
        try:
            parameters = choose_parameters(
                self._study, self._storage, opened, self._distributions, self._is_quick(opened)
            )
        except StudyError:  # the storage is gone; whoever finds the trial will close it
            raise
        except BaseException as error:
            self._close(opened.number, WITHDRAWN, "it has no parameters")
            if not isinstance(error, Exception):
                raise
            raise StudyError(f"no parameters were found for a trial: {type(error).__name__}: {error}") from error
        self._take_out_of_queue(opened.system_attrs.get(RETRY_OF), ledger)
        return _Taken(opened.number, trial_id, parameters)

    def _is_quick(self, opened: FrozenTrial) -> bool:
        """Whether the parameters of a trial need no model, and nobody else has to see them before they are stored."""
        space = self._plan.space
        return space.is_continuous and opened.number < self._plan.config.design_size(space.dims)

    def _take_out_of_queue(self, number: int | None, ledger: Ledger) -> None:
        """Close the trial in the queue that another one was opened for, once the other has its parameters."""
        if number is not None and any(trial.number == number for trial in ledger.waiting):
            self._close(number, WITHDRAWN, "another trial runs it")

    def _evaluate(self, taken: _Taken) -> None:
        """Call the objective and store what came of it."""
        workspace = Workspace.of(self._home, taken.number)
        workspace.clear()
        self._emit("began", trial=taken.number, parameters=taken.parameters)
        began = time.monotonic()
        state, reason = TrialState.COMPLETE, ""
        values: tuple[float, ...] = ()
        measured: Mapping[str, float] = {}
        try:
            with self._redirect(workspace):
                given = self._plan.objective(dict(taken.parameters), workspace)
            values, measured = read_numbers(given, self._plan.problem, self._plan.objective.describe())
            for name, value in measured.items():
                workspace.note(name, value)
        except EvaluationFailedError as error:
            state, reason = TrialState.FAIL, str(error)
        except TrialPruned as error:
            state, reason = TrialState.PRUNED, str(error)
        except ObjectiveError:
            self._close(taken.number, WITHDRAWN, "the objective is broken")
            raise
        except BaseException as error:
            self._close(taken.number, INTERRUPTED, f"stopped by {type(error).__name__}")
            raise
        seconds = time.monotonic() - began
        store = partial(self._store, taken, state, values, reason, seconds, workspace.notes, measured)
        try:
            stored = self._storage.together(store)
        except StudyError as error:
            shown = reason or ", ".join(map(repr, values))
            raise StudyError(f"trial {taken.number} ended ({shown}) and could not be stored: {error}") from error
        if not stored:
            self._emit("lost", trial=taken.number, message="another worker took it over")
            return
        self._count += 1
        self._emit(
            "finished",
            trial=taken.number,
            parameters=taken.parameters,
            state={TrialState.COMPLETE: "complete", TrialState.PRUNED: "pruned"}.get(state, "failed"),
            values=values,
            seconds=seconds,
            message=reason,
        )

    def _store(
        self,
        taken: _Taken,
        state: TrialState,
        values: tuple[float, ...],
        reason: str,
        seconds: float,
        notes: Mapping[str, Any],
        measured: Mapping[str, float],
    ) -> bool:
        """Store the end of a trial; False if somebody else ended it. Harmless to repeat, and one transaction."""
        try:
            for name, value in notes.items():
                self._storage.set_trial_user_attr(taken.id, name, value)
            for limit in self._plan.problem.constraints if measured else ():
                for name, excess in zip(limit.labels, limit.excess(measured[limit.name]), strict=True):
                    self._storage.set_trial_system_attr(taken.id, f"{CONSTRAINT}{name}", excess)
            self._storage.set_trial_system_attr(taken.id, SECONDS, seconds)
            if reason or state == TrialState.FAIL:
                self._storage.set_trial_system_attr(taken.id, REASON, reason or "no reason given")
            self._storage.set_trial_state_values(taken.id, state, values or None)
        except UpdateFinishedTrialError:  # by somebody else, or by us in an attempt whose answer was lost
            stored = self._storage.get_trial(taken.id)
            return stored.state == state and tuple(stored.values or ()) == values
        return True

    def _check_failures(self, ledger: Ledger) -> None:
        """Stop when nothing works: the last trials since this worker began all failed."""
        recent = [
            trial
            for trial in ledger.trials
            if trial.number not in self._finished_before and ledger.state(trial) in COUNTED
        ]
        last = recent[-self._plan.config.max_failures :]
        if len(last) == self._plan.config.max_failures and all(ledger.state(trial) == "failed" for trial in last):
            reason = last[-1].system_attrs.get(REASON, "no reason is known")
            raise StudyError(
                f"the last {len(last)} trials failed, the most recent one because {reason}; "
                "everything is stored. Check the objective or the bounds, and run the same again."
            )

    def _wait(self, ledger: Ledger) -> None:
        if not self._says_waiting and ledger.running:
            numbers = ", ".join(str(trial.number) for trial in ledger.running[:5])
            self._emit("waiting", message=f"other workers run the last trials: {numbers}")
            self._says_waiting = True
        self._stop.wait(_PAUSE)

    def _close(self, number: int, key: str, value: Any) -> None:
        close_trial(self._study, number, key, value)

    def _ledger(self) -> Ledger:
        return Ledger(self._study.get_trials(deepcopy=False))

    def _emit(self, kind: Kind, **details: Any) -> None:
        self._on_event(Event(kind, **details))


@contextmanager
def _beating(storage: PatientStorage, trial_id: int) -> Iterator[None]:
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
