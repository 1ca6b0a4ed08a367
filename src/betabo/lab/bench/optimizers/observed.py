"""The points and values to which an adapter fits a model of its own."""

from __future__ import annotations

import torch
from torch import Tensor

from betabo.lab.bench.optimizers.adapter import Point


class Observed:
    """Points of the unit cube and their values. A failure counts as the highest value known."""

    def __init__(self) -> None:
        self._points: list[Point] = []
        self._values: list[float] = []

    def add(self, unit: Point, value: float) -> None:
        """One more point; a value that is not finite is a failure."""
        self._points.append(unit)
        self._values.append(value)

    @property
    def empty(self) -> bool:
        """Whether there is no value yet."""
        return not torch.tensor(self._values).isfinite().any()

    def tensors(self) -> tuple[Tensor, Tensor]:
        """All points, `n x d`, and their values, `n`."""
        values = torch.tensor(self._values, dtype=torch.float64)
        finite = values.isfinite()
        points = torch.stack([torch.from_numpy(point) for point in self._points])
        return points, torch.where(finite, values, values[finite].max())
