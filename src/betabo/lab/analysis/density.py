r"""Density estimates on [0, 1] with Beta kernels (Chen 1999).

An ordinary kernel estimate loses mass over the ends of the interval. Chen's estimates weigh an observation :math:`X` by
a Beta density whose shape depends on the place :math:`x`, so nothing leaks out and the bias at the ends is of the order
of the bandwidth :math:`b`, as inside:

* `"beta1"`: :math:`\mathrm{Beta}(X;\ x/b + 1,\ (1 - x)/b + 1)`, with mode :math:`x`;
* `"beta2"`: :math:`\mathrm{Beta}(X;\ x/b,\ (1 - x)/b)`, with mean :math:`x`, on :math:`[2b, 1 - 2b]`; nearer to an end
  the small parameter is replaced by :math:`\varrho(x) = 2b^2 + 5/2 - \sqrt{(2b^2 + 3/2)^2 - x^2 - x/b}`, with
  :math:`x` the distance to that end. Less bias, for :math:`b \le 1/4`.

Neither integrates to one, so estimates are divided by their integral unless told otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import betaln, xlog1py, xlogy

Array = npt.NDArray[np.float64]
Estimator = Literal["beta1", "beta2"]
BandwidthRule = Literal["rule-of-thumb", "least-squares", "likelihood"]

_LARGEST_BANDWIDTH = {"beta1": 1.0, "beta2": 0.25}
_ELEMENTS = 1_000_000  # of the largest temporary array

# Cross-validation searches between the rule of thumb times these. The lower one keeps it from collapsing onto ties.
_SEARCH = (0.05, 10.0)


class BetaDensity:
    """Chen's estimate of a density on [0, 1].

    Args:
        sample: Observations in [0, 1], at least two that differ; any shape.
        bandwidth: A positive number, `"rule-of-thumb"`, or cross-validation by `"least-squares"` or `"likelihood"`.
        estimator: `"beta1"` or `"beta2"`, Chen's first and second.
        normalized: Whether to divide by the integral over [0, 1].

    Attributes:
        sample: The observations, flat.
        bandwidth: The bandwidth used.
        integral: Integral over [0, 1] before normalization.

    Example:
        >>> density = BetaDensity(np.random.default_rng(0).beta(0.8, 3, 200), bandwidth="least-squares")
        >>> values = density(np.linspace(0, 1, 101))
    """

    def __init__(
        self,
        sample: npt.ArrayLike,
        bandwidth: float | BandwidthRule = "rule-of-thumb",
        estimator: Estimator = "beta1",
        normalized: bool = True,
    ) -> None:
        _check_estimator(estimator)
        self.sample = _unit_interval(sample, "sample")
        self.estimator: Estimator = estimator
        self.bandwidth = (
            choose_bandwidth(self.sample, bandwidth, estimator)
            if isinstance(bandwidth, str)
            else _check_bandwidth(bandwidth, estimator)
        )
        nodes, weights = _quadrature(self.bandwidth)
        self.integral = float(weights @ self._raw(nodes))
        self.normalized = normalized

    def __call__(self, x: npt.ArrayLike) -> Array:
        """The density at `x` in [0, 1], of the shape of `x`."""
        places = _unit_interval(x, "x", flat=False)
        values = self._raw(places.ravel()).reshape(places.shape)
        return values / self.integral if self.normalized else values

    def _raw(self, x: Array) -> Array:
        parts = np.array_split(x, max(1, x.size * self.sample.size // _ELEMENTS))
        return np.concatenate([_weights(part, self.sample, self.bandwidth, self.estimator).mean(-1) for part in parts])


def rule_of_thumb(sample: npt.ArrayLike, estimator: Estimator = "beta1") -> float:
    r"""Bandwidth :math:`s\, n^{-2/5}` from the standard deviation :math:`s`, the rate that is optimal inside."""
    _check_estimator(estimator)
    values = _unit_interval(sample, "sample")
    spread = float(values.std(ddof=1)) if values.size > 1 else 0.0
    if spread == 0:
        raise ValueError(
            f"sample has {values.size} observations without spread, from which no bandwidth follows; give a number."
        )
    return min(spread / math.pow(values.size, 0.4), _LARGEST_BANDWIDTH[estimator])


def choose_bandwidth(sample: npt.ArrayLike, rule: BandwidthRule, estimator: Estimator = "beta1") -> float:
    r"""Bandwidth by a rule.

    Cross-validation minimizes an estimate of :math:`\int(\hat f - f)^2` up to a constant (`"least-squares"`), or of the
    Kullback-Leibler divergence (`"likelihood"`), of the normalized estimate with one observation left out. It searches
    from a twentieth to ten times the rule of thumb.
    """
    if rule not in get_args(BandwidthRule):
        raise ValueError(
            f"bandwidth is {rule!r}, expected a number or one of {', '.join(map(repr, get_args(BandwidthRule)))}."
        )
    values = _unit_interval(sample, "sample")
    start = rule_of_thumb(values, estimator)
    if rule == "rule-of-thumb":
        return start
    if values.size < 3:
        raise ValueError(f"sample has {values.size} observations, expected at least 3 for cross-validation.")

    def score(log_bandwidth: float) -> float:
        return _left_out(values, math.exp(log_bandwidth), estimator, rule)

    high = min(_SEARCH[1] * start, _LARGEST_BANDWIDTH[estimator])
    return math.exp(_minimize(score, math.log(_SEARCH[0] * start), math.log(high)))


def _left_out(sample: Array, bandwidth: float, estimator: Estimator, rule: BandwidthRule) -> float:
    """The cross-validation score, to be minimized."""
    nodes, weights = _quadrature(bandwidth)
    at_nodes = _weights(nodes, sample, bandwidth, estimator)
    integrals = weights @ at_nodes  # of each observation's share
    at_sample = _weights(sample, sample, bandwidth, estimator)
    others = (at_sample.sum(-1) - np.diag(at_sample)) / (integrals.sum() - integrals)
    if rule == "likelihood":
        return -float(np.log(np.maximum(others, np.finfo(float).tiny)).mean())
    square = weights @ (at_nodes.mean(-1) / integrals.mean()) ** 2
    return float(square - 2 * others.mean())


def _weights(x: Array, sample: Array, bandwidth: float, estimator: Estimator) -> Array:
    """Kernel of each place and observation, `len(x) x n`."""
    alpha, beta = _shapes(x, bandwidth, estimator)
    norm = betaln(alpha, beta)[:, None]
    log_weights = xlogy(alpha[:, None] - 1, sample) + xlog1py(beta[:, None] - 1, -sample) - norm
    return np.asarray(np.exp(log_weights), dtype=np.float64)


def _shapes(x: Array, bandwidth: float, estimator: Estimator) -> tuple[Array, Array]:
    """Shape parameters of the kernel at each place."""
    alpha, beta = x / bandwidth, (1 - x) / bandwidth
    if estimator == "beta1":
        return alpha + 1, beta + 1

    def corrected(distance: Array) -> Array:
        centre = 2 * bandwidth**2 + 1.5
        near = np.minimum(distance, 2 * bandwidth)
        return np.maximum(1 + centre - np.sqrt(centre**2 - near**2 - near / bandwidth), 1.0)

    return (
        np.where(x < 2 * bandwidth, corrected(x), alpha),
        np.where(1 - x < 2 * bandwidth, corrected(1 - x), beta),
    )


def _quadrature(bandwidth: float) -> tuple[Array, Array]:
    r"""Nodes and weights on [0, 1]: Gauss-Legendre panels in :math:`\theta`, :math:`x = \sin^2\theta`.

    In :math:`\theta` the kernel is about :math:`\sqrt b/2` wide everywhere, and a panel is at most twice that. Panels
    end where `"beta2"` has a kink.
    """
    kink = math.asin(math.sqrt(min(2 * bandwidth, 0.5)))
    uniform = np.linspace(0, math.pi / 2, math.ceil(math.pi / 2 / math.sqrt(bandwidth)) + 2)
    edges = np.union1d(uniform, [kink, math.pi / 2 - kink])
    nodes, weights = np.polynomial.legendre.leggauss(8)
    widths = np.diff(edges)[:, None]
    theta = edges[:-1, None] + widths * (nodes + 1) / 2
    return np.sin(theta.ravel()) ** 2, (widths * weights / 2 * np.sin(2 * theta)).ravel()


def _minimize(score: Callable[[float], float], low: float, high: float) -> float:
    """The minimum of a function with several: a grid, then Brent's method around its best point."""
    grid = np.linspace(low, high, 25)
    best = int(np.argmin([score(value) for value in grid]))
    bracket = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    return float(minimize_scalar(score, bounds=bracket, method="bounded", options={"xatol": 1e-4}).x)


def _unit_interval(values: npt.ArrayLike, name: str, flat: bool = True) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        raise ValueError(f"{name} is empty, expected numbers in [0, 1].")
    outside = ~((array >= 0) & (array <= 1))
    if outside.any():
        raise ValueError(f"{name} contains {array[outside].flat[0]}, expected numbers in [0, 1]; scale by the bounds.")
    return array.ravel() if flat else array


def _check_estimator(estimator: str) -> None:
    if estimator not in _LARGEST_BANDWIDTH:
        raise ValueError(f"estimator is {estimator!r}, expected 'beta1' or 'beta2'.")


def _check_bandwidth(bandwidth: float, estimator: Estimator) -> float:
    if not 0 < bandwidth <= _LARGEST_BANDWIDTH[estimator]:
        raise ValueError(
            f"bandwidth is {bandwidth}, expected a number > 0 and at most {_LARGEST_BANDWIDTH[estimator]} "
            f"for {estimator!r}."
        )
    return float(bandwidth)
