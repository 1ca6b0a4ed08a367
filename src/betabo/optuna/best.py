"""The best trials of a study: the best value, or the Pareto front of several objectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from betabo.optuna.trials import TrialRecord
from betabo.problem.front import pareto_front

if TYPE_CHECKING:
    from optuna.study import Study


def objective_names(study: Study) -> tuple[str, ...] | None:
    """The names of the objectives of a study; None where they have none."""
    names = study.metric_names
    good = isinstance(names, list) and len(names) == len(study.directions) and len(set(names)) == len(names)
    return tuple(names) if names and good and all(isinstance(name, str) and name for name in names) else None


def directions_of(study: Study) -> tuple[str, ...]:
    """`"minimize"` or `"maximize"` for each objective of a study."""
    return tuple(direction.name.lower() for direction in study.directions)


def losses_of(trials: Sequence[TrialRecord], directions: Sequence[str]) -> list[tuple[float, ...]]:
    """The values of trials, with the sign changed where they are to be maximized, so that less is better."""
    signs = [-1.0 if direction == "maximize" else 1.0 for direction in directions]
    return [tuple(sign * value for sign, value in zip(signs, trial.values, strict=True)) for trial in trials]


def ranked(trials: Sequence[TrialRecord], directions: Sequence[str]) -> list[TrialRecord]:
    """The complete trials that violate no constraint, best in the first objective first, the earlier one of equals."""
    eligible = [trial for trial in trials if trial.is_complete and trial.is_feasible]
    order = sorted(zip(losses_of(eligible, directions), range(len(eligible)), strict=True))
    return [eligible[index] for _, index in order]


def best_trials(trials: Sequence[TrialRecord], directions: Sequence[str]) -> list[TrialRecord]:
    """The best trial, or the Pareto front of several objectives, best in the first objective first.

    Only complete trials that violate no constraint are taken; of equally good ones, the best trial is the earliest.

    Returns:
        One trial, those of the front, or none yet.
    """
    candidates = ranked(trials, directions)
    if len(directions) == 1 or not candidates:
        return candidates[:1]
    return [candidates[index] for index in pareto_front(losses_of(candidates, directions))]
