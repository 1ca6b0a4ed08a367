"""Functions that can be moved: their optimum is at a random interior point, on faces, at a vertex, or outside the box.

No reported comparison uses them. The noisy ones have noise on top.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

Array = np.ndarray

# Functions of z, zero at their optimum z = 0, for |z| up to about 5


def ellipsoid(z: Array) -> float:
    """A bowl with axes of very different lengths."""
    return float((100.0 ** np.linspace(0, 1, len(z)) * z**2).sum())


def rotated(z: Array) -> float:
    """The same in directions that are no coordinates."""
    return ellipsoid(_basis(len(z)) @ z)


def _basis(dim: int) -> Array:
    return np.linalg.qr(np.random.default_rng(dim).standard_normal((dim, dim)))[0]


def rastrigin(z: Array) -> float:
    """A bowl with a grid of local optima."""
    return float((0.3 * z**2 + 3 * (1 - np.cos(2 * math.pi * z * 0.4))).sum())


def rosenbrock(z: Array) -> float:
    """A bent valley."""
    x = 0.4 * z + 1
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


def styblinski(z: Array) -> float:
    """Two valleys in each coordinate."""
    x = z - 2.903534
    return float((x**4 - 16 * x**2 + 5 * x).sum() / 2 + 39.166166 * len(z))


def few(z: Array) -> float:
    """Only three coordinates matter, and they interact."""
    return float((z[0] - z[1]) ** 2 + 0.5 * abs(z[1] * z[2]) + z[2] ** 2 + 0.2 * abs(z[0]) ** 1.5)


def turned(z: Array) -> float:
    """A grid of local optima in directions that are no coordinates."""
    return rastrigin(_basis(len(z)) @ z)


def sharp(z: Array) -> float:
    """A funnel with a kink at the optimum."""
    return float(10 * np.sqrt(np.abs(z).mean()) + np.abs(z).sum())


FUNCTIONS: dict[str, Callable[[Array], float]] = {
    function.__name__: function
    for function in (ellipsoid, rotated, rastrigin, rosenbrock, styblinski, few, sharp, turned)
}
PLACEMENTS = ("interior", "face", "faces", "vertex", "outside")
DIMENSIONS = (4, 10, 16)


@dataclass(frozen=True)
class Problem:
    """A function on the unit cube with its optimum somewhere."""

    function: str
    dim: int
    placement: str
    noise: float = 0.0  # standard deviation, as a share of the height of the middle of the starting values

    @property
    def name(self) -> str:
        """Function, dimension and placement."""
        return f"{self.function}{self.noise or ''}-{self.dim}-{self.placement}"

    def optimum(self, seed: int) -> Array:
        """Where z is zero, which may be outside the cube."""
        generator = np.random.default_rng([seed, self.dim, PLACEMENTS.index(self.placement), len(self.function)])
        point = generator.uniform(0.15, 0.85, self.dim)
        chosen = generator.permutation(self.dim)
        side = generator.integers(2, size=self.dim).astype(float)
        count = {"interior": 0, "face": 1, "faces": max(2, self.dim // 3), "vertex": self.dim, "outside": self.dim // 2}
        bounds = chosen[: count[self.placement]]
        beyond = 0.1 if self.placement == "outside" else 0.0
        point[bounds] = side[bounds] + beyond * (2 * side[bounds] - 1)
        return point

    def objective(self, seed: int) -> Callable[[Array], float]:
        """The function of a point of the cube."""
        optimum, function = self.optimum(seed), FUNCTIONS[self.function]
        return lambda u: function(6 * (np.asarray(u) - optimum))

    def best(self, seed: int) -> float:
        """The least value in the cube, by local searches where the optimum is outside."""
        optimum, objective = self.optimum(seed), self.objective(seed)
        if self.placement != "outside":
            return objective(optimum)
        from scipy.optimize import minimize

        generator = np.random.default_rng(0)
        starts = [np.clip(optimum, 0, 1), *generator.random((20, self.dim))]
        found = [minimize(objective, start, bounds=[(0, 1)] * self.dim, method="L-BFGS-B").fun for start in starts]
        return float(min(found))


PROBLEMS = [
    Problem(function, DIMENSIONS[(i + j) % 3], placement)
    for i, function in enumerate(FUNCTIONS)
    for j, placement in enumerate(PLACEMENTS)
]


NOISY = [
    Problem(function, dim, placement, noise)
    for (function, dim, placement), noise in product(
        (("rotated", 4, "faces"), ("few", 10, "interior"), ("styblinski", 4, "face"), ("sharp", 10, "vertex")),
        (0.02, 0.2),
    )
]
