"""The front of several objectives, and the volume that it dominates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Losses = npt.NDArray[np.float64]

MOST_OBJECTIVES = 4
"""Hypervolumes of more objectives take too long to follow over a study."""


def pareto_front(losses: Sequence[Sequence[float]] | Losses) -> list[int]:
    """The rows that no other row dominates; equal rows do not dominate one another.

    Args:
        losses: A row for each point, `n x m`, all to be minimized.

    Returns:
        Indices of the rows, ascending.
    """
    rows = np.asarray(losses, dtype=np.float64)
    front: list[int] = []
    order = sorted(range(len(rows)), key=rows.tolist().__getitem__)
    for index in order:  # in which only an earlier row can dominate
        there = rows[front]
        if not ((there <= rows[index]).all(axis=1) & (there < rows[index]).any(axis=1)).any():
            front.append(index)
    return sorted(front)


def reference_point(losses: Sequence[Sequence[float]] | Losses) -> Losses:
    """A tenth of the range (0.1 where it is zero) beyond the worst finite value of each objective; of shape `m`."""
    rows = np.asarray(losses, dtype=np.float64)
    rows = rows[np.isfinite(rows).all(axis=1)]
    worst, best = rows.max(axis=0), rows.min(axis=0)
    return np.asarray(worst + 0.1 * np.where(worst > best, worst - best, 1.0))


def hypervolumes(losses: Sequence[Sequence[float]] | Losses, reference: Losses) -> list[float]:
    """The volume between the reference point and the front of the first 1, 2, ..., n rows.

    Args:
        losses: A row for each point in order, `n x m`, all to be minimized; rows that are not finite add nothing.
        reference: Of shape `m`.

    Returns:
        A volume for each row, never decreasing.
    """
    import torch
    from botorch.utils.multi_objective.hypervolume import Hypervolume

    rows = np.asarray(losses, dtype=np.float64)
    volume = Hypervolume(torch.from_numpy(-reference))
    front = np.empty((0, rows.shape[1]))
    volumes: list[float] = []
    for row in rows:
        is_new = np.isfinite(row).all() and not (front <= row).all(axis=1).any()
        if is_new:
            front = np.vstack([front[~(row <= front).all(axis=1)], row])
            volumes.append(float(volume.compute(torch.from_numpy(-front))))
        else:
            volumes.append(volumes[-1] if volumes else 0.0)
    return volumes
