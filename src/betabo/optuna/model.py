"""The model of a study, to look at: predictions in the study's own units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt
import optuna
from optuna.distributions import BaseDistribution

from betabo.optimizer.config import Config
from betabo.optimizer.data import Points
from betabo.optimizer.many import choose
from betabo.optimizer.model import Surrogate
from betabo.optuna.box import present_box
from betabo.optuna.space import from_distributions, reachable
from betabo.optuna.study_data import StudyData
from betabo.space import Space


@dataclass(frozen=True)
class StudyModel:
    """A Gaussian process for each objective and constraint of a study.

    Attributes:
        study_data: The trials that it was fitted to.
        surrogate: The fitted processes, in the unit cube and of transformed values of which less is better.
    """

    study_data: StudyData
    surrogate: Surrogate

    @property
    def space(self) -> Space:
        """The search space; a categorical parameter is over the positions of its choices."""
        return self.study_data.space

    @property
    def distributions(self) -> Mapping[str, BaseDistribution]:
        """The search space as Optuna's distributions."""
        return self.study_data.distributions

    @property
    def units(self) -> Points:
        """Points of the unit cube that the model was fitted to, `n x d`."""
        return self.study_data.data.points

    @property
    def values(self) -> Points:
        """Their values in the study's own units, `n x m`."""
        return self.study_data.data.objectives * self.study_data.signs

    @property
    def diagnostics(self) -> dict[str, Any]:
        """Bandwidths, boundary weight, length scales, noise, and how the fit went."""
        return self.surrogate.diagnostics()

    def quantiles(self, units: npt.ArrayLike, probabilities: Sequence[float], objective: int = 0) -> Points:
        """Quantiles of an objective, without noise, in the study's own units.

        Args:
            units: Points of the unit cube, `n x d`.
            probabilities: Numbers between 0 and 1, `k` of them.
            objective: Which objective.

        Returns:
            An array `k x n`.
        """
        output = self.surrogate.objectives[objective]
        if self.study_data.signs[objective] > 0:
            return output.quantiles(units, probabilities)
        return -output.quantiles(units, [1 - p for p in probabilities])

    def leave_one_out(self, probabilities: Sequence[float], objective: int = 0) -> Points:
        """Quantiles of the values of the finished trials, noise included, each as if that trial were not known.

        Args:
            probabilities: Numbers between 0 and 1, `k` of them.
            objective: Which objective.

        Returns:
            An array `k x n` in the study's own units, with a column for each row of `units`.
        """
        output, count = self.surrogate.objectives[objective], len(self.units)
        if self.study_data.signs[objective] > 0:
            return output.leave_one_out(probabilities)[:, :count]
        return -output.leave_one_out([1 - p for p in probabilities])[:, :count]

    def draws(self, units: npt.ArrayLike, count: int, objective: int = 0, seed: int = 0) -> Points:
        """Functions that the model believes in, at points of the unit cube `n x d`: an array `count x n`."""
        sign = self.study_data.signs[objective]
        return np.asarray(sign * self.surrogate.objectives[objective].draws(units, count, seed))


def known_data(study: optuna.Study, config: Config, pruned: bool = True) -> StudyData:
    """The trials of a study as the model of `fit_study` sees them, or without those that were pruned.

    Raises:
        ValueError: If there are fewer than two finished trials, or they have no parameter in common.
    """
    trials = study.get_trials(deepcopy=False)
    trials = [trial for trial in trials if pruned or trial.state != optuna.trial.TrialState.PRUNED]
    found, conditions = present_box(study, trials)
    distributions, conditions = reachable(found, conditions)
    if not distributions:
        raise ValueError(f"study {study.study_name!r} has no parameter that all its finished trials share.")
    space = from_distributions(distributions, conditions)
    known = StudyData.of(trials, distributions, study.directions, space=space, noise=config.noise)
    if len(known.finished) < 2:
        raise ValueError(
            f"study {study.study_name!r} has {len(known.finished)} finished trials, expected at least 2 for a model."
        )
    return known


def fit_study(study: optuna.Study, config: Config | None = None, seed: int = 0) -> StudyModel:
    """Fit the model to a study, whatever sampler made it; to a choice of its trials where they are very many.

    Args:
        study: An Optuna study.
        config: Kernel, noise and so on; None takes the defaults.
        seed: Seed of the fit.

    Raises:
        ValueError: If there are fewer than two finished trials, or they have no parameter in common.
    """
    config = Config() if config is None else config
    known = known_data(study, config)
    choice = choose(known.data)
    if choice.chosen is not None:
        known = replace(known, finished=tuple(compress(known.finished, choice.chosen)))
    known = replace(known, data=choice.data)
    return StudyModel(known, Surrogate.fit(known.data, config, seed))
