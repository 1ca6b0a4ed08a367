"""betabo's own optimizer, with any kernel and acquisition function of its catalogues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from betabo.lab.bench.optimizers.adapter import OptimizerAdapter, Point
from betabo.optimizer import Config, Optimizer


class BetaboSearch(OptimizerAdapter):
    """`betabo.Optimizer` with given settings.

    Args:
        config: The settings; their number of starting points is replaced by that of the campaign, if it has any.
    """

    def __init__(self, config: Config) -> None:
        self._config = config

    def start(self, bounds: Sequence[tuple[float, float]], starting_points: Point, seed: int) -> None:
        """Begin a search, see `OptimizerAdapter.start`."""
        if len(starting_points):
            config = replace(self._config, starting_points=len(starting_points))
            self._optimizer = Optimizer(list(bounds), seed=seed, initial=starting_points, config=config)
        else:
            self._optimizer = Optimizer(list(bounds), seed=seed, config=self._config)

    def ask(self) -> Point:
        """The next point."""
        return np.asarray(self._optimizer.ask(), dtype=np.float64)

    def tell(self, point: Point, value: float) -> None:
        """Take note of a value."""
        self._optimizer.tell(point, value)

    def answer(self) -> Point:
        """The best point by the model's mean where it sees noise, by the lowest value otherwise."""
        return np.asarray(self._optimizer.recommend().x, dtype=np.float64)

    def diagnostics(self) -> dict[str, Any]:
        """Figures of the last step, see `OptimizerAdapter.diagnostics`."""
        return self._optimizer.history[-1].diagnostics if self._optimizer.history else {}
