"""Find trials whose worker died, and close them so that they are repeated."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from betabo.optuna.attributes import HEARTBEAT, INTERRUPTED, WITHDRAWN, WORKER
from betabo.optuna.workers import is_alive
from betabo.studies.ledger import Ledger
from betabo.studies.stored_plan import study_space

HEARTBEAT_INTERVAL = 15.0  # seconds between two signs of life of a worker
GRACE_PERIOD = 60.0  # seconds without one after which a worker on another machine counts as dead


@dataclass
class _Sight:
    """A heartbeat: when it was first seen, and since when it may have been the last one, in seconds."""

    heartbeat: Any
    since: float
    suspected: float | None = None


class Recovery:
    """Watches over the running trials of a study.

    A worker on this machine is dead when its process is gone. One on another machine is dead when its heartbeat has
    not changed for the grace period, by the clock of the watcher, so that clocks need not agree; and then for two more
    heartbeats, as the storage itself may have been out of reach.

    Args:
        study: The study.
        me: Record of the worker that watches, who runs no trial while it does; None if it is no worker.
    """

    def __init__(self, study: Study, me: Mapping[str, Any] | None = None) -> None:
        self._study, self._me = study, me
        self._sights: dict[int, _Sight] = {}

    def recover(self, explanation: str = "its worker died", *, ledger: Ledger | None = None) -> list[tuple[int, str]]:
        """Close the trials of dead workers.

        Args:
            explanation: What happened to the worker of a trial that had its parameters. A repetition has them before
                it may run, so that a spare one, see `Ledger`, is withdrawn all the same.
            ledger: The study's trials, if they were read a moment ago.

        Returns:
            Number and explanation of each trial that was closed.
        """
        ledger = Ledger(self._study.get_trials(deepcopy=False)) if ledger is None else ledger
        closed = []
        for trial in ledger.running:
            if self._is_dead(trial):
                key, why = WITHDRAWN, "its worker died before it began"
                if _has_parameters(trial, self._study) and not ledger.is_spare(trial):
                    key, why = INTERRUPTED, explanation
                if close_trial(self._study, trial.number, key, why):
                    closed.append((trial.number, why))
        return closed

    def _is_dead(self, trial: FrozenTrial) -> bool:
        worker = trial.system_attrs[WORKER]
        if worker == self._me:
            return True  # left over from a storage that failed in the middle of taking it
        alive = is_alive(worker)
        return self._is_silent(trial) if alive is None else not alive

    def _is_silent(self, trial: FrozenTrial) -> bool:
        """Whether the heartbeat of a trial has stopped."""
        now, heartbeat = time.monotonic(), trial.system_attrs.get(HEARTBEAT)
        sight = self._sights.get(trial.number)
        if sight is None or sight.heartbeat != heartbeat:
            self._sights[trial.number] = _Sight(heartbeat, now)
            return False
        if sight.suspected is None:
            sight.suspected = now if now - sight.since > GRACE_PERIOD else None
            return False
        return now - sight.suspected > 2 * HEARTBEAT_INTERVAL


def close_trial(study: Study, number: int, key: str, value: Any) -> bool:
    """Give a running trial a note and end it; False if it had ended before."""
    storage = study._storage  # Optuna has no public way to leave a note and end a trial without a warning
    trial_id = storage.get_trial_id_from_study_id_trial_number(study._study_id, number)
    try:
        storage.set_trial_system_attr(trial_id, key, value)
        return storage.set_trial_state_values(trial_id, TrialState.FAIL)
    except UpdateFinishedTrialError:
        return False


def _has_parameters(trial: FrozenTrial, study: Study) -> bool:
    """Whether all parameters of a trial were stored before its worker died."""
    space = study_space(study)
    return bool(trial.params) if space is None else set(space.active(trial.params)) <= trial.params.keys()
