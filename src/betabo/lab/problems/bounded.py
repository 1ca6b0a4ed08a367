"""A test problem: a function of the catalogue, a number of coordinates, a placement of the optimum, noise."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from botorch.test_functions.synthetic import SyntheticTestFunction
from torch import Tensor

from betabo.lab.problems.catalogue import PROBLEMS
from betabo.lab.problems.optima import listed_optima
from betabo.lab.problems.placement import EPSILON, PLACEMENTS, Placement, place
from betabo.suggestions import did_you_mean

_NAME = re.compile(
    rf"(?P<function>[a-z][a-z0-9_]*)-(?P<dim>[0-9]+)-(?P<placement>{'|'.join(PLACEMENTS)})"
    r"(-eps(?P<epsilon>[0-9.]+(e-?[0-9]+)?))?(-noise(?P<noise>[0-9.]+(e-?[0-9]+)?))?"
)


class BoundedProblem(SyntheticTestFunction):
    """A function to be minimized on a box that has an optimum at the centre, near a face or near a vertex.

    It is a BoTorch test function: called with a tensor `... x d` in the function's own units it returns a tensor `...`.
    The optimum that is placed is the first that the function lists.

    Args:
        function: A name in `PROBLEMS`.
        dim: Number of coordinates.
        placement: `"centre"` for the function's usual box; `"face"` and `"vertex"` raise the first lower bound, or
            all, so that the optimum lies at the share `epsilon` of the side.
        epsilon: That share.
        noise_std: Standard deviation of normal noise on the values; None for none.
        negate: Whether the values are negated, for code that maximizes.

    Attributes:
        bounds: The box, `2 x d`.
        optimizers: The listed optima that lie in the box, `k x d`; the first is the one that was placed.
        optimal_value: The value there, with the digits that BoTorch states. They are rounded down, so that
            `f(x) - optimal_value` is never below zero by more than rounding.

    Example:
        >>> problem = BoundedProblem("levy", dim=20, placement="vertex")
        >>> problem.name, problem.unit_optimizers[0, 0].item()
        ('levy-20-vertex', 0.05)
        >>> result = betabo.minimize(problem.objective(), bounds=problem.box, budget=100)
    """

    bounds: Tensor
    optimizers: Tensor
    noise_std: float | None

    def __init__(
        self,
        function: str,
        dim: int,
        placement: Placement = "centre",
        epsilon: float = EPSILON,
        noise_std: float | None = None,
        negate: bool = False,
    ) -> None:
        if function not in PROBLEMS:
            hint = did_you_mean(str(function), PROBLEMS)
            raise ValueError(f"function is {function!r}, expected one of {', '.join(PROBLEMS)}.{hint}")
        if dim < PROBLEMS[function].smallest_dim:
            raise ValueError(f"dim is {dim}, expected at least {PROBLEMS[function].smallest_dim} for {function}.")
        if noise_std is not None and not 0 <= noise_std < math.inf:
            raise ValueError(f"noise_std is {noise_std!r}, expected a number >= 0, or None for no noise.")
        base = PROBLEMS[function].make(dim)
        optima = listed_optima(base)
        usual = [(float(low), float(high)) for low, high in base._bounds]
        box = place(usual, optima[0], placement, epsilon)
        self.dim = dim
        self.continuous_inds = list(range(dim))
        self._optimizers = [
            optimum for optimum in optima if all(low <= x <= high for x, (low, high) in zip(optimum, box, strict=True))
        ]
        self._optimal_value = base._optimal_value
        self._check_grad_at_opt = base._check_grad_at_opt
        super().__init__(noise_std=noise_std or None, negate=negate, bounds=box)
        self.function = base
        self.function_name = function
        self.placement = placement
        self.epsilon = epsilon

    @property
    def name(self) -> str:
        """Name that `problem_by_name` understands, such as `levy-20-vertex` or `levy-20-vertex-noise0.5`."""
        epsilon = "" if self.epsilon == EPSILON else f"-eps{self.epsilon!r}"
        noise = "" if self.noise_std is None else f"-noise{self.noise_std!r}"
        return f"{self.function_name}-{self.dim}-{self.placement}{epsilon}{noise}"

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

    def _evaluate_true(self, X: Tensor) -> Tensor:  # noqa: N803
        return self.function._evaluate_true(X)


def problem_by_name(name: str) -> BoundedProblem:
    """The problem of a name such as `levy-20-vertex`.

    Args:
        name: Function, number of coordinates and placement; then, where they are not the usual ones, `-eps` with
            epsilon and `-noise` with the standard deviation of the noise, as in `levy-20-vertex-eps0.1-noise0.5`.

    Raises:
        ValueError: The name is not made up so, or names no problem.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(
            f"problem is {name!r}, expected function-dim-placement such as 'levy-20-vertex', with a function out of "
            f"{', '.join(PROBLEMS)} and a placement out of {', '.join(PLACEMENTS)}."
        )
    placements = {str(placement): placement for placement in PLACEMENTS}
    try:
        return BoundedProblem(
            match["function"],
            int(match["dim"]),
            placements[match["placement"]],
            epsilon=EPSILON if match["epsilon"] is None else float(match["epsilon"]),
            noise_std=None if match["noise"] is None else float(match["noise"]),
        )
    except ValueError as error:
        raise ValueError(f"problem {name!r}: {error}") from error
