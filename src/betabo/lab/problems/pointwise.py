"""A problem that is evaluated one point at a time, such as training a model or simulating a landing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from botorch.test_functions.synthetic import SyntheticTestFunction
from torch import Tensor

from betabo.extras import needs_extra


@dataclass(frozen=True)
class Coordinate:
    """A parameter of a problem.

    Attributes:
        name: What it is, with its unit.
        low: Lower bound.
        high: Upper bound.
        best: Where the best point known has it.
    """

    name: str
    low: float
    high: float
    best: float


class Pointwise(SyntheticTestFunction):
    """A function of a fixed number of parameters, computed in NumPy.

    A subclass gives `coordinates` and `best_value`. `examples/best_known.py` is the search that found those which no
    literature states.

    Args:
        dim: Number of coordinates, which has to be that of the problem.
    """

    coordinates: ClassVar[tuple[Coordinate, ...]]
    """The parameters in their order."""

    best_value: ClassVar[float]
    """The lowest value known, rounded down."""

    _check_grad_at_opt = False

    def __init__(self, dim: int) -> None:
        if dim != len(self.coordinates):
            raise ValueError(
                f"dim is {dim}, expected {len(self.coordinates)}, the parameters of this problem: "
                f"{'; '.join(coordinate.name for coordinate in self.coordinates)}."
            )
        self.dim = dim
        self.continuous_inds = list(range(dim))
        self._bounds = [(coordinate.low, coordinate.high) for coordinate in self.coordinates]
        self._optimizers = [tuple(coordinate.best for coordinate in self.coordinates)]
        self._optimal_value = self.best_value
        super().__init__()

    @abstractmethod
    def value(self, x: npt.NDArray[np.float64]) -> float:
        """The value at a point of `d` numbers in the problem's own units."""

    def _evaluate_true(self, X: Tensor) -> Tensor:  # noqa: N803
        return evaluate_pointwise(self.value, X)


def evaluate_pointwise(function: Callable[[npt.NDArray[np.float64]], float], points: Tensor) -> Tensor:
    """Values `...` of a function of one NumPy point at `points`, `... x d`."""
    values: Tensor = points.new_tensor(
        [function(point) for point in points.detach().reshape(-1, points.shape[-1]).cpu().numpy()]
    )
    return values.reshape(points.shape[:-1])


def require(module: str, problem: str, extra: str = "problems") -> Any:
    """Import a package that a problem needs, or say how to install it."""
    package = module.split(".")[0]
    with needs_extra(extra, f"the problem {problem} needs {package}"):
        return import_module(module)
