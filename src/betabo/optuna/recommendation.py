"""The best estimated trial of a study: with noise, the trial with the lowest value is often a lucky one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import optuna

from betabo.optimizer.config import Config
from betabo.optuna.attributes import VARIANCE
from betabo.optuna.best import best_trials, directions_of
from betabo.optuna.space import decode
from betabo.optuna.trials import TrialRecord, read_trials

if TYPE_CHECKING:
    from betabo.optimizer.answer import Estimate


@dataclass(frozen=True)
class Recommended:
    """The best point of a study with one objective, in the study's own units.

    Attributes:
        parameters: The point.
        trial: Number of the trial that evaluated it, the first one of several; None where none did.
        value: Its value, the mean of several; None where no trial evaluated it.
        estimate: What the model believes of its value without noise; None without a model.
        sees_noise: Whether the model sees noise: if so the point has the best mean, otherwise the best value.
        observed: Number of the trial with the best value.
    """

    parameters: Mapping[str, Any]
    trial: int | None
    value: float | None
    estimate: Estimate | None
    sees_noise: bool
    observed: int


def recommend(
    study: optuna.Study, *, anywhere: bool = False, config: Config | None = None, seed: int = 0
) -> Recommended:
    """The best point of a study, whatever sampler made it: by the model's mean where it sees noise, else by the value.

    Args:
        study: An Optuna study with one objective.
        anywhere: Whether to look beyond the evaluated points, where the model's mean is best in the whole space.
        config: Kernel, noise and so on; None takes the defaults.
        seed: Seed of the fit.

    Raises:
        ValueError: There are several objectives, no trial has a value yet, or `anywhere` is asked for without a model.

    Example:
        >>> study.optimize(objective, n_trials=40)
        >>> recommend(study).parameters
    """
    from betabo.optimizer.answer import Estimate, answer
    from betabo.optuna.model import known_data

    config = Config() if config is None else config
    if len(study.directions) > 1:
        raise ValueError(
            f"study {study.study_name!r} has {len(study.directions)} objectives, expected one: of several, "
            "study.best_trials has the front."
        )
    trials = best_trials(read_trials(study), directions_of(study))
    if not trials:
        raise ValueError(f"study {study.study_name!r} has no trial with a value that satisfies all constraints.")
    best = trials[0]
    plain = Recommended(best.parameters, best.number, best.values[0], None, False, best.number)
    try:
        known = known_data(study, config, pruned=False)
    except ValueError:  # no parameter in common, or one value only
        if anywhere:
            raise
        return plain
    found = answer(known.data, config, seed=seed, anywhere=anywhere, snap=known.space.snap)
    if found is None or found.estimate is None:
        return plain
    (sign,) = known.signs
    estimate = Estimate(sign * found.estimate.mean, found.estimate.deviation)
    observed = known.finished[found.observed].number
    if not found.sees_noise and not anywhere:
        return replace(plain, estimate=estimate if observed == best.number else None)
    if found.index is None:
        point = known.space.from_unit(found.unit)
        assert isinstance(point, dict)
        constants = {k: v for k, v in best.parameters.items() if k not in point}
        parameters = {**constants, **decode(point, known.distributions)}
        return Recommended(parameters, None, None, estimate, found.sees_noise, observed)
    trial = known.finished[found.index]
    assert found.value is not None
    return Recommended(trial.params, trial.number, sign * found.value, estimate, found.sees_noise, observed)


def recommended_with_noise(study: optuna.Study, trials: Sequence[TrialRecord]) -> Recommended | None:
    """The recommendation where the record lets one expect noise and the model sees it; None elsewhere.

    Args:
        study: Any study.
        trials: Its trials.
    """
    if len(study.directions) > 1 or not may_be_noisy(trials) or not best_trials(trials, directions_of(study)):
        return None
    found = recommend(study)
    return found if found.sees_noise else None


def may_be_noisy(trials: Sequence[TrialRecord]) -> bool:
    """Whether the record of a study lets one expect noise, so that its model is to be asked for the best trial.

    That is so where a trial says how accurate it is, or where the last fit of betabo's sampler saw noise.
    """
    complete = [trial for trial in trials if trial.is_complete]
    if any(VARIANCE in trial.notes for trial in complete):
        return True
    fits = [trial.diagnostics["noise"] for trial in complete if "noise" in trial.diagnostics]
    if not fits:
        return False
    from betabo.optimizer.noise import SEEN

    return isinstance(fits[-1], int | float) and fits[-1] >= SEEN**2
