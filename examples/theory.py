"""Check every constant of docs/theory.md numerically, print the comparisons as a table, and draw the pictures.

Each row says that a measured value is at most a limit. The exit status is 1 when a row fails.

python examples/theory.py                          # all checks, about a minute
python examples/theory.py --images docs/images     # the same, and the pictures
python examples/theory.py --quick                  # fewer bandwidths and smaller problems, a few seconds
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import mpmath
import numpy as np
import numpy.typing as npt
import torch
from gpytorch.kernels import Kernel
from matplotlib.figure import Figure
from scipy.integrate import quad
from scipy.special import ellipj, ellipkm1, gammaln, loggamma, polygamma

from betabo import BetaKernel, BetaMaternKernel
from betabo.kernels.chebyshev import DEGREES, chebyshev_features, chebyshev_matrix, ellipse_parameter, error_bound
from betabo.kernels.radial import matern_profile
from betabo.kernels.special import beta_sq_distance
from betabo.lab.analysis import (
    bounds,
    log_diagonal,
    log_diagonal_infimum,
    log_diagonal_supremum,
    log_printed_bound,
    operator_spectrum,
    printed_bound_threshold,
    product_spectrum,
)
from betabo.lab.plots.style import BLUE, GREEN, GREY, VERMILION, new_figure, shades, style

Array = npt.NDArray[np.float64]

ROUNDING = 1e-12


@dataclass(frozen=True)
class Row:
    """The claim that `value` is at most `limit`."""

    section: int
    claim: str
    value: float
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the claim is true; NaN is not."""
        return self.value <= self.limit


def log_g(u: npt.ArrayLike, h: float) -> Array:
    """The pairwise part of the log kernel, for complex arguments too."""
    values = np.asarray(u)
    log_gamma = loggamma if np.iscomplexobj(values) else gammaln
    return np.asarray(log_gamma(1 + values / h) + log_gamma(1 + (2 - values) / h))


def correlation(x: Array, y: Array, h: float) -> Array:
    """The correlation form of one coordinate for all pairs."""
    own = np.subtract.outer(-log_g(2 * x, h) / 2, log_g(2 * y, h) / 2)
    return np.exp(log_g(np.add.outer(x, y), h) + own)


def sq_distance(x: Array, y: Array, h: float) -> Array:
    """Squared Beta distance for all pairs."""
    columns = (torch.from_numpy(x)[:, None], torch.from_numpy(y)[None, :], torch.tensor(h, dtype=torch.float64))
    return beta_sq_distance(*columns).numpy()


def negative_part(matrix: Array) -> float:
    """How far the least eigenvalue is below zero, relative to the largest in absolute value."""
    eigenvalues = np.linalg.eigvalsh(matrix)
    return float(-eigenvalues[0] / np.abs(eigenvalues).max())


def beta_kernel(h: float, boundary_weight: float = 0.0) -> Kernel:
    """The Beta kernel of one coordinate."""
    kernel = BetaKernel(boundary_weight=boundary_weight).double()
    kernel.bandwidth = h
    return kernel


