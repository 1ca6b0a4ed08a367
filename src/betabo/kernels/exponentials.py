r"""The Beta distance as a sum of squared differences of exponentials, for bandwidths of any size.

With :math:`p = 1 + 2x/h`, :math:`q = 1 + 2x'/h` and the middle :math:`z = (p + q)/2`, one of the two second differences
of log-gammas in :math:`\rho^2(x, x')` is an integral (Malmsten)

.. math:: \ln\Gamma(p) + \ln\Gamma(q) - 2\ln\Gamma(z)
          = \int_0^\infty \frac{(e^{-pt/2} - e^{-qt/2})^2}{1 - e^{-t}}\, \frac{\mathrm dt}{t} ,

and so is the other, with :math:`1 - x` for :math:`x`. A quadrature rule with rates :math:`t_k` and weights :math:`w_k`
makes both sums of squares, and :math:`\rho` a Euclidean distance:

.. math:: \rho^2(x, x') = \lVert \varphi(x) - \varphi(x') \rVert^2, \qquad
          \varphi(x) = \sqrt{w_k}\, e^{-t_k/2} \bigl(e^{-t_k x/h},\ e^{-t_k(1 - x)/h}\bigr)_{k = 1, \dots, K} .

In :math:`v = \ln t` the integrand is analytic and falls off at both ends, so that equally spaced points are enough: the
number `K` grows with :math:`\ln(1/h)`, where Chebyshev polynomials need :math:`h^{-1/2}`. Below :math:`t = h`
nothing but the spacing is left of the integrand, and a few Gauss points replace the infinitely many that lie there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Array = npt.NDArray[np.float64]

_STEPS = np.arange(0.5, 0.19, -0.02)  # of ln t, the longest first
_GAUSS = 7  # points in place of those below t = h; their error is less than 1e-16 / h
_LOWEST = -100.0  # exponent that makes no difference any more; far below, exponentials take ten times as long


@dataclass(frozen=True)
class ExponentialRule:
    r"""A quadrature rule.

    Attributes:
        rates: :math:`t_k`, `K`.
        factors: :math:`\sqrt{w_k} e^{-t_k/2}`, `K`.
    """

    rates: Array
    factors: Array

    @property
    def count(self) -> int:
        """Number of features of a coordinate, `2K`."""
        return 2 * len(self.rates)


def error_bound(step: npt.ArrayLike, bandwidth: npt.ArrayLike) -> Array:
    r"""Bound on the absolute error of :math:`\rho^2` of one coordinate.

    The error of equally spaced points is a sum of values of the Fourier transform of the integrand, here at
    :math:`y = 2\pi m/\delta`, where :math:`\delta` is the step and :math:`m = \pm 1, \pm 2, \dots`: :math:`\Gamma(-iy)`
    times a second difference of Hurwitz's zeta function :math:`\zeta(-iy, \cdot)` between :math:`p` and :math:`q`. By
    Euler and Maclaurin :math:`|\zeta(-iy, a)| \le a/y + 1/2 + (1 + y)^2/12` for :math:`a \ge 1`, and the eight terms of
    both ends have arguments that add up to :math:`8 + 8/h`. The first `m` is all that counts, as
    :math:`|\Gamma(iy)| = \sqrt{\pi/(y \sinh \pi y)}`; rates above :math:`\pi^2/\delta` are left out. Rounding adds some
    units in the last place of the largest squared distance from the centre.

    Args:
        step: :math:`\delta`, at most 0.5.
        bandwidth: Bandwidth `h`, broadcastable with it.
    """
    h, y = np.asarray(bandwidth, dtype=np.float64), 2 * np.pi / np.asarray(step, dtype=np.float64)
    gamma = np.sqrt(2 * np.pi / y) * np.exp(-np.pi * y / 2)
    quadrature = 2.1 * gamma * ((8 + 8 / h) / y + 4 + 2 / 3 * (1 + y) ** 2)
    bound: Array = quadrature + 8 * np.finfo(np.float64).eps * np.minimum(1.39 / h, 1.65 / h**2)
    return bound


def choose_rule(bandwidth: Tensor, weight: Tensor, tolerance: float) -> ExponentialRule | None:
    r"""The shortest rule with which :math:`\sum_i w_i \rho_i^2` is within `tolerance`, or None where there is none.

    Args:
        bandwidth: Bandwidths of the `d` coordinates, `... x d`.
        weight: Factors of the coordinates' squared distances, `... x d`.
        tolerance: Absolute error allowed in the weighted sum.
    """
    dims = bandwidth.shape[-1]
    h = bandwidth.detach().reshape(-1, dims).amin(dim=0).double().cpu().numpy()
    w = weight.detach().reshape(-1, dims).amax(dim=0).double().cpu().numpy()
    enough = (w * error_bound(_STEPS[:, None], h)).sum(axis=-1) <= tolerance
    if not enough[-1]:
        return None
    # Powers of two, so that there are few rules.
    return exponential_rule(float(_STEPS[enough.argmax()]), 2.0 ** math.floor(math.log2(h.min())))


@lru_cache(maxsize=256)
def exponential_rule(step: float, smallest: float) -> ExponentialRule:
    """The rule with the given step of `ln t` for bandwidths from `smallest` on."""
    start = min(smallest, 1.0)
    # Gauss's rule for the points start * exp(-j step), j = 0, 1, ...: the eigenvalues of t in orthogonal polynomials.
    points = np.exp(-step * np.arange(math.ceil(40 / step)))
    masses = step * points
    orthogonal, _ = np.linalg.qr(
        np.sqrt(masses)[:, None] * np.polynomial.legendre.legvander(2 * points - 1, _GAUSS - 1)
    )
    nodes, vectors = np.linalg.eigh((orthogonal.T * points) @ orthogonal)
    low = start * nodes
    # The mass of a point stands for t d(ln t): what is left of the integrand is divided by t.
    low_weights = vectors[0] ** 2 * masses.sum() / (nodes * -np.expm1(-low))
    high = start * np.exp(step * np.arange(1, math.ceil(math.log(math.pi**2 / (step * start)) / step) + 1))
    high_weights = step / -np.expm1(-high)
    rates = np.concatenate([low, high])
    return ExponentialRule(rates, np.sqrt(np.concatenate([low_weights, high_weights])) * np.exp(-rates / 2))


def exponential_features(x: Tensor, bandwidth: Tensor, rule: ExponentialRule) -> Tensor:
    r"""Features :math:`\varphi(x)`, zero at the centre of the interval.

    Args:
        x: Points in [0, 1], `... x d`, in float64.
        bandwidth: Bandwidths, broadcastable with `x`.
        rule: A rule for these bandwidths.

    Returns:
        Features, `... x d x 2K`.
    """
    decay, at_centre, factors = _exponents(x, bandwidth, rule)
    return ((torch.expm1(decay) - torch.expm1(at_centre)) * factors).flatten(-2)


@torch.no_grad()
def features_with_slopes(x: Tensor, bandwidth: Tensor, rule: ExponentialRule) -> tuple[Tensor, Tensor]:
    """What `exponential_features` gives, and its derivatives by the logarithms of the bandwidths, without a graph."""
    slopes, at_centre, factors = _exponents(x, bandwidth, rule)
    features = torch.expm1(slopes)
    slopes.addcmul_(slopes, features).neg_().add_(at_centre * at_centre.exp()).mul_(factors)
    features.sub_(torch.expm1(at_centre)).mul_(factors)
    return features.flatten(-2), slopes.flatten(-2)


def slopes_by_point(x: Tensor, bandwidth: Tensor, rule: ExponentialRule) -> Tensor:
    """The derivatives of `exponential_features` by the points, of the same shape."""
    decay, _, factors = _exponents(x, bandwidth, rule)
    rates = torch.from_numpy(rule.rates).to(x.device) * factors / bandwidth.unsqueeze(-1).unsqueeze(-1)
    return (torch.cat([-rates, rates], dim=-2) * decay.exp()).flatten(-2)


def _exponents(x: Tensor, bandwidth: Tensor, rule: ExponentialRule) -> tuple[Tensor, Tensor, Tensor]:
    """The exponents of both ends, `... x d x 2 x K`, those at the centre, `... x d x 1 x K`, and the factors, `K`."""
    rates, factors = (torch.from_numpy(t).to(x.device) for t in (rule.rates, rule.factors))
    minus = -1 / bandwidth.unsqueeze(-1).unsqueeze(-1)
    ends = torch.stack([x, 1 - x], dim=-1).unsqueeze(-1)
    at_ends, at_centre = ((place * minus * rates).clamp_min_(_LOWEST) for place in (ends, 0.5))
    return at_ends, at_centre, factors


def exponential_form(x1: Tensor, x2: Tensor, bandwidth: Tensor, weight: Tensor, rule: ExponentialRule) -> Tensor:
    """The weighted sum of squared distances for all pairs, in float64.

    Args:
        x1: Points, `... x n x d`.
        x2: Points, `... x m x d`; if it is the same tensor, its features are made once.
        bandwidth: `... x 1 x d`.
        weight: `... x 1 x d`.
        rule: A rule for these bandwidths.

    Returns:
        `... x n x m`, with rounding errors where points coincide.
    """

    def features(x: Tensor) -> Tensor:
        stretched = exponential_features(x.double(), bandwidth, rule) * weight.sqrt().unsqueeze(-1)
        return stretched.flatten(-2)

    features1 = features(x1)
    features2 = features1 if x1 is x2 else features(x2)
    norms1, norms2 = (f.square().sum(dim=-1, keepdim=True) for f in (features1, features2))
    return norms1 + norms2.mT - 2 * (features1 @ features2.mT)
