"""Random vertices of the box: what a problem whose optimum is at a corner gives away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from betabo.lab.bench.optimizers.adapter import OptimizerAdapter, Point


class CornerSearch(OptimizerAdapter):
    """Asks for the starting points and then for independent random vertices of the box."""

    def start(self, bounds: Sequence[tuple[float, float]], starting_points: Point, seed: int) -> None:
        """Begin a search, see `OptimizerAdapter.start`."""
        self._bounds = np.array(bounds, dtype=np.float64).T
        self._waiting: list[Point] = list(starting_points)
        self._generator = np.random.default_rng(seed)

    def ask(self) -> Point:
        """The next point."""
        if self._waiting:
            return self._waiting.pop(0)
        sides = self._generator.integers(2, size=self._bounds.shape[1])
        return np.asarray(np.where(sides, self._bounds[1], self._bounds[0]))

    def tell(self, point: Point, value: float) -> None:
        """Nothing is learned from a value."""
