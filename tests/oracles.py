"""The kernels by their definitions, in 50 digits, independent of the code under test."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import mpmath as mp

mp.mp.dps = 50


@cache
def _g(u: mp.mpf, h: mp.mpf) -> mp.mpf:
    return mp.loggamma(1 + u / h) + mp.loggamma(1 + (2 - u) / h)


@cache
def _log_density_norm(x: mp.mpf, h: mp.mpf) -> mp.mpf:
    """Log of the Beta function of the shape parameters with mode x."""
    alpha, beta = 1 + x / h, 1 + (1 - x) / h
    return mp.loggamma(alpha) + mp.loggamma(beta) - mp.loggamma(alpha + beta)


def log_paper_kernel(x: Sequence[float], y: Sequence[float], h: Sequence[float]) -> mp.mpf:
    """Log of the product over coordinates of B(a + a' - 1, b + b' - 1) / (B(a, b) B(a', b'))."""
    total = mp.mpf(0)
    for xi, yi, hi in zip(map(mp.mpf, x), map(mp.mpf, y), map(mp.mpf, h), strict=True):
        joint = _g(xi + yi, hi) - mp.loggamma(2 + 2 / hi)
        total += joint - _log_density_norm(xi, hi) - _log_density_norm(yi, hi)
    return total


def log_beta_kernel(x: Sequence[float], y: Sequence[float], h: Sequence[float], w: float) -> mp.mpf:
    """The family with boundary weight w, from the paper's kernel alone."""
    centre = [0.5] * len(x)
    diagonals = log_paper_kernel(x, x, h) + log_paper_kernel(y, y, h)
    weight = mp.mpf(w)
    return log_paper_kernel(x, y, h) - (1 - weight) / 2 * diagonals - weight * log_paper_kernel(centre, centre, h)


def sq_distance(x: float, y: float, h: float) -> mp.mpf:
    x_, y_, h_ = mp.mpf(x), mp.mpf(y), mp.mpf(h)
    return _g(2 * x_, h_) + _g(2 * y_, h_) - 2 * _g(x_ + y_, h_)


def metric_at_centre(h: float) -> mp.mpf:
    h_ = mp.mpf(h)
    return 2 * mp.polygamma(1, 1 + 1 / h_) / h_**2


def log_beta_matern(
    x: Sequence[float], y: Sequence[float], h: float, lengthscale: Sequence[float], nu: float
) -> mp.mpf:
    """Matern of the Beta distance by its Bessel function."""
    squared = mp.mpf(0)
    for xi, yi, li in zip(x, y, lengthscale, strict=True):
        squared += sq_distance(xi, yi, h) / (metric_at_centre(h) * mp.mpf(li) ** 2)
    if squared == 0:
        return mp.mpf(0)
    if mp.isinf(nu):
        return -squared / 2
    s = mp.sqrt(2 * mp.mpf(nu) * squared)
    return mp.log(mp.mpf(2) ** (1 - nu) / mp.gamma(nu) * s**nu * mp.besselk(nu, s))
