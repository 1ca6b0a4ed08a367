"""CMA-ES of the package pycma."""

from __future__ import annotations

from typing import Any

import numpy as np

from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.peer import PeerSearch, package


class PycmaSearch(PeerSearch):
    """`cma.CMAEvolutionStrategy` in the unit cube, started at the best starting point, or a random one.

    A strategy that has converged is followed by one with twice the population from a random point. A failed point is
    replaced by another one of the same generation, as pycma does with NaN.

    Args:
        sigma: First step size, in sides of the box; pycma's advice is a quarter to a third.
    """

    def __init__(self, sigma: float = 0.25) -> None:
        if not sigma > 0:
            raise ValueError(f"sigma is {sigma}, expected a number > 0: the first step size, in sides of the box.")
        self._cma = package("cma")
        self._sigma = sigma

    def begin(self) -> None:
        """The strategy is made when the starting points have values."""
        self._generator = np.random.default_rng(self.seed)
        first = np.full(len(self.low), 0.5) if self.starts else self._generator.random(len(self.low))
        self._best: tuple[float, Point] = np.inf, first
        self._strategy: Any = None
        self._asked: list[Any] = []
        self._told: list[tuple[Any, float]] = []

    def propose(self) -> Point:
        """The next point of the generation."""
        if self._strategy is None:
            self._set_out(self._best[1])
        if not self._asked:
            if self._strategy.stop():
                self._set_out(self._generator.random(len(self.low)), popsize=2 * self._strategy.popsize)
            self._asked = self._strategy.ask()
        return self.from_unit(self._asked[0])

    def observe(self, point: Point, value: float) -> None:
        """Take note, and tell the strategy when its generation is complete."""
        if self._strategy is None:
            self._best = min(self._best, (value, self.to_unit(point)), key=lambda pair: pair[0])
            return
        self._told.append((self._asked.pop(0), value))
        if not self._asked:
            points, values = zip(*self._told, strict=True)
            self._strategy.tell(list(points), list(values))
            self._told = []

    def fail(self, point: Point) -> None:
        """Replace the point by another one."""
        del point
        if self._strategy is not None:
            self._asked[0] = self._strategy.ask(1)[0]

    def _set_out(self, mean: Point, **options: Any) -> None:
        settings = {
            "bounds": [0, 1],
            "verbose": -9,
            "seed": np.nan,  # leaves NumPy's global generator alone
            "randn": lambda *shape: self._generator.standard_normal(shape),
        }
        self._strategy = self._cma.CMAEvolutionStrategy(mean, self._sigma, settings | options)
