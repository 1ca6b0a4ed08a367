"""Which of many evaluations a model of the whole cube is conditioned on.

The time of an exact process grows with the cube of the number of its data, and its memory with the square. Beyond some
number more data far from anything of interest tell next to nothing. So all data count up to `most_points`, and beyond
it a choice of them does: the best ones, those around the best ones, and an even choice of the rest. Where a step then
wants to go, the data next to it are added (`near`), so that no point is evaluated because its neighbours were left
out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from botorch.utils.multi_objective.pareto import is_non_dominated

from betabo.optimizer.data import Data, Points

Indices = npt.NDArray[np.int64]

_MOST, _LEAST = 1000, 200  # data of a model, in few coordinates and in very many
_WORK = 4e7  # pairs of data times coordinates that a model is given
_CENTRES = 5  # best points around which all is kept
_GOLDEN = (math.sqrt(5) - 1) / 2  # multiples of it modulo 1 are even however many are taken
_BLOCK = 2**21  # numbers of a difference of points at a time


def most_points(dims: int) -> int:
    """Number of data up to which a model is conditioned on all of them.

    Args:
        dims: Number of coordinates.
    """
    return int(min(_MOST, max(_LEAST, math.sqrt(_WORK / dims))))


@dataclass(frozen=True)
class Choice:
    """What a model of the whole cube is conditioned on.

    Attributes:
        data: The data, or some of them.
        others: The evaluations that were left out.
        chosen: Which of the evaluations were not; None where all are there.
    """

    data: Data
    others: Data | None = None
    chosen: npt.NDArray[np.bool_] | None = None


def choose(data: Data) -> Choice:
    """All data, or a choice of them where they are too many.

    A quarter are the best ones, a quarter the nearest to the very best, and the rest is spread evenly over the record:
    an evaluation that was chosen stays so while others come, until one of them takes its place.
    """
    most, count = most_points(data.dims), len(data.points)
    if count + len(data.failed) <= most:
        return Choice(data)
    data = replace(data, failed=data.failed[_even(np.arange(len(data.failed)), most // 4)])
    most -= len(data.failed)
    if count <= most:
        return Choice(data)
    order = _best_first(data)
    chosen = np.zeros(count, dtype=bool)
    chosen[order[: most // 4]] = True
    chosen[_nearest(data.points, data.points[order[:_CENTRES]], most // (4 * _CENTRES))] = True
    rest = np.flatnonzero(~chosen)
    chosen[_even(rest, most - int(chosen.sum()))] = True
    return Choice(data.part(chosen), data.part(~chosen), chosen)


def near(data: Data, centres: Points, count: int) -> Data:
    """The evaluations that are nearest to some points, each once.

    Args:
        data: What is known.
        centres: Points of the unit cube, `k x d`.
        count: How many for each of them.
    """
    return data.part(_nearest(data.points, centres, count))


def _best_first(data: Data) -> Indices:
    """All evaluations: feasible before others, of several objectives the front before others, then by their values."""
    violation = np.maximum(data.constraints, 0).sum(axis=1)
    ranks = data.objectives.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable").mean(axis=1)
    behind = np.zeros(len(ranks), dtype=bool)
    if data.objectives.shape[1] > 1:
        behind = ~is_non_dominated(torch.from_numpy(-data.objectives), deduplicate=False).numpy()
    order: Indices = np.lexsort((ranks, behind & (violation == 0), violation))  # by the last first
    return order


def _nearest(points: Points, centres: Points, count: int) -> Indices:
    found = [np.argsort(np.square(points - centre).sum(axis=1), kind="stable")[:count] for centre in centres]
    return np.unique(np.concatenate(found))


def _even(numbers: Indices, count: int) -> Indices:
    """At most `count` of the numbers, evenly; a larger choice contains a smaller one."""
    return numbers[np.argsort(numbers * _GOLDEN % 1, kind="stable")[: max(count, 0)]]


def distance_to(points: Points, others: Points) -> Points:
    """Distance of each point to the nearest of others, in the coordinate in which they differ most, `n`.

    Args:
        points: Points, `n x d`.
        others: Points, `m x d`; without any the distance is infinite.
    """
    rows = max(1, _BLOCK // max(others.size, 1))
    blocks = [
        np.abs(points[i : i + rows, None] - others).max(axis=-1).min(axis=-1, initial=np.inf)
        for i in range(0, len(points), rows)
    ]
    return np.concatenate(blocks) if blocks else np.empty(0)
