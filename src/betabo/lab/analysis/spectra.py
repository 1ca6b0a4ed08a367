r"""Spectra of kernels on the unit cube, and how fast they decay.

Two spectra are of interest. That of kernel *matrices* on random points is what a Gaussian process works with; with `n`
points it has `n` eigenvalues, and its tail belongs to the points rather than to the kernel. That of the *integral
operator* belongs to the kernel alone. Divided by `n`, the first tends to the second.

A model of the decay is a straight line in a power of the rank,

.. math:: \ln\lambda_m = a - c\, t_\beta(m), \qquad t_\beta(m) = (m^\beta - 1)/\beta, \quad t_0(m) = \ln m,

which is exponential for :math:`\beta = 1`, stretched exponential for :math:`\beta = 1/d`, the theoretical rate of
analytic kernels in `d` dimensions, and polynomial for :math:`\beta = 0`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from gpytorch.kernels import Kernel
from scipy.optimize import minimize_scalar
from scipy.stats import linregress

Array = npt.NDArray[np.float64]

EXPONENT_RANGE = (-2.0, 3.0)
"""Where `compare_decays` looks for the exponent that fits best."""

_BATCH = 50  # matrices at a time


def matrix_spectra(kernel: Kernel, dims: int, *, points: int = 100, matrices: int = 300, seed: int = 0) -> Array:
    """Eigenvalues of kernel matrices on points drawn uniformly from the unit cube.

    The points depend on the seed alone, so that different kernels see the same ones.

    Args:
        kernel: A kernel of `dims` coordinates, in float64.
        dims: Number of coordinates.
        points: Points of each matrix.
        matrices: Number of matrices.
        seed: Seed of the points.

    Returns:
        The eigenvalues, largest first, `matrices x points`. Those below `numerical_floor` are rounding.
    """
    for name, value in (("dims", dims), ("points", points), ("matrices", matrices)):
        if value < 1:
            raise ValueError(f"{name} is {value}, expected at least 1.")
    generator = torch.Generator().manual_seed(seed)
    spectra = []
    for start in range(0, matrices, _BATCH):
        batch = min(_BATCH, matrices - start)
        x = torch.rand(batch, points, dims, generator=generator, dtype=torch.float64)
        with torch.no_grad():
            spectra.append(torch.linalg.eigvalsh(kernel(x).to_dense()).flip(-1))
    return np.asarray(torch.cat(spectra).numpy())


def operator_spectrum(kernel: Kernel, nodes: int = 200) -> Array:
    r"""Eigenvalues of :math:`f \mapsto \int_0^1 k(\cdot, x) f(x)\,dx` for a kernel of one coordinate.

    By Nyström's method with Gauss-Legendre quadrature, which converges exponentially for analytic kernels.

    Args:
        kernel: A kernel of one coordinate, in float64.
        nodes: Number of nodes.

    Returns:
        The eigenvalues above `numerical_floor`, largest first.
    """
    places, weights = np.polynomial.legendre.leggauss(nodes)
    x = torch.from_numpy((places + 1) / 2).unsqueeze(-1)
    root = torch.from_numpy(np.sqrt(weights / 2))
    with torch.no_grad():
        matrix = root.unsqueeze(-1) * kernel(x).to_dense() * root
    eigenvalues = np.asarray(torch.linalg.eigvalsh(matrix).flip(-1).numpy())
    return eigenvalues[eigenvalues > numerical_floor(eigenvalues)]


def product_spectrum(eigenvalues: npt.ArrayLike, dims: int, count: int) -> Array:
    """Leading eigenvalues of the operator of a product kernel, the same kernel in each of `dims` coordinates.

    They are the products of one eigenvalue for each coordinate. Products so small that one with an eigenvalue beyond
    the last one given might be larger are left out, so that the list has no gaps.

    Args:
        eigenvalues: Eigenvalues for one coordinate, largest first.
        dims: Number of coordinates.
        count: Most eigenvalues to return.

    Returns:
        At most `count` eigenvalues, largest first.
    """
    logs = np.log(_positive(eigenvalues))
    relative = logs - logs[0]
    products = np.zeros(1)
    for _ in range(dims):
        # What is among the first `count` products has all its partial products among theirs.
        sums = np.add.outer(products, relative).ravel()
        products = sums[sums >= relative[-1]]
        if products.size > count:
            products = np.partition(products, products.size - count)[-count:]
    return np.asarray(np.exp(np.sort(products)[::-1] + dims * logs[0]))


def numerical_floor(eigenvalues: npt.ArrayLike) -> float:
    """Eigenvalues of an `n x n` matrix below this are rounding: `10 n` times machine precision times the largest."""
    values = np.asarray(eigenvalues, dtype=np.float64)
    return float(10 * values.size * np.finfo(np.float64).eps * values.max())


@dataclass(frozen=True)
class Trend:
    """A straight line through log eigenvalues by rank.

    Attributes:
        slope: Change of the natural log from one rank to the next.
        p_value: Of the hypothesis that the slope is zero, two-sided, by Student's t for independent residuals.
        r_squared: Share of the variance that the line explains.
        count: Number of eigenvalues.
    """

    slope: float
    p_value: float
    r_squared: float
    count: int


def linear_trend(eigenvalues: npt.ArrayLike) -> Trend:
    """The paper's test of exponential decay: regress the log of the eigenvalues on their rank.

    A small p-value says that the logs fall, not that they fall along a line: see `compare_decays`.

    Args:
        eigenvalues: Positive eigenvalues, largest first, at least three.
    """
    logs = np.log(_positive(eigenvalues))
    result = linregress(np.arange(1, logs.size + 1), logs)
    return Trend(float(result.slope), float(result.pvalue), float(result.rvalue**2), logs.size)


@dataclass(frozen=True)
class DecayFit:
    r"""One model of a decay, fitted by least squares to log eigenvalues.

    Attributes:
        exponent: :math:`\beta`: 1 exponential, 0 polynomial.
        rate: :math:`c`.
        intercept: :math:`a`, the fitted :math:`\ln\lambda_1`.
        rms: Root mean square of the residuals of :math:`\ln\lambda`.
        bic: Bayesian information criterion for independent normal residuals, up to a constant common to all models of
            the same eigenvalues; less is better. Ordered eigenvalues have correlated residuals, so differences rank the
            models but overstate how sure the ranking is.
    """

    exponent: float
    rate: float
    intercept: float
    rms: float
    bic: float


@dataclass(frozen=True)
class DecayComparison:
    """Models of a decay side by side.

    Attributes:
        fits: The fit of each model: `"exponential"`, `"stretched"`, `"polynomial"`, in one dimension without
            `"stretched"`, which is then the same as the first.
        free: The fit with the exponent free, which counts as one more parameter.
        count: Number of eigenvalues used.
        decades: Powers of ten between the first and the last of them.
    """

    fits: dict[str, DecayFit]
    free: DecayFit
    count: int
    decades: float

    @property
    def best(self) -> str:
        """Name of the model with the least criterion among those with a fixed exponent."""
        return min(self.fits, key=lambda name: self.fits[name].bic)

    def excess(self, name: str) -> float:
        """How much the criterion of a model exceeds the best one's."""
        return self.fits[name].bic - self.fits[self.best].bic


