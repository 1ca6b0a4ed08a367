"""COBYQA of SciPy: quadratic models in a trust region."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy.optimize import Bounds, minimize

from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.inverted import InvertedSearch


class CobyqaSearch(InvertedSearch):
    """`scipy.optimize.minimize(method="COBYQA")` from random points, or from the best starting point first.

    Args:
        scale: SciPy's option of this name. Without it, as SciPy has it, the first trust region has the radius 1 in the
            problem's units, a tenth of the side of BBOB's box; with it half of the side, whatever the units.
    """

    def __init__(self, scale: bool = False) -> None:
        self._options = {"scale": scale}

    def minimize(self, function: Callable[[Any], float], start: Point) -> None:
        """Search until the trust region is small."""
        minimize(function, start, method="COBYQA", bounds=Bounds(self.low, self.high), options=self._options)
