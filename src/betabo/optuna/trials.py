"""The trials of a study as everybody sees them: one record, and one word for what became of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from optuna.trial import FrozenTrial, TrialState

from betabo.optuna.attributes import (
    INTERRUPTED,
    PROPOSAL,
    REASON,
    RETRY_OF,
    SECONDS,
    STEP,
    VARIANCE,
    WITHDRAWN,
    WORKER,
)
from betabo.optuna.box import in_present_ranges, planned_box
from betabo.optuna.space import from_distribution
from betabo.optuna.workers import is_alive
from betabo.space.boundary import Side, boundary_distance, faces

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study

State = Literal["complete", "pruned", "running", "waiting", "interrupted", "failed", "withdrawn"]

STATES: tuple[State, ...] = get_args(State)
"""What may become of a trial, in the order in which it is listed."""

COUNTED = ("complete", "pruned", "failed")
"""The states of trials that count towards the number that a study is to reach."""

_OPEN_OR_VALUED: dict[TrialState, State] = {
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.RUNNING: "running",
    TrialState.WAITING: "waiting",
}

QUEUED = "fixed_params"
"""Optuna's name for the parameters of a trial that was put into the queue."""


def state_of(trial: FrozenTrial) -> State:
    """What became of a trial.

    A trial is `"interrupted"` if its worker died, or was stopped, before it had a value: it does not count, and another
    trial repeats it. It is so from the moment on at which its worker is known to be dead, before somebody notes it. It
    is `"withdrawn"` if it was closed before it began, and `"failed"` if the objective failed.
    """
    notes = trial.system_attrs
    if trial.state == TrialState.RUNNING and is_alive(notes.get(WORKER, {})) is False:
        return "interrupted"
    if trial.state != TrialState.FAIL:
        return _OPEN_OR_VALUED[trial.state]
    if WITHDRAWN in notes:
        return "withdrawn"
    # A trial of a worker that failed without a reason was ended by somebody else, such as Optuna's own heartbeat.
    if INTERRUPTED in notes or (WORKER in notes and REASON not in notes):
        return "interrupted"
    return "failed"


@dataclass(frozen=True)
class TrialRecord:
    """One trial of a study, in the user's units.

    Attributes:
        number: Its number in the study.
        state: What became of it, see `state_of`.
        values: A value for each objective; empty without one. A pruned trial has its last intermediate value.
        parameters: Its parameters, those included that are proposed or in the queue and not yet asked for.
        distributions: The range of each parameter: the present one of the study, or that it was chosen from.
        positions: Where each number lies in its range, from 0 to 1, see `Space.positions`.
        origin: `"start"`, `"model"` or `"local"` for betabo's sampler, `"enqueued"` for a point the user asked for,
            else empty.
        violation: Sum of the amounts by which constraints are violated; None without constraints.
        started: When it started, in local time.
        finished: When it ended.
        seconds: How long the objective took.
        worker: Who ran it, as `host:pid`; empty if that is not known.
        reason: Why it failed or was interrupted, empty otherwise.
        retry_of: Number of the trial that it repeats.
        diagnostics: Figures of the sampler's step that proposed it.
        notes: What the objective noted, by name.
    """

    number: int
    state: State
    values: tuple[float, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    distributions: Mapping[str, BaseDistribution] = field(default_factory=dict)
    positions: Mapping[str, float] = field(default_factory=dict)
    origin: str = ""
    violation: float | None = None
    started: datetime | None = None
    finished: datetime | None = None
    seconds: float | None = None
    worker: str = ""
    reason: str = ""
    retry_of: int | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, trial: FrozenTrial, box: Mapping[str, BaseDistribution] | None = None) -> TrialRecord:
        """The record of one of Optuna's trials, whoever made it.

        Args:
            trial: The trial.
            box: Ranges of the study that have moved since; the record says where the trial lies in them.
        """
        distributions = in_present_ranges(trial.distributions, box or {})
        state, kept = state_of(trial), trial.system_attrs
        step = _dict(kept.get(STEP))
        worker = kept.get(WORKER)
        passed = None if trial.duration is None else trial.duration.total_seconds()
        constraints = trial.constraints.values()
        reason = kept.get(INTERRUPTED) if state == "interrupted" else kept.get(REASON)
        return cls(
            number=trial.number,
            state=state,
            values=tuple(float(value) for value in trial.values or ()),
            parameters=known_parameters(trial),
            distributions=distributions,
            positions=_positions(trial, distributions),
            origin=str(step.get("origin") or ("enqueued" if QUEUED in kept else "")),
            violation=sum(max(value, 0.0) for value in constraints) if constraints else None,
            started=trial.datetime_start,
            finished=trial.datetime_complete,
            seconds=kept.get(SECONDS, passed),
            worker="" if worker is None else f"{worker['host']}:{worker['pid']}",
            reason=str(reason or ""),
            retry_of=kept.get(RETRY_OF),
            diagnostics=_dict(step.get("diagnostics")),
            notes=trial.user_attrs,
        )

    @property
    def counts(self) -> bool:
        """Whether it counts towards the number of trials that was asked for."""
        return self.state in COUNTED

    @property
    def is_complete(self) -> bool:
        """Whether it ended with a value for each objective."""
        return self.state == "complete"

    @property
    def errors(self) -> tuple[float, ...]:
        """The standard error of each value, where the trial says them; empty otherwise."""
        given = self.notes.get(VARIANCE)
        listed = given if isinstance(given, list) else [given]
        known = [float(v) for v in listed if isinstance(v, int | float) and 0 <= v < math.inf]
        return tuple(map(math.sqrt, known)) if len(known) == len(listed) == len(self.values) else ()

    @property
    def remarks(self) -> dict[str, Any]:
        """What the objective noted, without the accuracy of its values, which stands with these."""
        return {name: note for name, note in self.notes.items() if name != VARIANCE or not self.errors}

    @property
    def is_modelled(self) -> bool:
        """Whether a model proposed it, and not the starting design or the user."""
        return self.origin in ("model", "local")

    @property
    def is_feasible(self) -> bool:
        """Whether it violates no constraint."""
        return not self.violation

    @property
    def faces(self) -> dict[str, Side]:
        """`"lower"` or `"upper"` for each number that is on a bound of its range."""
        return faces(self.positions)

    @property
    def boundary_distance(self) -> float | None:
        """Normalized distance to the boundary of the box, 0 on a face, 1 at the centre; None without numbers."""
        return boundary_distance(self.positions.values())


def read_trials(study: Study) -> list[TrialRecord]:
    """The trials of a study in the order of their numbers, without those that were withdrawn before they began."""
    box = planned_box(study)
    records = [TrialRecord.of(trial, box) for trial in study.get_trials(deepcopy=False)]
    return [record for record in records if record.state != "withdrawn"]


def known_parameters(trial: FrozenTrial) -> dict[str, Any]:
    """The parameters of a trial; of one that has not ended, also those that are proposed or in the queue."""
    if trial.state.is_finished():
        return trial.params
    kept = trial.system_attrs
    return {**kept.get(PROPOSAL, {}), **kept.get(QUEUED, {}), **trial.params}


def _positions(trial: FrozenTrial, distributions: Mapping[str, BaseDistribution]) -> dict[str, float]:
    """Where each number of a trial lies in its range.

    One in a range that betabo cannot search is left out, and so is one outside a range that has moved.
    """
    positions = {}
    for name, distribution in distributions.items():
        with suppress(TypeError, ValueError):
            parameter = from_distribution(name, distribution)
            if parameter.has_faces:
                positions[name] = float(parameter.to_unit(trial.params[name])[0])
    return positions


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
