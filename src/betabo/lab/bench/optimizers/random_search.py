"""Uniform random points: what every optimizer has to beat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from betabo.lab.bench.optimizers.adapter import OptimizerAdapter, Point


class RandomSearch(OptimizerAdapter):
    """Asks for the starting points and then for independent uniform points of the box."""

    def start(self, bounds: Sequence[tuple[float, float]], starting_points: Point, seed: int) -> None:
        """Begin a search, see `OptimizerAdapter.start`."""
        self._low, self._high = np.array(bounds, dtype=np.float64).T
        self._waiting: list[Point] = list(starting_points)
        self._generator = np.random.default_rng(seed)

    def ask(self) -> Point:
        """The next point."""
        if self._waiting:
            return self._waiting.pop(0)
        return np.asarray(self._generator.uniform(self._low, self._high))

    def tell(self, point: Point, value: float) -> None:
        """Nothing is learned from a value."""
