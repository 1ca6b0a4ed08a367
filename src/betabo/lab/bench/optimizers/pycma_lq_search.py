"""lq-CMA-ES of the package pycma: CMA-ES with a linear or quadratic surrogate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.inverted import InvertedSearch
from betabo.lab.bench.optimizers.peer import package


class PycmaLqSearch(InvertedSearch):
    """`cma.fmin_lq_surr` in the unit cube, with a quarter of the side as its first step size."""

    def __init__(self) -> None:
        self._cma = package("cma")

    def minimize(self, function: Callable[[Any], float], start: Point) -> None:
        """Search until CMA-ES has converged."""
        options = {
            "bounds": [0, 1],
            "verbose": -9,
            "seed": np.nan,  # leaves NumPy's global generator alone
            "randn": lambda *shape: self._generator.standard_normal(shape),
        }
        self._cma.fmin_lq_surr(
            lambda unit: function(self.from_unit(np.asarray(unit))), self.to_unit(start), 0.25, options
        )
