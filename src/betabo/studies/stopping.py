"""When a study ends before it has its trials: the rules of `betabo.optimizer.stopping`, seen from its trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from optuna.study import Study

from betabo.optimizer.config import Config
from betabo.optimizer.stopping import Progress, StopChoice, Stopping
from betabo.optuna.best import directions_of, losses_of
from betabo.optuna.trials import TrialRecord, read_trials
from betabo.problem.front import hypervolumes, reference_point
from betabo.studies.errors import StudyError
from betabo.studies.plan import Plan

if TYPE_CHECKING:
    from betabo.optimizer.remaining import RemainingGain


def as_stopping(
    timeout: float | str | None, target: float | None, stop: StopChoice, directions: Sequence[str]
) -> Stopping:
    """What is meant by the arguments, in a study with these directions.

    Raises:
        StudyError: One of them makes no sense.
    """
    try:
        return Stopping.of(timeout, target, stop, directions)
    except (TypeError, ValueError) as error:
        raise StudyError(str(error)) from error


def study_progress(study: Study, plan: Plan, trials: Sequence[TrialRecord] | None = None) -> Progress:
    """What a rule for stopping sees of a study.

    Args:
        study: The study of the plan.
        plan: The plan.
        trials: Its trials, if they have been read already.
    """
    trials = read_trials(study) if trials is None else trials
    counted = [trial for trial in trials if trial.counts]
    good = [trial for trial in counted if trial.is_complete and trial.is_feasible]
    losses = losses_of(good, plan.directions)
    if len(plan.directions) > 1:
        volumes = hypervolumes(losses, reference_point(losses)) if losses else []
        values = dict(zip((trial.number for trial in good), (-volume for volume in volumes), strict=True))
    else:
        values = {trial.number: loss for trial, (loss,) in zip(good, losses, strict=True)}
    dims = plan.space.dims
    return Progress(
        [values.get(trial.number) for trial in counted],
        dims,
        plan.config.within(plan.space).design_size(dims),
        lambda: study_remaining_gain(study, plan.config),
    )


def study_remaining_gain(study: Study, config: Config | None = None, seed: int = 0) -> RemainingGain:
    """What the model believes is still to be gained in a study with one objective.

    Raises:
        ValueError: There are several objectives, or too few trials for a model.
    """
    from betabo.optimizer.remaining import remaining_gain
    from betabo.optuna.model import known_data

    if len(directions_of(study)) > 1:
        raise ValueError(f"study {study.study_name!r} has {len(study.directions)} objectives, expected one.")
    config = Config() if config is None else config
    known = known_data(study, config)
    return remaining_gain(known.data, config, seed=seed, snap=known.space.snap)
