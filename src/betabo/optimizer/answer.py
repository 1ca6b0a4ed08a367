"""The answer of a search: which point is best, and what its value is without noise.

Of many noisy values the lowest is often a lucky one. Where the model sees noise the answer is the evaluated point with
the lowest posterior mean, otherwise the one with the lowest value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from botorch.acquisition.analytic import UpperConfidenceBound

from betabo.acquisition.lean import lean_form
from betabo.acquisition.maximize import maximize
from betabo.optimizer.config import Config
from betabo.optimizer.data import Data, Points
from betabo.optimizer.many import choose
from betabo.optimizer.model import Effort, Output
from betabo.optimizer.noise import is_seen
from betabo.optimizer.threads import few_threads
from betabo.problem import Problem
from betabo.surrogate import FitState

_INCUMBENTS = 5


@dataclass(frozen=True)
class Estimate:
    """What the model believes of a value without noise.

    Attributes:
        mean: Its mean, in the objective's units.
        deviation: Its standard deviation.
    """

    mean: float
    deviation: float


@dataclass(frozen=True)
class Answer:
    """The best point of a search with one objective, of which less is better.

    Attributes:
        unit: The best point, in the unit cube, `d`.
        value: What was measured there, the mean of several values; None where it was not evaluated.
        index: Number of its first value among the data; None where it was not evaluated.
        estimate: What the model believes of it; None without a model.
        sees_noise: Whether the model sees noise, so that its means count and not the values.
        observed: Number of the first value of the point with the lowest value.
        observed_value: That value, the mean of several.
    """

    unit: Points
    value: float | None
    index: int | None
    estimate: Estimate | None
    sees_noise: bool
    observed: int
    observed_value: float


@dataclass(frozen=True)
class Recommendation:
    """The best point of a search, in the user's units and the objective's direction.

    Attributes:
        x: The point.
        value: What was measured there, the mean of several values; None where it was not evaluated.
        estimate: What the model believes of its value without noise; None with fewer than two values.
        sees_noise: Whether the model sees noise: if so `x` has the best mean, otherwise the best value.
    """

    x: Any
    value: float | None
    estimate: Estimate | None
    sees_noise: bool

    @classmethod
    def of(cls, problem: Problem, found: Answer) -> Recommendation:
        """The recommendation of an answer, of which less is better."""
        (sign,) = problem.signs
        estimate = None if found.estimate is None else Estimate(sign * found.estimate.mean, found.estimate.deviation)
        value = None if found.value is None else sign * found.value
        return cls(problem.space.from_unit(found.unit), value, estimate, found.sees_noise)


def answer(
    data: Data,
    config: Config,
    *,
    seed: int = 0,
    states: Sequence[FitState] = (),
    refit: bool = True,
    anywhere: bool = False,
    snap: Callable[[Points], Points] | None = None,
) -> Answer | None:
    """The best point.

    Args:
        data: What is known.
        config: How to model it.
        seed: Seed of the fit.
        states: Hyperparameters of the last fits.
        refit: Whether to fit the model anew; otherwise it has the hyperparameters of the last fit, if there are any.
        anywhere: Whether to look beyond the evaluated points, where the mean is lowest in the whole cube.
        snap: Maps points `n x d` to admissible ones.

    Returns:
        The answer; None where there is no value, or there are several objectives.
    """
    if data.values.ndim > 1 or not len(data.points):
        return None
    firsts, values = pooled(data)
    excess = np.clip(data.constraints, 0, None).sum(axis=1)[firsts]
    observed = int(np.lexsort((values, excess))[0])
    found = Answer(
        data.points[firsts[observed]],
        float(values[observed]),
        int(firsts[observed]),
        None,
        False,
        int(firsts[observed]),
        float(values[observed]),
    )
    if len(data.points) < 2 or not (refit or states):
        return found
    with torch.random.fork_rng(devices=[]), few_threads(len(data.points)):
        state = states[0] if states else None
        effort: Effort = "thorough" if refit else "none"
        part = choose(data).data
        model = Output.fit(part, part.values, config, seed, state, part.variances, effort)
        chosen, sees_noise = observed, is_seen(model.state)
        if sees_noise:
            inside = {point.tobytes() for point in part.points}
            modelled = np.array([i for i, first in enumerate(firsts) if data.points[first].tobytes() in inside])
            means = model.means(torch.from_numpy(data.points[firsts[modelled]])).numpy()
            chosen = int(modelled[np.lexsort((means, excess[modelled]))[0]])
        place = Answer(
            data.points[firsts[chosen]],
            float(values[chosen]),
            int(firsts[chosen]),
            _estimate(model, data.points[firsts[chosen]]),
            sees_noise,
            found.observed,
            found.observed_value,
        )
        return _beyond(model, part, place, seed, snap) if anywhere else place


def pooled(data: Data) -> tuple[npt.NDArray[np.intp], Points]:
    """The number of the first value of each place, in the order of the data, and the mean of its values.

    Values of known accuracy count as much as they are accurate.
    """
    places = data.places
    with np.errstate(divide="ignore"):
        weights = 1 / data.variances
    known = np.isfinite(weights)
    all_known = np.ones(places.max() + 1, dtype=bool)
    np.logical_and.at(all_known, places, known)
    weights = np.where(all_known[places], weights, 1.0)
    values = np.bincount(places, weights * data.values) / np.bincount(places, weights)
    firsts = np.unique(places, return_index=True)[1]
    single = np.bincount(places) == 1
    values[single] = data.values[firsts[single]]  # as it is, without a rounding
    order = np.argsort(firsts)
    return firsts[order], values[order]


def _beyond(model: Output, data: Data, place: Answer, seed: int, snap: Callable[[Points], Points] | None) -> Answer:
    """Where the mean is lowest in the cube."""
    if data.constraints.shape[1]:
        raise ValueError("anywhere is True with constraints, expected False: only evaluated points are known to hold.")
    bottom = lean_form(UpperConfidenceBound(model.process, beta=0.0, maximize=False))
    means = model.means(torch.from_numpy(data.points))
    here = float(model.means(torch.from_numpy(place.unit[None])))
    candidates, _ = maximize(
        bottom,
        torch.from_numpy(data.points)[means.argsort()[:_INCUMBENTS]],
        seed=seed,
        snap=None if snap is None else lambda t: torch.from_numpy(snap(t.numpy())),
    )
    best = candidates[0].numpy()
    if float(model.means(candidates[:1])) >= here:
        return place
    return Answer(best, None, None, _estimate(model, best), place.sees_noise, place.observed, place.observed_value)


def _estimate(model: Output, point: Points) -> Estimate:
    mean, deviation = model.moments(point)
    return Estimate(mean, deviation)