@lru_cache
def exact_spectrum(h: float, nodes: int, boundary_weight: float = 0.0) -> Array:
    """Log eigenvalues on [0, 1] by Nystrom's method with Gauss-Legendre nodes, in 80 digits.

    At most half of them are returned, for which the quadrature is good, and those above 1e-65, far above rounding.
    """
    with mpmath.workdps(80):
        places, weights = [], []
        for start in np.polynomial.legendre.leggauss(nodes)[0]:
            x = mpmath.findroot(lambda t: mpmath.legendre(nodes, t), mpmath.mpf(start), tol=1e-150, verify=False)
            slope = nodes * (x * mpmath.legendre(nodes, x) - mpmath.legendre(nodes - 1, x)) / (x * x - 1)
            places.append((1 + x) / 2)
            weights.append(mpmath.sqrt(1 / ((1 - x * x) * slope**2)))
        z = mpmath.mpf(h)

        def g(u: mpmath.mpf) -> mpmath.mpf:
            return mpmath.loggamma(1 + u / z) + mpmath.loggamma(1 + (2 - u) / z)

        def q(u: mpmath.mpf) -> mpmath.mpf:
            return mpmath.loggamma(u + 0.5) - mpmath.loggamma(u + 1)

        excess = [q(x / z) + q((1 - x) / z) - 2 * q(0.5 / z) for x in places]
        own = [-g(2 * x) / 2 + boundary_weight * e / 2 for x, e in zip(places, excess, strict=True)]
        matrix = mpmath.matrix(nodes, nodes)
        for i in range(nodes):
            for j in range(i + 1):
                value = mpmath.exp(g(places[i] + places[j]) + own[i] + own[j])
                matrix[i, j] = matrix[j, i] = weights[i] * weights[j] * value
        eigenvalues = sorted(mpmath.eigsy(matrix, eigvals_only=True), reverse=True)
        return np.array([float(mpmath.log(value)) for value in eigenvalues[: nodes // 2] if value > 1e-65])


def validity(quick: bool) -> Iterator[Row]:
    """Section 1: positive definiteness, the embedding, the Matern mixture, the metric."""
    x = np.linspace(0, 1, 30 if quick else 100)
    for h in (0.1, 1.0) if quick else (0.01, 0.1, 1.0, 10.0):
        distance = sq_distance(x, x, h)
        for weight in (-1.0, 0.0, 0.5, 1.0, 2.0):
            scale = np.exp(weight / 2 * (log_diagonal(x[:, None], h) - log_diagonal_infimum(h)))
            matrix = scale[:, None] * np.exp(-distance / 2) * scale
            yield Row(1, f"k_w semidefinite, w = {weight:g}, h = {h:g}", negative_part(matrix), ROUNDING)
        for power in (0.01, 0.3, 7.0):
            matrix = np.exp(-power * distance / 2)
            yield Row(1, f"power {power:g} semidefinite, h = {h:g}", negative_part(matrix), ROUNDING)
        centred = -distance + distance.mean(0) + distance.mean(1)[:, None] - distance.mean()
        yield Row(1, f"rho^2 of negative type, h = {h:g}", negative_part(centred), ROUNDING)
        for nu in (0.5, 1.5, 2.5):
            matrix = matern_profile(torch.from_numpy(distance), nu).numpy()
            yield Row(1, f"Beta-Matern semidefinite, nu = {nu:g}, h = {h:g}", negative_part(matrix), ROUNDING)

        def levy(t: float, a: float, b: float, h: float = h) -> float:
            squares = (math.exp(-a * t / h) - math.exp(-b * t / h)) ** 2
            squares += (math.exp(-(1 - a) * t / h) - math.exp(-(1 - b) * t / h)) ** 2
            return squares / (t * math.expm1(t))

        worst = 0.0
        for a, b in ((0.0, 1.0), (0.1, 0.2), (0.5, 0.9)):
            pieces = (0, h, 10 * h, 1 + 10 * h, 60 + 10 * h)
            integral = sum(
                quad(levy, low, high, args=(a, b), epsabs=0, epsrel=1e-10, limit=200)[0]
                for low, high in pairwise(pieces)
            )
            exact = sq_distance(np.array([a]), np.array([b]), h).item()
            worst = max(worst, abs(integral / exact - 1))
        yield Row(1, f"embedding gives rho^2, relative error, h = {h:g}", worst, 1e-8)

        low, high = bounds.metric_range(h)
        apart = ~np.eye(x.size, dtype=bool)
        ratio = distance[apart] / np.subtract.outer(x, x)[apart] ** 2
        yield Row(1, f"metric at least g''(1), h = {h:g}", low / float(ratio.min()), 1 + ROUNDING)
        yield Row(1, f"metric at most g''(0), h = {h:g}", float(ratio.max()) / high, 1 + ROUNDING)
    for nu in (0.5, 1.5, 2.5):

        def mixture(s: float, nu: float = nu) -> float:
            return s ** (nu - 1) * math.exp(-s - nu * 0.7**2 / (2 * s)) / math.gamma(nu)

        integral = quad(mixture, 0, 1, epsabs=1e-13)[0] + quad(mixture, 1, 60, epsabs=1e-13)[0]
        exact = matern_profile(torch.tensor(0.7**2, dtype=torch.float64), nu).item()
        yield Row(1, f"Matern is a mixture of Gaussians, nu = {nu:g}", abs(integral - exact), 1e-10)


def diagonal(quick: bool) -> Iterator[Row]:
    """Section 2: the diagonal, and the printed bound."""
    x = np.linspace(0, 1, 1001)
    for h in (0.1, 1.0) if quick else (0.01, 0.1, 0.5, 1.0, 5.0):
        logs = log_diagonal(x[:, None], h)
        yield Row(2, f"log diagonal convex, h = {h:g}", float(-np.diff(logs, 2).min()), 0.0)
        supremum = math.log((1 + 1 / h) ** 2 / (1 + 2 / h))
        yield Row(2, f"supremum at the vertex, h = {h:g}", abs(float(logs.max()) - supremum), ROUNDING)
        yield Row(2, f"infimum at the centre, h = {h:g}", abs(float(logs.min() - log_diagonal_infimum(h))), ROUNDING)
        yield Row(2, f"k(x, x) >= 1, h = {h:g}", -float(logs.min()), 0.0)
    threshold = printed_bound_threshold()
    for h in (0.05, 0.1, 0.25, 0.5, 0.99 * threshold):
        printed, largest = math.exp(log_printed_bound(h)), math.exp(log_diagonal_supremum(h))
        yield Row(2, f"printed bound is below the supremum, h = {h:.4g}", printed, largest)
    h = 1.01 * threshold
    largest = math.exp(log_diagonal_supremum(h))
    yield Row(2, f"and above it from h = {threshold:.4f} on", largest, math.exp(log_printed_bound(h)))


def limits(quick: bool) -> Iterator[Row]:
    """Section 3: small and large bandwidths."""
    x = np.linspace(0, 1, 60 if quick else 200)
    for h in (1e-3, 1e-2, 0.1, 0.5, 1.0):
        error = np.abs(h * sq_distance(x, x, h) - 4 * bounds.jensen_shannon(x[:, None], x[None, :])).max()
        yield Row(3, f"|h rho^2 - 4 J|, h = {h:g}", float(error), bounds.small_bandwidth_error(h))
    for h in (1.0, 10.0, 100.0, 300.0):
        flat = math.pi**2 / 3 * np.subtract.outer(x, x) ** 2
        error = np.abs(h**2 * sq_distance(x, x, h) - flat).max()
        yield Row(3, f"|h^2 rho^2 - (pi^2/3) (x - x')^2|, h = {h:g}", float(error), bounds.large_bandwidth_error(h))
        low, high = bounds.metric_range(h)
        limit = math.pi**4 / (30 * h**2 * polygamma(1, 1 + 1 / h))
        yield Row(3, f"bend of the Beta-Matern geometry, h = {h:g}", high / low - 1, float(limit))
    h, centre = 1e-5, np.array([0.05, 0.3, 0.5])
    local = np.array([sq_distance(np.array([c]), np.array([c + 1e-4]), h).item() for c in centre])
    angle = (np.arcsin(np.sqrt(centre + 1e-4)) - np.arcsin(np.sqrt(centre))) ** 2
    yield Row(3, "locally arcsin sqrt x, relative error", float(np.abs(local * h / (2 * angle) - 1).max()), 1e-3)


def matmul(quick: bool) -> Iterator[Row]:
    """Section 4: the error of the matmul form, measured against 40 digits."""
    t = np.cos(np.linspace(0, math.pi, 17 if quick else 33))
    x = (1 + t) / 2
    for h, degree in ((0.05, 28), (0.1, 16), (0.1, 32), (0.5, 10), (0.5, 20), (2.0, 8), (10.0, 6)):
        phi = chebyshev_features(torch.from_numpy(x)[:, None], degree).squeeze(-2).numpy()
        form = chebyshev_matrix(torch.tensor(h, dtype=torch.float64), degree).numpy()
        difference = phi[:, None] - phi[None, :]
        approximate = np.einsum("ijk,kl,ijl->ij", difference, form, difference)
        error = float(np.abs(approximate - exact_distance(tuple(x.tolist()), h)).max())
        limit = bounds.matmul_error_bound(degree, h)
        rounding = float(error_bound(10**6, h)) / 10**6 * degree
        yield Row(4, f"error at most the theorem's, P = {degree}, h = {h:g}", error, limit + rounding)
        yield Row(4, f"error at most the code's, P = {degree}, h = {h:g}", error, float(error_bound(degree, h)))
    ratios = []
    for h in np.geomspace(5e-3, 1e2, 40 if quick else 200):
        for degree in DEGREES:
            r = 1 + 2 * h + 2 * math.sqrt(h * (1 + h))
            simple = 33 / degree * r ** -float(degree) / (1 - 1 / r)
            if 1e-13 < simple < 1e-9:
                ratios.append(bounds.matmul_error_bound(int(degree), float(h)) / simple)
    yield Row(4, "theorem over the code's simpler bound, where it matters", max(ratios), 1.5)
    for h in np.geomspace(1e-3, 1e3, 7):
        large, small = (float(ellipse_parameter(distance)) for distance in (2 * h, h))
        yield Row(4, f"r_{{2h}} <= r_h^(3/2), h = {h:g}", large, small**1.5 * (1 + ROUNDING))


@lru_cache
def exact_distance(x: tuple[float, ...], h: float) -> Array:
    """Squared Beta distances of all pairs, in 40 digits."""
    with mpmath.workdps(40):
        z = mpmath.mpf(h)

        def g(u: mpmath.mpf) -> mpmath.mpf:
            return mpmath.loggamma(1 + u / z) + mpmath.loggamma(1 + (2 - u) / z)

        places = [mpmath.mpf(value) for value in x]
        own = [g(2 * place) for place in places]
        return np.array(
            [
                [float(own[i] + own[j] - 2 * g(places[i] + places[j])) for j in range(len(places))]
                for i in range(len(places))
            ]
        )


def spectra(quick: bool) -> Iterator[Row]:
    """Section 5: ellipse, strip, eigenvalues."""
    theta = (np.arange(4000) + 0.5) * (2 * math.pi / 4000)
    x = np.linspace(0, 1, 60)
    for h in (0.1, 1.0) if quick else (0.02, 0.1, 0.3, 1.0, 5.0):
        for reach in (0.3, 0.8, 0.99):
            axis = 1 + h * reach
            z = (1 + axis * np.cos(theta) + 1j * math.sqrt(axis**2 - 1) * np.sin(theta)) / 2
            norms = np.exp(log_g(2 * z.real, h) - log_g(2 * z, h).real)
            limit = math.exp(bounds.log_ellipse_norm(h, reach))
            yield Row(5, f"mean norm on the ellipse, h = {h:g}, reach {reach:g}", float(norms.mean()), limit)

        size = 24 if h >= 0.1 else 60
        coefficients = chebyshev_coefficients(h, 4 * size)
        polynomials = np.cos(np.outer(np.arccos(2 * x - 1), np.arange(4 * size)))
        worst, worst_closed = 0.0, 0.0
        for n in range(1, size):
            tail = polynomials[:, n:] @ coefficients[n:, n:]
            residual = float((tail * polynomials[:, n:]).sum(axis=1).max()) - 1e-13
            ellipses = bounds.residual_decays(h)[1:]
            worst = max(worst, residual / min(math.exp(d.log_constant - d.rate * n) for d in ellipses))
            worst_closed = max(worst_closed, residual / float(bounds.closed_residual_bound(h, n)))
        yield Row(5, f"residual over the ellipse bound, h = {h:g}", worst, 1.0)
        yield Row(5, f"residual over its closed form, h = {h:g}", worst_closed, 1.0)

        yield from strip_checks(h, x)

        logs = exact_spectrum(h, 32 if quick else 120 if h < 0.1 else 80)
        n = np.arange(logs.size)
        low, high = bounds.coordinate_spectrum_range(h, n)
        least = np.log(np.min([decay(n) for decay in bounds.eigenvalue_decays(h)], axis=0))
        tails = np.logaddexp.accumulate(logs[::-1])[::-1]
        closed = np.log(bounds.closed_eigenvalue_bound(h, n[1:]))
        yield Row(5, f"eigenvalues below the strip bound, log, h = {h:g}", float((logs - high).max()), 0.0)
        yield Row(5, f"eigenvalues above the lower bound, log, h = {h:g}", float((low - logs).max()), 0.0)
        yield Row(5, f"eigenvalues below the least bound, log, h = {h:g}", float((logs - least).max()), 0.0)
        yield Row(5, f"tail sums below the closed form, log, h = {h:g}", float((tails[1:] - closed).max()), 0.0)
        paper = exact_spectrum(h, 32 if quick else 60, 1.0)
        factor = bounds.log_largest_variance(h, 1.0)
        shared = min(paper.size, logs.size)
        change = paper[:shared] - logs[:shared]
        yield Row(5, f"boundary weight 1 raises log eigenvalues at most by, h = {h:g}", float(change.max()), factor)
        yield Row(5, f"and lowers none, h = {h:g}", float(-change.min()), 0.0)
        if not quick and h >= 0.1:
            rate = bounds.decay_rate(h)
            slope = float(logs[-9] - logs[-1]) / 8
            yield Row(5, f"measured rate {slope:.4f} near b_h = {rate:.4f}, h = {h:g}", abs(slope / rate - 1), 0.03)
        yield from hilbert_checks(h)
    yield Row(5, "b_1 = pi", abs(bounds.decay_rate(1.0) - math.pi), ROUNDING)
    yield from cube_checks(quick)
    yield from matern_checks(quick)


def strip_checks(h: float, x: Array) -> Iterator[Row]:
    """The domination by the Szego kernel of the strip, and of that by a diagonal kernel, both ways."""
    width, power = 1 + h, 1 + 1 / h
    szego = math.pi * h / (2 * width) / np.cos(math.pi * (np.add.outer(x, x) - 1) / (2 * width))
    pairs = np.exp(log_g(np.add.outer(x, x), h) - gammaln(2 + 2 / h))
    scale = np.sqrt(np.diag(szego))
    normalized = szego / np.outer(scale, scale)
    beta = pairs / np.outer(scale, scale)
    yield Row(5, f"Beta kernel below Szego's, h = {h:g}", negative_part(normalized - beta), ROUNDING)
    lower = beta - 2 ** (1 - 2 * power) * normalized
    yield Row(5, f"Beta kernel above a multiple of Szego's, h = {h:g}", negative_part(lower), ROUNDING)

    angle = math.pi / (4 * width)
    modulus = math.tan(angle) ** 2
    period = float(ellipkm1((1 - modulus) * (1 + modulus)))
    tau = math.pi * (np.arange(60) + 0.5) / 60
    w = math.sqrt(modulus) * ellipj(2 * period * tau / math.pi - period, modulus**2)[0]
    orders = np.arange(4000)
    weights = 1 / np.cosh(np.minimum(bounds.decay_rate(h) * orders, 700))
    weights[0] = 0.5
    waves = np.cos(np.outer(tau, orders))
    diagonal_kernel = math.pi / period * (waves * weights) @ waves.T
    disc = 1 / (1 - np.outer(w, w))
    above, below = diagonal_kernel / (1 - modulus) - disc, disc - diagonal_kernel / (1 + modulus)
    yield Row(5, f"Szego's kernel below the diagonal kernel, h = {h:g}", negative_part(above), ROUNDING)
    yield Row(5, f"and above it, h = {h:g}", negative_part(below), ROUNDING)


def chebyshev_coefficients(h: float, size: int) -> Array:
    """Two-dimensional Chebyshev coefficients of the correlation form."""
    angles = (np.arange(size) + 0.5) * (math.pi / size)
    transform = np.cos(np.outer(np.arange(size), angles)) * (2 / size)
    transform[0] /= 2
    nodes = (1 + np.cos(angles)) / 2
    return np.asarray(transform @ correlation(nodes, nodes, h) @ transform.T)


def hilbert_checks(h: float) -> Iterator[Row]:
    """Polynomials in the Hilbert space of the paper's kernel: norms of their interpolants, in 60 digits."""
    with mpmath.workdps(60):
        z = mpmath.mpf(h)
        places = [mpmath.mpf(i) / 11 for i in range(12)]

        def log_density_norm(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.loggamma(1 + x / z) + mpmath.loggamma(1 + (1 - x) / z) - mpmath.loggamma(2 + 1 / z)

        def inner(x: mpmath.mpf, y: mpmath.mpf) -> mpmath.mpf:
            pair = mpmath.loggamma(1 + (x + y) / z) + mpmath.loggamma(1 + (2 - x - y) / z) - mpmath.loggamma(2 + 2 / z)
            return mpmath.exp(pair - log_density_norm(x) - log_density_norm(y))

        matrix = mpmath.matrix([[inner(x, y) for y in places] for x in places])
        for name, values, limit in (("1", [mpmath.mpf(1)] * 12, 1.0), ("x", places, (h * h + h + 1) / 3)):
            column = mpmath.matrix(values)
            norm = float((column.T * mpmath.lu_solve(matrix, column))[0])
            yield Row(5, f"squared norm of {name} under the paper's kernel, h = {h:g}", norm, limit * (1 + ROUNDING))


def cube_checks(quick: bool) -> Iterator[Row]:
    """Eigenvalues in several dimensions, for the uniform and for other measures."""
    h = 1.0
    one = np.exp(exact_spectrum(h, 32 if quick else 80))
    for dims in (2, 3):
        values = product_spectrum(one, dims, 300 if quick else 3000)
        limit = bounds.log_eigenvalue_bound([h] * dims, np.arange(1, values.size + 1))
        worst = float((np.log(values) - limit).max())
        yield Row(5, f"eigenvalues in {dims} dimensions below the bound, log, h = {h:g}", worst, 0.0)
        tails = np.cumsum(values[::-1])[::-1]
        share = bounds.residual_bound([h] * dims, np.arange(values.size))
        worst = float((tails / share)[1:].max())
        yield Row(5, f"tail sums in {dims} dimensions over the residual bound", worst, 1.0)
        if not quick:
            first, last = values.size // 4, values.size - 1
            slope = math.log(values[first] / values[last]) / ((last + 1) ** (1 / dims) - (first + 1) ** (1 / dims))
            rate = bounds.decay_constant([h] * dims)
            claim = f"measured constant {slope:.3f} near c = {rate:.3f} in {dims} dimensions"
            yield Row(5, claim, abs(slope / rate - 1), 0.1)
    # All mass on the diagonal of the square: the kernel there is the square of the kernel of one coordinate.
    places, weights = np.polynomial.legendre.leggauss(60)
    root = np.sqrt(weights / 2)
    matrix = root[:, None] * correlation((1 + places) / 2, (1 + places) / 2, h) ** 2 * root
    values = np.maximum(np.linalg.eigvalsh(matrix)[::-1], 0)
    share = bounds.residual_bound([h, h], np.arange(values.size))
    worst = float((np.cumsum(values[::-1])[::-1] / np.maximum(share, 1e-12))[1:].max())
    yield Row(5, "tail sums on the diagonal of the square over the residual bound", worst, 1.0)


def matern_checks(quick: bool) -> Iterator[Row]:
    """Polynomial decay of the Beta-Matern kernels in one dimension."""
    for nu in (0.5, 1.5, 2.5):
        kernel = BetaMaternKernel(nu=nu).double()
        kernel.bandwidth, kernel.lengthscale = 0.2, 0.5
        values = operator_spectrum(kernel, 150 if quick else 400)
        first, last = (15, 30) if quick else (30, 55)
        slope = math.log(values[first] / values[last]) / math.log((last + 1) / (first + 1))
        claim = f"Beta-Matern {nu:g}: exponent {slope:.2f} near {2 * nu + 1:g}"
        yield Row(5, claim, abs(slope / (2 * nu + 1) - 1), 0.1)


def candidates(dims: int) -> Array:
    """Points from which the greedy design is chosen."""
    if dims == 1:
        return np.linspace(0, 1, 401)[:, None]
    axis = (1 - np.cos(np.linspace(0, math.pi, 25))) / 2
    return np.stack(np.meshgrid(*[axis] * dims), axis=-1).reshape(-1, dims)


def greedy_gain(h: float, dims: int, evaluations: int, noise: float, boundary_weight: float = 0.0) -> Array:
    """Information gained by the first 1, 2, ... points of the greedy design, which may repeat points."""
    points = candidates(dims)
    covariance = np.ones((len(points), len(points)))
    log_scale = boundary_weight / 2 * (log_diagonal(points, h) - log_diagonal_infimum(h, dims))
    for i in range(dims):
        covariance *= correlation(points[:, i], points[:, i], h)
    covariance *= np.exp(np.add.outer(log_scale, log_scale))
    gains = []
    for _ in range(evaluations):
        best = int(np.argmax(np.diag(covariance)))
        column = covariance[:, best].copy()
        gains.append(0.5 * math.log1p(column[best] / noise))
        covariance -= np.outer(column, column) / (column[best] + noise)
    return np.cumsum(gains)


def regret(quick: bool) -> Iterator[Row]:
    """Section 6: information gain, derivatives of sample paths, and regret."""
    noise, steps = 0.01, 60 if quick else 400
    for h in (0.1, 1.0) if quick else (0.1, 0.3, 1.0, 5.0):
        for dims, weight in ((1, 0.0), (1, 1.0), (2, 0.0)):
            gain = greedy_gain(h, dims, steps, noise, weight)[-1]
            series = bounds.information_gain_series([h] * dims, steps, noise, weight)
            closed = bounds.information_gain_bound([h] * dims, steps, noise, weight)
            name = f"d = {dims}, w = {weight:g}, h = {h:g}"
            yield Row(6, f"greedy gain below the series, {name}", gain, series)
            yield Row(6, f"series below the closed form, {name}", series, closed)
    growth = [bounds.information_gain_bound([1.0, 1.0], 10**k, noise) / k**3 for k in (60, 120)]
    yield Row(6, "gain / (ln T)^(d+1) falls, d = 2, h = 1", growth[1], growth[0])
    limit = bounds.information_gain_bound([1.0, 1.0], 10**20000, noise) / math.log(10**20000) ** 3
    yield Row(6, "and tends to 1 / (2 (d+1)! b^d)", abs(limit * 12 * math.pi**2 - 1), 0.01)
    yield from path_checks(quick)
    yield from search_checks(quick)


def path_checks(quick: bool) -> Iterator[Row]:
    """Derivatives of sample paths in one dimension, from their Chebyshev series."""
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, 401)
    for h in (1.0,) if quick else (0.1, 1.0, 5.0):
        size = 96 if h < 1 else 40
        eigenvalues, eigenvectors = np.linalg.eigh(chebyshev_coefficients(h, size))
        factor = eigenvectors * np.sqrt(np.maximum(eigenvalues, 0))
        slopes = 2 * np.polynomial.chebyshev.chebval(2 * x - 1, np.polynomial.chebyshev.chebder(factor))
        largest = float((slopes**2).sum(axis=0).max())
        name = f"h = {h:g}"
        yield Row(6, f"variance of f' is g''(0) at most, {name}", largest, bounds.metric_range(h)[1] * (1 + 1e-6))
        suprema = np.abs(rng.standard_normal((2000, size)) @ slopes).max(axis=1)
        log_a, b = bounds.derivative_tail(h)
        mean = b / 2 * math.sqrt(2 * log_a)
        yield Row(6, f"mean of sup|f'| below the bound, {name}", float(suprema.mean()), mean)
        levels = np.quantile(suprema, np.linspace(0, 0.999, 50))
        shares = np.array([(suprema > level).mean() for level in levels])
        excess = np.log(np.maximum(shares, 1e-9)) - (log_a - (levels / b) ** 2)
        yield Row(6, f"tail of sup|f'| below the bound, log, {name}", float(excess.max()), 0.0)


def search_checks(quick: bool) -> Iterator[Row]:
    """GP-UCB itself on a grid, in both settings, with the exploration weights of the theorems."""
    rng = np.random.default_rng(1)
    noise, failure, steps = 0.01, 0.1, 50 if quick else 300
    x = np.linspace(0, 1, 201)
    for h in (1.0,) if quick else (0.1, 1.0):
        covariance = correlation(x, x, h)
        eigenvalues, eigenvectors = np.linalg.eigh(covariance)
        path = eigenvectors @ (np.sqrt(np.maximum(eigenvalues, 0)) * rng.standard_normal(x.size))

        def bayesian(t: int, h: float = h) -> float:
            return math.sqrt(bounds.exploration_weight(h, t, failure))

        measured = ucb_regret(path, covariance, noise, steps, bayesian, rng)
        limit = bounds.bayesian_regret_bound(h, steps, noise, failure)
        yield Row(6, f"regret of GP-UCB on a sample path, h = {h:g}", measured, limit)

        weights = rng.standard_normal(5)
        places = rng.choice(x.size, 5, replace=False)
        norm = math.sqrt(weights @ covariance[np.ix_(places, places)] @ weights)
        member = covariance[:, places] @ weights / norm

        def frequentist(t: int, h: float = h) -> float:
            gain = bounds.information_gain_bound(h, t, noise)
            return 1 + math.sqrt(2 * (gain + math.log(1 / failure)))

        measured = ucb_regret(member, covariance, noise, steps, frequentist, rng)
        limit = bounds.rkhs_regret_bound(h, steps, noise, 1.0, failure)
        yield Row(6, f"regret of GP-UCB in the Hilbert space, h = {h:g}", measured, limit)
        ratios = [bounds.bayesian_regret_bound(h, 10**k, noise) / 10**k for k in (6, 12)]
        yield Row(6, f"regret bound / T at T = 1e12, h = {h:g}", ratios[1], ratios[0] / 100)


def ucb_regret(
    truth: Array,
    covariance: Array,
    noise: float,
    steps: int,
    width: Callable[[int], float],
    rng: np.random.Generator,
) -> float:
    """Cumulative regret of GP-UCB on a grid where the function has the values `truth`."""
    mean, posterior, total = np.zeros_like(truth), covariance.copy(), 0.0
    for t in range(1, steps + 1):
        deviation = np.sqrt(np.maximum(np.diag(posterior), 0))
        best = int(np.argmax(mean + width(t) * deviation))
        total += float(truth.max() - truth[best])
        column = posterior[:, best] / (posterior[best, best] + noise)
        observed = truth[best] + math.sqrt(noise) * rng.standard_normal()
        mean = mean + column * (observed - mean[best])
        posterior = posterior - np.outer(column, posterior[best])
    return total


def draw_spectra() -> Figure:
    """Eigenvalues and their bounds: one dimension for several bandwidths, several dimensions for one."""
    with style():
        figure = new_figure(10.4, 4.4)
        left, right = figure.subplots(1, 2)
        bandwidths = (0.02, 0.1, 0.3, 1.0, 5.0)
        for h, colour in zip(bandwidths, shades(len(bandwidths)), strict=True):
            logs = exact_spectrum(h, 120 if h < 0.1 else 80)[:40]
            n = np.arange(logs.size)
            least = np.min([np.log(decay(n)) for decay in bounds.eigenvalue_decays(h)], axis=0)
            low = bounds.coordinate_spectrum_range(h, n)[0]
            ten = math.log(10)
            left.plot(n + 1, logs / ten, "o", color=colour, markersize=2.5, label=f"$h$ = {h:g}")
            left.plot(n + 1, least / ten, color=colour, linewidth=1.2)
            if h >= 0.3:
                left.plot(n + 1, low / ten, color=colour, linewidth=1, linestyle=":")
        left.set(title="One dimension", xlabel="rank $m$", ylabel=r"$\log_{10} \lambda_m$", xlim=(0, 58), ylim=(-40, 2))
        left.legend(loc="upper right", title="dots: measured\nlines: upper bound\ndotted: lower bound")
        one = np.exp(exact_spectrum(1.0, 80))
        for dims, colour in zip((1, 2, 3), (BLUE, VERMILION, GREEN), strict=True):
            values = product_spectrum(one, dims, 3000)
            m = np.arange(1, values.size + 1)
            shown = np.unique(np.geomspace(1, values.size, 120).round().astype(int)) - 1
            label = f"$d$ = {dims}"
            right.plot(m[shown] ** (1 / dims), np.log10(values[shown]), "o", color=colour, markersize=2.5, label=label)
            limit = bounds.log_eigenvalue_bound([1.0] * dims, m) / math.log(10)
            right.plot(m ** (1 / dims), limit, color=colour, linewidth=1.2)
        title = "Several dimensions, $h$ = 1: straight lines"
        right.set(title=title, xlabel="$m^{1/d}$", ylabel=r"$\log_{10} \lambda_m$", xlim=(0, 30), ylim=(-40, 2))
        right.legend(loc="upper right")
        return figure


def draw_gain() -> Figure:
    """Information gained by the greedy design, the bounds, and what needs no proof."""
    noise, steps = 0.01, 400
    with style():
        figure = new_figure(10.4, 4.2)
        for axes, dims in zip(figure.subplots(1, 2), (1, 2), strict=True):
            times = np.unique(np.geomspace(1, 1e6, 60).round().astype(int))
            bandwidths = (0.1, 0.3, 1.0)
            for h, colour in zip(bandwidths, shades(len(bandwidths)), strict=True):
                gain = greedy_gain(h, dims, steps, noise)
                series = [bounds.information_gain_series([h] * dims, int(t), noise) for t in times]
                closed = [bounds.information_gain_bound([h] * dims, int(t), noise) for t in times]
                axes.loglog(np.arange(1, steps + 1), gain, color=colour, linewidth=2.4, label=f"$h$ = {h:g}")
                axes.loglog(times, series, color=colour, linewidth=1.2, linestyle="--")
                axes.loglog(times, closed, color=colour, linewidth=1, linestyle=":")
            trivial = 0.5 * times * math.log1p(1 / noise)
            axes.loglog(times, trivial, color=GREY, linewidth=1)
            axes.set(
                title=f"$d$ = {dims}, $\\sigma^2$ = {noise:g}",
                xlabel="evaluations $T$",
                ylabel="information gain, nats",
            )
            axes.set(xlim=(1, 1e6), ylim=(0.3, 3e4))
            axes.legend(
                loc="lower right",
                ncols=1,
                title="thick: greedy design\ndashed: series\ndotted: closed form\ngrey: $T$ independent points",
            )
        return figure


SECTIONS: tuple[Callable[[bool], Iterator[Row]], ...] = (validity, diagonal, limits, matmul, spectra, regret)


def main() -> int:
    """Run the checks, print the table, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer bandwidths and smaller problems")
    parser.add_argument("--images", type=Path, help="folder for theory-spectrum.png and theory-gain.png")
    options = parser.parse_args()

    rows = []
    for section in SECTIONS:
        for row in section(options.quick):
            rows.append(row)
            mark = "ok" if row.holds else "FAILS"
            print(f"{mark:5s} {row.section}  {row.claim:72s} {row.value:12.4g} <= {row.limit:.4g}")
    if options.images is not None:
        options.images.mkdir(parents=True, exist_ok=True)
        with style():
            draw_spectra().savefig(options.images / "theory-spectrum.png")
            draw_gain().savefig(options.images / "theory-gain.png")
    failed = sum(not row.holds for row in rows)
    print(f"{len(rows) - failed} of {len(rows)} checks hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
