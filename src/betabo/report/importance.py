"""How much of the variation of the prediction each parameter explains, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import qmc, sobol_indices, uniform

from betabo.report.predictions import Array, free_parameters, marks_of, predict

if TYPE_CHECKING:
    from betabo.optuna.model import StudyModel

DRAWS = 64
"""Functions drawn from the model for the intervals."""

_MOST_EVALUATIONS = 20_000  # of the model's median
_MOST_JOINT = 1_600  # points at which a drawn function is known: their covariance is one matrix
_TAIL = 0.05  # of the drawn functions on either side of an interval


@dataclass(frozen=True)
class Importance:
    """Sobol indices of one objective over the whole box, those of the median prediction.

    Attributes:
        objective: Index of the objective.
        parameters: Names, the most important first.
        first: Share of the variance that each explains alone.
        total: The same with all interactions.
        low: Least total index of the prediction and of 90 % of the functions that the model believes in.
        high: The largest one.
    """

    objective: int
    parameters: list[str]
    first: list[float]
    total: list[float]
    low: list[float]
    high: list[float]


def importances(model: StudyModel, seed: int = 0) -> list[Importance]:
    """Sobol indices of the median prediction, for every objective.

    Each parameter is uniform over its range, on a log scale for a log parameter, and each choice is as likely as the
    others. Estimates are clipped to [0, 1], which they leave by their sampling error only.
    """
    names = free_parameters(model)
    objectives = range(model.values.shape[1])
    rng = np.random.default_rng(seed)

    def median(shares: Array) -> Array:
        units = _units(model, names, shares.T)
        return np.concatenate([predict(model, units, (0.5,), objective) for objective in objectives])

    # One scale for all calls: squares of values near 1e200 would overflow, and indices do not depend on the unit.
    scale = np.maximum(np.abs(median(rng.uniform(size=(len(names), 256)))).max(axis=1, keepdims=True), 1e-300)
    if len(names) == 1:  # which explains everything; SciPy expects at least two
        varies = np.ptp(median(np.linspace(0, 1, 257)[None]) / scale, axis=1) > 0
        first = total = varies[:, None].astype(np.float64)
        intervals = [(total[objective], total[objective]) for objective in objectives]
    else:
        affordable = int(np.log2(_MOST_EVALUATIONS / (len(names) + 2)))
        result = sobol_indices(
            func=lambda shares: median(shares) / scale,
            n=2 ** min(max(affordable, 4), 10),
            dists=[uniform()] * len(names),
            rng=rng,
        )
        first = np.atleast_2d(result.first_order).clip(0, 1)
        total = np.atleast_2d(result.total_order).clip(0, 1)
        intervals = [_interval(model, names, objective, total[objective], seed) for objective in objectives]
    found = []
    for objective, (low, high) in zip(objectives, intervals, strict=True):
        order = np.argsort(-total[objective], kind="stable")
        columns = (table[order].tolist() for table in (first[objective], total[objective], low, high))
        found.append(Importance(objective, [names[i] for i in order], *columns))
    return found


def ranking(found: Sequence[Importance]) -> list[str]:
    """Parameters by their largest total index over the objectives, the most important first."""
    largest: dict[str, float] = {}
    for importance in found:
        for name, total in zip(importance.parameters, importance.total, strict=True):
            largest[name] = max(total, largest.get(name, 0.0))
    return sorted(largest, key=lambda name: -largest[name])


def _interval(model: StudyModel, names: Sequence[str], objective: int, total: Array, seed: int) -> tuple[Array, Array]:
    """Where the total indices lie, by Jansen's estimator on functions drawn from the model, and `total` itself."""
    dims = len(names)
    count = 2 ** max(3, min(8, int(np.log2(_MOST_JOINT / (dims + 1)))))
    both = qmc.Sobol(2 * dims, scramble=True, rng=seed).random(count)
    base, other = both[:, :dims], both[:, dims:]
    designs = [base]
    for index in range(dims):
        moved = base.copy()
        moved[:, index] = other[:, index]
        designs.append(moved)
    drawn = model.draws(_units(model, names, np.concatenate(designs)), DRAWS, objective=objective, seed=seed)
    drawn = drawn / max(float(np.abs(drawn).max()), 1e-300)
    start, *changed = np.split(drawn, dims + 1, axis=1)  # each DRAWS x count
    variance = np.maximum(drawn.var(axis=1), 1e-300)
    indices = np.stack([np.square(start - moved).mean(axis=1) / 2 / variance for moved in changed], axis=1).clip(0, 1)
    low, high = np.quantile(indices, [_TAIL, 1 - _TAIL], axis=0)
    return np.minimum(low, total), np.maximum(high, total)


def _units(model: StudyModel, names: Sequence[str], shares: Array) -> Array:
    """Admissible points of the cube, `n x d`, for a share in [0, 1) of each parameter's range, `n x len(names)`."""
    blocks = []
    for column, name in zip(shares.T, names, strict=True):
        parameter = model.space.parameters[name]
        marks = None if getattr(parameter, "log", False) else marks_of(parameter)
        if marks is not None:  # rounding would give the two bounds half the weight of the values between them
            blocks.append(marks[np.minimum((column * len(marks)).astype(int), len(marks) - 1)])
        else:
            blocks.append(column[:, None])
    return model.space.snap(np.hstack(blocks))