def compare_decays(eigenvalues: npt.ArrayLike, dims: int, ranks: npt.ArrayLike | None = None) -> DecayComparison:
    """Fit exponential, stretched-exponential and polynomial decay, and the exponent between them.

    Args:
        eigenvalues: Positive eigenvalues above the numerical floor, largest first, at least five.
        dims: Number of coordinates, which fixes the stretched exponential.
        ranks: Ranks of the eigenvalues, 1 for the largest; all of them in order by default.
    """
    values = _positive(eigenvalues)
    m = np.arange(1.0, values.size + 1) if ranks is None else np.asarray(ranks, dtype=np.float64)
    if m.shape != values.shape:
        raise ValueError(f"ranks has shape {m.shape} and eigenvalues {values.shape}, expected the same.")
    if values.size < 5:
        raise ValueError(f"eigenvalues has {values.size} entries, expected at least 5 to compare models.")
    logs = np.log(values)
    exponents = {"exponential": 1.0, "stretched": 1 / dims, "polynomial": 0.0}
    if dims == 1:
        del exponents["stretched"]
    fits = {name: _fit(logs, m, exponent, parameters=3) for name, exponent in exponents.items()}
    grid = np.linspace(*EXPONENT_RANGE, 26)
    start = int(np.argmin([_fit(logs, m, exponent, 4).rms for exponent in grid]))
    bounds = (grid[max(start - 1, 0)], grid[min(start + 1, grid.size - 1)])
    found = minimize_scalar(lambda exponent: _fit(logs, m, exponent, 4).rms, bounds=bounds, method="bounded")
    decades = float(logs[0] - logs[-1]) / math.log(10)
    return DecayComparison(fits, _fit(logs, m, float(found.x), 4), values.size, decades)


def spread_ranks(size: int, count: int = 60) -> npt.NDArray[np.int64]:
    """About `count` different ranks from 1 to `size`, evenly spread in their logarithm."""
    return np.unique(np.geomspace(1, size, count).round().astype(np.int64))


def _fit(logs: Array, ranks: Array, exponent: float, parameters: int) -> DecayFit:
    t = np.log(ranks) if abs(exponent) < 1e-8 else np.expm1(exponent * np.log(ranks)) / exponent
    centred = t - t.mean()
    rate = -float(centred @ logs / (centred @ centred))
    intercept = float(logs.mean() + rate * t.mean())
    mean_square = max(float(np.mean((logs - intercept + rate * t) ** 2)), np.finfo(np.float64).tiny)
    bic = logs.size * math.log(mean_square) + parameters * math.log(logs.size)
    return DecayFit(float(exponent), rate, intercept, math.sqrt(mean_square), bic)


def _positive(eigenvalues: npt.ArrayLike) -> Array:
    values = np.asarray(eigenvalues, dtype=np.float64)
    if values.ndim != 1 or values.size < 1:
        raise ValueError(f"eigenvalues has shape {values.shape}, expected a list of numbers.")
    if not bool((values > 0).all()) or bool((np.diff(values) > 0).any()):
        raise ValueError("eigenvalues must be positive and in descending order; cut them at numerical_floor.")
    return values
