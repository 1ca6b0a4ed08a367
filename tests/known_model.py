"""A model of a study whose predictions are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.stats import norm

from betabo.optuna.space import from_distributions

CUBE = {name: FloatDistribution(0, 1) for name in "abc"}
MIXED: dict[str, BaseDistribution] = {
    "act": CategoricalDistribution(["relu", "tanh", None]),
    "n": IntDistribution(1, 3),
    "rate": FloatDistribution(1e-4, 1, log=True),
    "step": FloatDistribution(0, 1, step=0.25),
}


class KnownModel:
    """Predicts a known function of the cube, with a known standard deviation."""

    def __init__(
        self,
        distributions: Mapping[str, BaseDistribution],
        means: Sequence[Callable[[Any], Any]],
        deviation: float = 0.1,
    ) -> None:
        self.distributions = dict(distributions)
        self.space = from_distributions(distributions)
        self.means, self.deviation = means, deviation
        self.units = np.zeros((3, self.space.dims))
        self.values = np.zeros((3, len(means)))
        self.diagnostics: dict[str, Any] = {}

    def quantiles(self, units: Any, probabilities: Sequence[float], objective: int = 0) -> Any:
        mean = self.means[objective](np.asarray(units))
        return mean + self.deviation * norm.ppf(probabilities)[:, None]

    def draws(self, units: Any, count: int, objective: int = 0, seed: int = 0) -> Any:
        """The known function `count` times, each with noise of its own that is the same everywhere."""
        noise = np.random.default_rng(seed).standard_normal((count, 1))
        return self.means[objective](np.asarray(units)) + self.deviation * noise


def ishigami(u: Any) -> Any:
    x = np.pi * (2 * u - 1)
    return np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])
