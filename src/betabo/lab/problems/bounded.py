"""A test problem: a function of the catalogue, a number of coordinates, a placement of the optimum, noise."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from betabo.lab.problems.catalogue import PROBLEMS
from betabo.lab.problems.optima import listed_optima
from betabo.lab.problems.placement import EPSILON, Placement, place
from betabo.lab.problems.problem import BenchmarkProblem
from betabo.suggestions import did_you_mean


class BoundedProblem(BenchmarkProblem):
    """A function to be minimized on a box that has an optimum at the centre, near a face or near a vertex.

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
    def group(self) -> str:
        """The placement of the optimum."""
        return self.placement

    def description(self) -> dict[str, Any]:
        """See `BenchmarkProblem.description`."""
        return {
            "function": self.function_name,
            "dim": self.dim,
            "placement": self.placement,
            "epsilon": self.epsilon,
        }

    def _evaluate_true(self, X: Tensor) -> Tensor:  # noqa: N803
        return self.function._evaluate_true(X)
