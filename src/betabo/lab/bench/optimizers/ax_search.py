"""Ax with its default generation strategy, through its `Client`."""

from __future__ import annotations

from typing import Any

import numpy as np

from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.peer import PeerSearch, package

_METRIC = "value"


class AxSearch(PeerSearch):
    """Ax's default strategy.

    Starting points that are given are attached as trials and are all its initialization.

    Args:
        method: `"fast"`, Ax's default, or `"quality"`, a fully Bayesian model that takes much longer.
    """

    def __init__(self, method: str = "fast") -> None:
        if method not in ("fast", "quality"):
            raise ValueError(f"method is {method!r}, expected 'fast' or 'quality'.")
        self._ax = package("ax")
        if method == "quality":
            package("numpyro")  # which its model is fitted with
        self._method = method

    def begin(self) -> None:
        """Configure the experiment."""
        self._client = self._ax.Client(random_seed=self.seed)
        self._client.configure_experiment(
            parameters=[
                self._ax.RangeParameterConfig(name=name, parameter_type="float", bounds=(low, high))
                for (name, low), high in zip(self.named(self.low).items(), self.high.tolist(), strict=True)
            ]
        )
        self._client.configure_optimization(objective=f"-{_METRIC}")
        given: dict[str, Any] = (
            {"initialization_budget": self.starts, "initialize_with_center": False} if self.starts else {}
        )
        self._client.configure_generation_strategy(method=self._method, initialization_random_seed=self.seed, **given)
        self._trial: int | None = None

    def propose(self) -> Point:
        """Parameters of the next trial."""
        ((self._trial, parameters),) = self._client.get_next_trials(max_trials=1).items()
        return np.array([parameters[name] for name in self.named(self.low)])

    def observe(self, point: Point, value: float) -> None:
        """Complete the trial."""
        self._client.complete_trial(self._index(point), raw_data={_METRIC: value})

    def fail(self, point: Point) -> None:
        """The trial has failed."""
        self._client.mark_trial_failed(self._index(point))

    def _index(self, point: Point) -> int:
        """The number of the open trial, attached first if the point is a starting point."""
        if self._trial is not None:
            return self._trial
        return int(self._client.attach_trial(self.named(point)))
