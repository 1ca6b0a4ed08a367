"""How much is still to be gained: draws of the lowest value that the box may hold, from the model of a search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from botorch.posteriors.gpytorch import GPyTorchPosterior
from scipy.special import expit, logit
from torch import Tensor

from betabo.acquisition.lean import lean_form
from betabo.acquisition.maximize import maximize
from betabo.optimizer.config import Config
from betabo.optimizer.core import Snap, mix_seeds
from betabo.optimizer.data import Data, Points
from betabo.optimizer.many import choose
from betabo.optimizer.model import Output, Surrogate
from betabo.optimizer.threads import few_threads
from betabo.surrogate import FitState

DRAWS = 256
_INCUMBENTS = 5  # best points around which the lowest values of draws are looked for

CALIBRATION = (-0.06, 0.31)
"""Intercept and slope that turn the model's log odds into those that were observed, see `benchmarks/outlook.py`."""


@dataclass(frozen=True)
class RemainingGain:
    """What the model believes is still to be gained in the box.

    Attributes:
        draws: How much lower than the best value the objective goes somewhere, `n` draws in its own units, ascending.
            None of them is negative.
        best: The best value so far.
    """

    draws: Points
    best: float

    def raw_probability(self, gain: float) -> float:
        """The share of the draws that gain more, kept off 0 and 1 by half a draw."""
        return (float((self.draws > gain).sum()) + 0.5) / (len(self.draws) + 1)

    def probability(self, gain: float) -> float:
        """The calibrated chance that more than `gain` is still to be gained."""
        intercept, slope = CALIBRATION
        return float(expit(intercept + slope * logit(self.raw_probability(gain))))

    def bound(self, confidence: float = 0.8) -> float:
        """The gain that is exceeded with a chance of at most `1 - confidence`; infinite if no draw is that large."""
        for draw in self.draws.tolist():
            if self.probability(draw) <= 1 - confidence:
                return float(draw)
        return math.inf


def remaining_gain(
    data: Data, config: Config, *, seed: int = 0, states: Sequence[FitState] = (), snap: Snap | None = None
) -> RemainingGain:
    """Draw from the model how much lower the objective may go than at the best point known.

    A draw is a function that agrees with the data: jointly normal values at the points where its lowest value may be,
    which are those of `betabo.acquisition.maximize`. The gain is the difference of its value at the best point and of
    its lowest value; with constraints, of its lowest value where its constraints hold.

    Args:
        data: What is known; one objective.
        config: How it is modelled.
        seed: Seed of the draws.
        states: Hyperparameters of the last fits.
        snap: Maps points `n x d` to admissible ones, for discrete parameters.

    Raises:
        ValueError: There are several objectives, or fewer than two values.
    """
    if data.values.ndim > 1:
        raise ValueError(
            f"there are {data.values.shape[1]} objectives, expected one: what is to be gained is a number."
        )
    if len(data.values) < 2:
        raise ValueError(f"there are {len(data.values)} values, expected at least 2 for a model.")
    data = choose(data).data
    outputs = 1 + data.constraints.shape[1]
    seed = mix_seeds(seed, len(data.values))
    with torch.random.fork_rng(devices=[]), few_threads(len(data.points)), torch.no_grad():
        torch.manual_seed(seed)
        with torch.enable_grad():
            surrogate = Surrogate.fit(data, config, seed, tuple(states[:outputs]))
            incumbents = surrogate.incumbents(data, _INCUMBENTS)
            points, _ = maximize(
                lean_form(surrogate.acquisition(data, torch.from_numpy(data.pending), Config(), seed)),
                incumbents,
                seed=seed,
                snap=None if snap is None else lambda t: torch.from_numpy(snap(t.numpy())),
            )
        (objective,), constraints = surrogate.objectives, surrogate.constraints
        best = incumbents[:1] if constraints else data_best(objective, data)
        places = torch.cat([best, torch.unique(points, dim=0)])
        generator = torch.Generator().manual_seed(seed)
        drawn = objective.process.draw(places, DRAWS, generator)
        allowed = torch.ones_like(drawn, dtype=torch.bool)
        for output in constraints:
            threshold = float(output.transform([0.0])[0])
            allowed &= output.process.draw(places, DRAWS, generator) <= threshold
    lowest = torch.where(allowed, drawn, torch.inf).amin(dim=1)
    return _in_units(objective, drawn[:, 0], lowest, data, bool(constraints))


def data_best(objective: Output, data: Data) -> Tensor:
    """The point of the data, `1 x d`, that the model believes to be the best, which with noise may be another one."""
    x = objective.process.x[: len(data.points)]
    mean = cast("GPyTorchPosterior", objective.process.posterior(x.unsqueeze(-2))).mean.flatten()
    return x[mean.argmin()][None]


def _in_units(objective: Output, here: Tensor, lowest: Tensor, data: Data, constrained: bool) -> RemainingGain:
    """Gains of the draws in the objective's own units."""
    feasible = (data.constraints <= 0).all(axis=1) if constrained else np.ones(len(data.values), dtype=bool)
    if not feasible.any():  # whatever holds its constraints gains everything
        return RemainingGain(np.full(len(here), np.inf), math.inf)
    values = [objective.in_own_units(drawn.clamp_max(1e6).numpy()) for drawn in (here, lowest)]
    gains = np.where(np.isfinite(lowest.numpy()), values[0] - values[1], 0.0)
    return RemainingGain(np.sort(np.maximum(gains, 0.0)), float(data.values[feasible].min()))
