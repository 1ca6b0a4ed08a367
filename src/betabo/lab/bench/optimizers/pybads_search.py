"""PyBADS: Bayesian adaptive direct search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.inverted import InvertedSearch
from betabo.lab.bench.optimizers.peer import package


class PybadsSearch(InvertedSearch):
    """`pybads.BADS` with its own settings, again from a random point when it has converged.

    It finds out by itself whether values have noise, and evaluates its first point twice for that.
    """

    def __init__(self) -> None:
        self._pybads = package("pybads")

    def minimize(self, function: Callable[[Any], float], start: Point) -> None:
        """Search until BADS has converged or used up its own budget of 500 evaluations a coordinate."""
        options = {"display": "off", "random_seed": int(self._generator.integers(2**31 - 1))}
        self._pybads.BADS(function, start, self.low, self.high, options=options).optimize()
