"""A worker: takes trials of a study one after the other until the study has enough of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from optuna.exceptions import TrialPruned
from optuna.study import Study
from optuna.trial import TrialState

from betabo.optuna.attributes import INTERRUPTED, WITHDRAWN
from betabo.studies.errors import EvaluationFailedError, ObjectiveError
from betabo.studies.events import Event, Kind
from betabo.studies.ledger import Ledger
from betabo.studies.patient_storage import PatientStorage
from betabo.studies.plan import Plan, logs_of, open_study
from betabo.studies.storage import open_storage
from betabo.studies.taking import PAUSE, Ended, Taken, Taker, beating
from betabo.studies.values import read_numbers
from betabo.studies.workspace import Workspace

OnEvent = Callable[[Event], None]
Redirect = Callable[[Workspace], AbstractContextManager[None]]


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
        self._plan, self._storage = plan, storage
        self._stop, self._on_event, self._redirect = stop, on_event, redirect
        self._home = logs_of(plan, study)
        self._taker = Taker(plan, study, storage)
        self._count = 0
        self._says_waiting = False

    def run(self) -> WorkerOutcome:
        self._emit("ready")
        while not self._stop.is_set():
            ledger = self._taker.ledger()
            closed = self._taker.recover(ledger)
            for number, why in closed:
                self._emit("interrupted", trial=number, message=why)
            ledger = self._taker.ledger() if closed else ledger
            if ledger.finished >= self._plan.trials:
                return WorkerOutcome(self._count, "done")
            self._taker.check_failures(ledger)
            if not self._work(ledger):
                self._wait(ledger)
        return WorkerOutcome(self._count, "stopped")

    def _work(self, ledger: Ledger) -> bool:
        """Take a trial and run it; False if none is to be had now."""
        opened = self._taker.open(ledger)
        if opened is None:
            return False
        self._says_waiting = False
        with beating(self._storage, opened):
            taken = self._taker.accept(opened)
            if taken is not None and self._stop.is_set():
                self._taker.close(taken.number, INTERRUPTED, "stopped before it began")
            elif taken is not None:
                self._evaluate(taken)
        return True

    def _evaluate(self, taken: Taken) -> None:
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
            self._taker.close(taken.number, WITHDRAWN, "the objective is broken")
            raise
        except BaseException as error:
            self._taker.close(taken.number, INTERRUPTED, f"stopped by {type(error).__name__}")
            raise
        seconds = time.monotonic() - began
        if not self._taker.store(taken, Ended(state, values, measured, reason, workspace.notes, seconds)):
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

    def _wait(self, ledger: Ledger) -> None:
        if not self._says_waiting and ledger.running:
            numbers = ", ".join(str(trial.number) for trial in ledger.running[:5])
            self._emit("waiting", message=f"other workers run the last trials: {numbers}")
            self._says_waiting = True
        self._stop.wait(PAUSE)

    def _emit(self, kind: Kind, **details: Any) -> None:
        self._on_event(Event(kind, **details))
