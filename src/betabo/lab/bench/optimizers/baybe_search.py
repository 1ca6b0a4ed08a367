"""BayBE with its default recommender."""

from __future__ import annotations

from typing import Any

import numpy as np

from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.peer import PeerSearch, package

_METRIC = "value"


class BaybeSearch(PeerSearch):
    """A `baybe.Campaign` as it comes: one random point, then BoTorch with BayBE's kernel. A failure is left out."""

    def __init__(self) -> None:
        self._baybe = package("baybe")
        self._parameters = package("baybe.parameters")
        self._spaces = package("baybe.searchspace")
        self._targets = package("baybe.targets")
        self._pandas = package("pandas")

    def begin(self) -> None:
        """Describe the space and the objective."""
        space = self._spaces.SearchSpace.from_product(
            [
                self._parameters.NumericalContinuousParameter(name, (low, high))
                for (name, low), high in zip(self.named(self.low).items(), self.high.tolist(), strict=True)
            ]
        )
        target = self._targets.NumericalTarget(_METRIC, minimize=True)
        self._campaign: Any = self._baybe.Campaign(space, target.to_objective())

    def propose(self) -> Point:
        """The recommendation."""
        frame = self._campaign.recommend(batch_size=1)
        return np.array([frame[name].iloc[0] for name in self.named(self.low)], dtype=np.float64)

    def observe(self, point: Point, value: float) -> None:
        """Add the measurement."""
        self._campaign.add_measurements(self._pandas.DataFrame([self.named(point) | {_METRIC: value}]))

    def fail(self, point: Point) -> None:
        """Nothing is learned: BayBE takes no failures."""
