"""What all test problems share: a box, a known optimum, the unit cube, and what kind of problem it is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from botorch.test_functions.synthetic import SyntheticTestFunction
from torch import Tensor

NEAR_FACE = 0.05
"""An optimum is near a face if a coordinate of it is within this share of the side from a bound."""

_ROUNDING = 1e-9  # in shares of the side


class BenchmarkProblem(SyntheticTestFunction):
    """A function to be minimized on a box, with a known optimum.

    It is a BoTorch test function: called with a tensor `... x d` in the function's own units it returns a tensor `...`.

    Attributes:
        dim: Number of coordinates, d.
        bounds: The box, `2 x d`.
        optimizers: Known optima, `k x d`.
        optimal_value: The value there.
        noise_std: Standard deviation of normal noise on the values; None for none.
    """

    bounds: Tensor
    optimizers: Tensor
    noise_std: float | None

    @property
    @abstractmethod
    def name(self) -> str:
        """Name that `problem_by_name` understands."""

    @property
    @abstractmethod
    def group(self) -> str:
        """What kind of problem it is; results are reported group by group."""

    @abstractmethod
    def description(self) -> dict[str, Any]:
        """What the record of a run says about the problem, JSON-able: at least `function`, `dim` and `placement`."""

    @property
    def near_face(self) -> bool:
        """Whether the first optimum has a coordinate within `NEAR_FACE` of the side from a bound."""
        unit = self.unit_optimizers[0]
        return bool(torch.minimum(unit, 1 - unit).min() <= NEAR_FACE + _ROUNDING)

    @property
    def box(self) -> list[tuple[float, float]]:
        """The bounds as `d` pairs (low, high), as `betabo.minimize` takes them."""
        return [(low, high) for low, high in self.bounds.T.tolist()]

    @property
    def unit_optimizers(self) -> Tensor:
        """The listed optima in the unit cube, `k x d`."""
        return self.to_unit(self.optimizers)

    def to_unit(self, x: Tensor) -> Tensor:
        """Points `... x d` in the function's own units as points of the unit cube."""
        low, high = self.bounds
        unit: Tensor = (x - low) / (high - low)
        return unit.clamp(0, 1)

    def from_unit(self, u: Tensor) -> Tensor:
        """Points `... x d` of the unit cube in the function's own units, never outside the box."""
        low, high = self.bounds
        return torch.lerp(low, high, u).clamp(low, high)

    def evaluate_unit(self, u: Tensor, noise: bool = True) -> Tensor:
        """Values `...` at points `... x d` of the unit cube."""
        if not ((u >= 0) & (u <= 1)).all():
            raise ValueError("a point has coordinates outside [0, 1], expected points of the unit cube.")
        values: Tensor = self(self.from_unit(u), noise=noise)
        return values

    def objective(self, seed: int | None = None) -> Callable[[npt.ArrayLike], float]:
        """The function to be minimized, of one point of `d` numbers in its own units.

        Args:
            seed: Seed of the noise; None draws one. Each call of the function takes the next number of its stream.
        """
        generator = np.random.default_rng(seed)
        deviation = self.noise_std or 0.0

        def objective(x: npt.ArrayLike) -> float:
            point = torch.as_tensor(np.asarray(x, dtype=np.float64))
            if point.shape != (self.dim,):
                raise ValueError(f"the point has shape {tuple(point.shape)}, expected ({self.dim},).")
            return float(self.evaluate_true(point)) + deviation * generator.standard_normal()

        return objective
