"""The trials of a study as the commands show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import optuna

    from betabo.space import Space

_COUNTED = ("complete", "failed", "pruned")


@dataclass(frozen=True)
class Trial:
    """One trial, in the user's units.

    Attributes:
        number: Its number in the study.
        state: `"complete"`, `"failed"`, `"interrupted"`, `"running"`, `"waiting"` or `"pruned"`.
        values: One value an objective, none unless complete.
        parameters: The point.
        on_bound: `"lower"` or `"upper"` for each parameter that sits on a bound of its range.
        started: When it was started, in local time.
        finished: When it ended.
        seconds: How long the objective took.
        reason: Why it failed, empty if it did not.
        origin: `"start"`, `"model"`, or empty where not known.
        notes: What the objective noted, by name.
    """

    number: int
    state: str
    values: tuple[float, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    on_bound: Mapping[str, str] = field(default_factory=dict)
    started: datetime | None = None
    finished: datetime | None = None
    seconds: float | None = None
    reason: str = ""
    origin: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def counts(self) -> bool:
        """Whether it counts towards the number of trials that was asked for."""
        return self.state in _COUNTED

    @property
    def on_face(self) -> bool:
        """Whether the point lies on a face of the box."""
        return bool(self.on_bound)


class TrialReader:
    """Reads the trials of a study again and again; what has ended is read once.

    Args:
        study: Any study of Optuna's.
    """

    def __init__(self, study: optuna.Study) -> None:
        from betabo.studies import study_space

        self._study = study
        self._space = study_space(study)
        self._over: dict[int, Trial] = {}

    def read(self) -> list[Trial]:
        """The trials in the order of their numbers, without those that were withdrawn before they began.

        Raises:
            StudyError: The storage cannot be read.
        """
        from optuna.exceptions import StorageInternalError
        from sqlalchemy.exc import SQLAlchemyError

        from betabo.studies import StudyError

        try:
            found = self._study.get_trials(deepcopy=False)
        except (SQLAlchemyError, StorageInternalError) as error:
            raise StudyError(f"the storage of {self._study.study_name!r} cannot be read: {error}") from error
        for frozen in found:
            if frozen.state.is_finished() and frozen.number not in self._over:
                self._over[frozen.number] = trial_of(frozen, self._space)
        trials = [self._over.get(frozen.number) or trial_of(frozen, self._space) for frozen in found]
        return [trial for trial in trials if trial.state != "withdrawn"]


def trial_of(frozen: optuna.trial.FrozenTrial, space: Space | None) -> Trial:
    """A trial of Optuna's as the commands show it; without a space its own distributions tell the bounds."""
    from betabo.attributes import INTERRUPTED, REASON, SECONDS, STEP, WORKER
    from betabo.optuna import from_distributions
    from betabo.studies.ledger import state_of
    from betabo.studies.process import is_alive

    state: str = state_of(frozen)
    notes = frozen.system_attrs
    if state == "running" and is_alive(notes.get(WORKER, {})) is False:
        state = "interrupted"
    passed = None if frozen.duration is None else frozen.duration.total_seconds()
    box = from_distributions(frozen.distributions) if space is None and frozen.params else space
    return Trial(
        number=frozen.number,
        state=state,
        values=tuple(frozen.values or ()) if state == "complete" else (),
        parameters=frozen.params,
        on_bound={} if box is None else bound_hits(box, frozen.params),
        started=frozen.datetime_start,
        finished=frozen.datetime_complete,
        seconds=notes.get(SECONDS, passed),
        reason=str(notes.get(REASON) or notes.get(INTERRUPTED) or ""),
        origin=notes.get(STEP, {}).get("origin", ""),
        notes=frozen.user_attrs,
    )


def best_of(trials: Sequence[Trial], direction: str) -> Trial | None:
    """The best complete trial of a study with one objective, the earliest of equals; None without one."""
    sign = _sign(direction)
    complete = [trial for trial in trials if trial.state == "complete"]
    return min(complete, key=lambda trial: (sign * trial.values[0], trial.number), default=None)


def front_of(trials: Sequence[Trial], directions: Sequence[str]) -> list[Trial]:
    """The complete trials that no other one beats in every objective, best in the first objective first."""
    signs = [_sign(direction) for direction in directions]

    def losses(trial: Trial) -> tuple[float, ...]:
        return tuple(sign * value for sign, value in zip(signs, trial.values, strict=True))

    complete = sorted((trial for trial in trials if trial.state == "complete"), key=losses)
    front: list[Trial] = []
    for trial in complete:  # in this order only an earlier one can beat it
        if not any(_beats(losses(other), losses(trial)) for other in front):
            front.append(trial)
    return front


def bound_hits(space: Space, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Which numbers sit on the lower or upper bound of their range; one with two values has nothing but bounds."""
    from betabo.studies import bounds_hit

    return {name: side for name, side in bounds_hit(space, parameters).items() if space.parameters[name].count != 2}


def _sign(direction: str) -> int:
    return -1 if direction == "maximize" else 1


def _beats(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a != b and all(x <= y for x, y in zip(a, b, strict=True))
