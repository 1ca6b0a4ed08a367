"""How well the model predicts: each trial by the others, beside what was observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import spearmanr

from betabo.report.predictions import LEVELS, Array

if TYPE_CHECKING:
    from betabo.optuna.model import StudyModel

_FEWEST = 4  # trials of which one can be left out
_POOR = 0.5  # rank correlation below which good and bad trials are hardly told apart
_FEW = 5  # trials for each parameter below which the order of the parameters may be chance


@dataclass(frozen=True)
class Goodness:
    """The trials of one objective, each predicted from the others with the hyperparameters of all.

    Attributes:
        objective: Index of the objective.
        trials: Numbers of the trials, `n`.
        observed: Their values, `n`.
        predicted: `len(LEVELS) x n` quantiles of the prediction, noise included.
    """

    objective: int
    trials: list[int]
    observed: Array
    predicted: Array

    @property
    def covered(self) -> int:
        """How many values lie in the interval of nine tenths of the probability."""
        return int(((self.predicted[0] <= self.observed) & (self.observed <= self.predicted[-1])).sum())

    @property
    def correlation(self) -> float | None:
        """Rank correlation of observed values and predicted medians; None where all of either are equal."""
        median = self.predicted[len(LEVELS) // 2]
        if np.ptp(median) == 0 or np.ptp(self.observed) == 0:
            return None
        return float(spearmanr(self.observed, median).statistic)

    @property
    def is_poor(self) -> bool:
        """Whether the model hardly tells good trials from bad ones."""
        return self.correlation is None or self.correlation < _POOR

    def verdict(self) -> str:
        """What the figure shows, in a sentence or two."""
        count = len(self.observed)
        said = f"{self.covered} of {count} values ({self.covered / count:.0%}) lie in their 90 % interval"
        if self.correlation is None:
            return f"{said}. All predictions are alike: the model tells no trial from another."
        said += f"; the rank correlation of observed and predicted values is {self.correlation:.2f}."
        return said + (" The model can hardly tell good trials from bad ones." if self.is_poor else "")


def leave_one_out(model: StudyModel) -> list[Goodness]:
    """Every trial of the model predicted from the others, for each objective; empty with too few trials."""
    if len(model.units) < _FEWEST:
        return []
    trials = [trial.number for trial in model.study_data.finished]
    return [
        Goodness(objective, trials, column, np.asarray(model.leave_one_out(LEVELS, objective=objective)))
        for objective, column in enumerate(model.values.T)
    ]


def doubts(count: int, parameters: int, found: list[Goodness]) -> str:
    """Why what is said of the parameters may be chance; empty if there is no particular reason.

    Args:
        count: Number of trials that the model knows.
        parameters: Number of parameters.
        found: How well it predicts each objective.
    """
    reasons = []
    if count < _FEW * parameters:
        reasons.append(f"The model knows {count} trials of {parameters} parameters, which is few.")
    if any(goodness.is_poor for goodness in found):
        reasons.append("It can hardly tell good trials from bad ones.")
    return " ".join(
        [*reasons, "Take the order of the parameters as a hint, and look at the intervals."] if reasons else []
    )
