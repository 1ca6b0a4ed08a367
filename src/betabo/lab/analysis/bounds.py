r"""Explicit constants of the theory of the Beta kernel: every bound that `docs/theory.md` proves, as a function.

For one coordinate with bandwidth :math:`h` the correlation form (boundary weight 0) is an inner product of features
that are analytic in the strip :math:`-h/2 < \operatorname{Re} z < 1 + h/2`. Two families of subspaces
:math:`V_0 \subset V_1 \subset \dots` with :math:`\dim V_n \le n` approximate them, and what is left of the variance
at any point is at most :math:`\min(1, C e^{-bn})`:

* the *ellipse* family, Chebyshev coefficients of the features: constants that stay moderate as :math:`h \to 0`;
* the *strip* family, the same after a conformal map: the largest possible rate :math:`b`, for a constant of the order
  :math:`4^{1/h}`.

Everything else follows from :math:`(C_i, b_i)` of the coordinates. Boundary weights multiply the prior variance by at
most the exponential of `log_largest_variance` and change nothing else. Constants are carried in logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, ellipkm1, gammaincc, gammaln, polygamma, xlogy, zeta

from betabo.kernels.chebyshev import ellipse_parameter

Array = npt.NDArray[np.float64]

_REACHES = 1 - np.geomspace(0.999, 1e-5, 400)
"""Ellipses looked at, by their reach: 1 is the largest one inside the strip. Every one gives a valid bound."""


@dataclass(frozen=True)
class Decay:
    r"""A bound :math:`\min(1, C e^{-bn})` for :math:`n = 0, 1, \dots`.

    Attributes:
        log_constant: :math:`\ln C`.
        rate: :math:`b > 0`.
    """

    log_constant: float
    rate: float

    def __call__(self, n: npt.ArrayLike) -> Array:
        """The bound at `n`, elementwise."""
        return np.asarray(np.exp(np.minimum(0.0, self.log_constant - self.rate * np.asarray(n, dtype=np.float64))))


def metric_range(bandwidth: float) -> tuple[float, float]:
    r"""Least and largest local metric, :math:`g''(1)` and :math:`g''(0)`.

    .. math:: g''(1)\,(x - x')^2 \le \rho^2(x, x') \le g''(0)\,(x - x')^2
    """
    h = _positive(bandwidth)
    trigamma = polygamma(1, np.array([1.0, 1 + 1 / h, 1 + 2 / h]))
    return float(2 * trigamma[1] / h**2), float((trigamma[0] + trigamma[2]) / h**2)


def jensen_shannon(x: npt.ArrayLike, y: npt.ArrayLike) -> Array:
    """Jensen-Shannon divergence, in nats, of two coins that show heads with probabilities `x` and `y`; elementwise."""
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)

    def entropy(p: Array) -> Array:
        return np.asarray(-xlogy(p, p) - xlogy(1 - p, 1 - p))

    return np.asarray(entropy((first + second) / 2) - (entropy(first) + entropy(second)) / 2)


def small_bandwidth_error(bandwidth: float) -> float:
    r"""Bound on :math:`|h\rho_h^2(x, x') - 4J(x, x')|` over the square: :math:`2h\ln(4\pi/h) + h^2/6`."""
    h = _positive(bandwidth)
    return 2 * h * math.log(4 * math.pi / h) + h**2 / 6 if h < 4 * math.pi else math.inf


def large_bandwidth_error(bandwidth: float) -> float:
    r"""Bound on :math:`|h^2\rho_h^2(x, x') - \tfrac{\pi^2}3 (x - x')^2|` over the square: :math:`4\zeta(3)/h`."""
    return float(4 * zeta(3.0) / _positive(bandwidth))


def log_largest_variance(bandwidths: npt.ArrayLike, boundary_weight: float = 1.0) -> float:
    r"""Log of the largest prior variance :math:`\prod_i e^{w E_i(0)}` for variance 1 at the centre of the cube."""
    return float(sum(boundary_weight * _excess_at_end(h) for h in _bandwidths(bandwidths)))


def log_ellipse_norm(bandwidth: float, reach: npt.ArrayLike) -> Array:
    r"""Log of a bound on the mean squared norm of the features over the ellipse with semi-axis :math:`A = 1 + h s`.

    .. math:: N^2 = \Bigl[1 + \frac{A^2 - 1}{A^2}\Bigl(\frac{1 + h}{\sqrt{(1 + h)^2 - A^2}} - 1\Bigr)\Bigr]
              \exp\frac{A^2 - 1}{h(1 + h)}

    Args:
        bandwidth: Bandwidth `h`.
        reach: Reach `s` in (0, 1).
    """
    h, s = _positive(bandwidth), np.asarray(reach, dtype=np.float64)
    inside = s * (2 + h * s)  # (A^2 - 1) / h
    left = (1 - s) * (2 + h * (1 + s))  # ((1 + h)^2 - A^2) / h
    pole = h * inside / (1 + h * inside) * ((1 + h) / np.sqrt(h * left) - 1)
    return np.asarray(np.log1p(pole) + inside / (1 + h))


def decay_rate(bandwidth: float) -> float:
    r"""Exact exponential rate of the eigenvalues of one coordinate, :math:`b_h = \frac\pi2 K(k')/K(k)`.

    Here :math:`k = \tan^2\frac{\pi}{4(1 + h)}`, :math:`k'^2 = 1 - k^2`, and `K` is the complete elliptic integral.
    It is :math:`\pi` for :math:`h = 1`.
    """
    return _strip(bandwidth).rate


def residual_decays(bandwidth: float) -> list[Decay]:
    """Bounds on the share of the variance left by `n` features, at every point: the strip's, and many ellipses'.

    The ellipses belong to one family of subspaces, so that the least of their bounds holds too.
    """
    strip = _strip(bandwidth)
    constant = (2 + 2 / bandwidth) * math.log(2) + math.log(math.pi / (strip.gap * strip.period))
    first = Decay(constant - math.log(-math.expm1(-strip.rate)), strip.rate)
    log_norm, log_r = log_ellipse_norm(bandwidth, _REACHES), _log_ellipses(bandwidth)
    constants = math.log(4) + log_norm - np.log(-np.expm1(-2 * log_r))
    return [first, *(Decay(float(c), float(2 * r)) for c, r in zip(constants, log_r, strict=True))]


def eigenvalue_decays(bandwidth: float) -> list[Decay]:
    r"""Bounds on :math:`\lambda_{n+1}` of the integral operator on [0, 1]: the strip's, and many ellipses'."""
    strip = _strip(bandwidth)
    log_norm, log_r = log_ellipse_norm(bandwidth, _REACHES), _log_ellipses(bandwidth)
    ellipses = (Decay(math.log(math.pi) + float(c), float(2 * r)) for c, r in zip(log_norm, log_r, strict=True))
    return [Decay(math.log(2) + _log_strip_eigenvalue(bandwidth), strip.rate), *ellipses]


def closed_residual_bound(bandwidth: float, n: npt.ArrayLike) -> Array:
    r"""The ellipse bound on the residual with its ellipse chosen in closed form, for :math:`n \ge 1`.

    .. math:: 14\, e^{1 + (2 + h)/(1 + h)}\, \frac{\sqrt n\, r^{-2n}}{1 - r^{-2}}, \qquad r = 1 + h + \sqrt{h(2 + h)}
    """
    log_r = math.log(ellipse_parameter(_positive(bandwidth)))
    return np.asarray(_closed(14.0, bandwidth, n) / -math.expm1(-2 * log_r))


def closed_eigenvalue_bound(bandwidth: float, n: npt.ArrayLike) -> Array:
    r"""Bound on the sum of the eigenvalues after the first :math:`n \ge 1`, uniform measure on [0, 1].

    .. math:: 8\, e^{1 + (2 + h)/(1 + h)}\, \sqrt n\, r^{-2n}, \qquad r = 1 + h + \sqrt{h(2 + h)}
    """
    return _closed(8.0, bandwidth, n)


def coordinate_spectrum_range(bandwidth: float, n: npt.ArrayLike) -> tuple[Array, Array]:
    r"""Bounds from below and above on :math:`\ln\lambda_{n+1}` on [0, 1], boundary weight 0, by the strip alone.

    .. math:: \frac{(1 + h)\sin 2\alpha\,(1 - \kappa^2)^2}{2^{3 + 2/h}(2n + 1)} \le
              \frac{\lambda_{n+1}}{\operatorname{sech}(b n)} \le 2^{1 + 2/h} (1 + h) \tan 2\alpha,
              \qquad \kappa = \tan\alpha, \quad \alpha = \frac{\pi}{4(1 + h)}
    """
    h, count = _positive(bandwidth), np.asarray(n, dtype=np.float64)
    strip = _strip(h)
    log_sech = math.log(2) - strip.rate * count - np.log1p(np.exp(-2 * strip.rate * count))
    sine = math.sin(math.pi / (2 * (1 + h)))
    low = math.log((1 + h) * sine * strip.gap**2) - (3 + 2 / h) * math.log(2) - np.log(2 * count + 1)
    return np.asarray(low + log_sech), np.asarray(_log_strip_eigenvalue(h) + log_sech)


def decay_constant(bandwidths: npt.ArrayLike) -> float:
    r"""The constant :math:`c = (d!\,\prod_i b_{h_i})^{1/d}` of :math:`\ln\lambda_m \sim -c\, m^{1/d}`."""
    rates = [decay_rate(h) for h in _bandwidths(bandwidths)]
    return math.exp((math.lgamma(len(rates) + 1) + sum(map(math.log, rates))) / len(rates))


def log_eigenvalue_bound(bandwidths: npt.ArrayLike, rank: npt.ArrayLike, boundary_weight: float = 0.0) -> Array:
    r"""Bound on the log of the `rank`-th eigenvalue (1 is the largest) on the cube with the uniform measure.

    .. math:: \lambda_{m+1} \le v \min\Bigl(1,\
              e^{\sum_i (b_i + \ln C_i)}\exp\bigl(-(d!\,\textstyle\prod_i b_i)^{1/d}\, m^{1/d}\bigr)\Bigr)

    with :math:`v` the largest prior variance; the least over the available :math:`(C_i, b_i)`.
    """
    h = _bandwidths(bandwidths)
    m = np.atleast_1d(np.asarray(rank, dtype=np.float64)) - 1
    choices = [eigenvalue_decays(value) for value in h]
    dims = len(h)
    best = np.zeros_like(m)
    for decays in zip(*choices, strict=True):
        offset = sum(decay.rate + decay.log_constant for decay in decays)
        best = np.minimum(best, offset - np.exp(_log_volume(decays) / dims) * m ** (1 / dims))
    return best + log_largest_variance(h, boundary_weight)


def residual_bound(bandwidths: npt.ArrayLike, count: npt.ArrayLike) -> Array:
    r"""Bound on the largest share of the prior variance that the best `count` features leave at any point of the cube.

    .. math:: Q\Bigl(d,\ (d!\,\textstyle\prod_i b_i)^{1/d}\, m^{1/d} - \sum_i (b_i + \ln C_i)\Bigr),
              \qquad Q(d, y) = e^{-y} \sum_{j < d} y^j/j!

    It bounds the sum of all eigenvalues after the first `m`, for every probability measure on the cube.
    """
    h = _bandwidths(bandwidths)
    m = np.atleast_1d(np.asarray(count, dtype=np.float64))
    dims = len(h)
    best = np.ones_like(m)
    for decays in zip(*(residual_decays(value) for value in h), strict=True):
        offset = sum(decay.rate + decay.log_constant for decay in decays)
        length = np.exp(_log_volume(decays) / dims) * m ** (1 / dims) - offset
        best = np.minimum(best, gammaincc(dims, np.maximum(length, 0.0)))
    return best


def information_gain_bound(
    bandwidths: npt.ArrayLike, evaluations: int, noise: float, boundary_weight: float = 0.0
) -> float:
    r"""Bound on the maximum information gain :math:`\gamma_T`, in closed form.

    .. math:: \gamma_T \le \frac{1}{2\,d!\,\prod_i b_i}\Bigl(\frac{L^{d+1}}{d + 1} + (L + d)^d\Bigr),
              \qquad L = \ln^+\frac{T v}{\sigma^2} + \sum_i (b_i + \ln C_i)

    or :math:`\frac T2 \ln(1 + v/\sigma^2)` where that is less, which holds for every kernel and means that the bound
    says nothing: so it is for small bandwidths, many dimensions and few evaluations.

    Args:
        bandwidths: Bandwidths of the coordinates.
        evaluations: Number of evaluations `T`.
        noise: Noise variance, in units of the prior variance at the centre.
        boundary_weight: Boundary weight `w`; the largest prior variance `v` follows from it.
    """
    h = _bandwidths(bandwidths)
    log_ratio = max(0.0, _log_ratio(h, evaluations, noise, boundary_weight))
    dims, best = len(h), math.inf
    for decays in zip(*(residual_decays(value) for value in h), strict=True):
        length = log_ratio + sum(decay.rate + decay.log_constant for decay in decays)
        whole = length ** (dims + 1) / (dims + 1) + (length + dims) ** dims
        best = min(best, 0.5 * whole / math.exp(_log_volume(decays)))
    return _at_most_independent(best, h, evaluations, noise, boundary_weight)


def information_gain_series(
    bandwidths: npt.ArrayLike, evaluations: int, noise: float, boundary_weight: float = 0.0, tolerance: float = 1e-3
) -> float:
    r"""Bound on the maximum information gain :math:`\gamma_T`, as the series from which the closed form follows.

    .. math:: \gamma_T \le \frac12 \sum_{n \in \mathbb N_0^d}
              \ln\Bigl(1 + \frac{T v}{\sigma^2} \prod_i \varepsilon_i(n_i)\Bigr)

    with :math:`\varepsilon_i(n)` the bound on the residual of `n` features in coordinate `i`; never more than
    :math:`\frac T2 \ln(1 + v/\sigma^2)`.

    Args:
        bandwidths: Bandwidths of the coordinates; at most a handful, as the terms are enumerated.
        evaluations: Number of evaluations `T`.
        noise: Noise variance, in units of the prior variance at the centre.
        boundary_weight: Boundary weight.
        tolerance: Terms well below it are not enumerated; a bound on their sum is added.
    """
    h = _bandwidths(bandwidths)
    log_ratio = _log_ratio(h, evaluations, noise, boundary_weight)
    cut = -max(log_ratio, 0.0) - math.log(1 / tolerance) - 10 * len(h)
    families = [[decays[:1], decays[1:]] for decays in map(residual_decays, h)]
    best = min(
        _series([_log_residuals(family, cut) for family in choice], log_ratio, cut)
        for choice in zip(*families, strict=True)
    )
    return _at_most_independent(best, h, evaluations, noise, boundary_weight)


def derivative_tail(bandwidths: npt.ArrayLike, boundary_weight: float = 0.0) -> tuple[float, float]:
    r"""Constants :math:`a, b` with :math:`P(\sup_x |\partial_i f(x)| > u) \le a e^{-(u/b)^2}` for every `i`, `u`.

    `f` is a sample path of the Gaussian process with mean zero and variance 1 at the centre of the cube.

    Returns:
        :math:`\ln a`, which can be large, and :math:`b`.
    """
    h = _bandwidths(bandwidths)
    sizes, slopes = zip(*(_expected_suprema(value) for value in h), strict=True)
    log_all = sum(map(math.log, sizes))
    half_variance = 0.5 * log_largest_variance(h, boundary_weight)
    log_means, deviations = [], []
    for value, size, slope in zip(h, sizes, slopes, strict=True):
        tilt = 0.5 * boundary_weight * abs(_excess_slope_at_end(value))
        log_means.append(half_variance + 0.5 * math.log(2 / math.pi) + log_all + math.log(slope / size + tilt))
        deviations.append(half_variance + 0.5 * math.log(metric_range(value)[1] + tilt**2))
    # Both constants may be enlarged to serve all coordinates at once.
    log_b = math.log(2) + max(deviations)
    log_a = max(0.5 * math.exp(2 * (mean - s)) for mean, s in zip(log_means, deviations, strict=True))
    return log_a, math.exp(log_b)


def bayesian_regret_bound(
    bandwidths: npt.ArrayLike, evaluations: int, noise: float, failure: float = 0.1, boundary_weight: float = 0.0
) -> float:
    r"""Bound on the cumulative regret of GP-UCB for a sample path of the prior, with probability `1 - failure`.

    .. math:: R_T \le \sqrt{C_1 T \beta_T \gamma_T} + \frac{\pi^2}6, \qquad
              C_1 = \frac{8 v}{\ln(1 + v/\sigma^2)}

    in units of the prior standard deviation at the centre, with :math:`\beta_T` of `exploration_weight`.
    """
    h = _bandwidths(bandwidths)
    variance = math.exp(log_largest_variance(h, boundary_weight))
    gain = information_gain_bound(h, evaluations, noise, boundary_weight)
    beta = exploration_weight(h, evaluations, failure, boundary_weight)
    factor = 8 * variance / math.log1p(variance / noise)
    return math.sqrt(factor * evaluations * beta * gain) + math.pi**2 / 6


def exploration_weight(
    bandwidths: npt.ArrayLike, evaluation: int, failure: float = 0.1, boundary_weight: float = 0.0
) -> float:
    r"""The :math:`\beta_t` of GP-UCB for which `bayesian_regret_bound` holds.

    .. math:: \beta_t = 2\ln\frac{2\pi^2 t^2}{3\delta} + 2d\ln\Bigl(t^2 d\, b \sqrt{\ln(4da/\delta)}\Bigr)
    """
    h = _bandwidths(bandwidths)
    if not 0 < failure < 1:
        raise ValueError(f"failure is {failure}, expected a probability in (0, 1).")
    log_a, b = derivative_tail(h, boundary_weight)
    dims = len(h)
    lipschitz = b * math.sqrt(math.log(4 * dims / failure) + log_a)
    first = 2 * math.log(2 * math.pi**2 * evaluation**2 / (3 * failure))
    return first + 2 * dims * max(math.log(evaluation**2 * dims * lipschitz), 0.0)


def rkhs_regret_bound(
    bandwidths: npt.ArrayLike,
    evaluations: int,
    noise: float,
    norm: float = 1.0,
    failure: float = 0.1,
    boundary_weight: float = 0.0,
) -> float:
    r"""Bound on the cumulative regret of GP-UCB for a fixed function of the kernel's Hilbert space.

    .. math:: R_T \le 2\,\bigl(B + \sqrt{2(\gamma_T + \ln(1/\delta))}\bigr)
              \sqrt{\frac{2 v}{\ln(1 + v/\sigma^2)}\, T \gamma_T}

    with probability `1 - failure`, for noise that is sub-Gaussian with variance proxy :math:`\sigma^2` and a function
    of norm at most `B`.
    """
    h = _bandwidths(bandwidths)
    if not 0 < failure < 1:
        raise ValueError(f"failure is {failure}, expected a probability in (0, 1).")
    variance = math.exp(log_largest_variance(h, boundary_weight))
    gain = information_gain_bound(h, evaluations, noise, boundary_weight)
    width = norm + math.sqrt(2 * (gain + math.log(1 / failure)))
    return 2 * width * math.sqrt(2 * variance / math.log1p(variance / noise) * evaluations * gain)


def matmul_error_bound(degree: int, bandwidth: float) -> float:
    r"""Bound on the error of :math:`\rho^2` in the matmul form of one coordinate, in exact arithmetic.

    Truncation after `degree` polynomials, and interpolation at :math:`N` nodes:

    .. math:: \frac{16}P \sum_{k \ge 1} \bigl[e_P(1 + 2kh) + e_P(3 + 2kh)\bigr]
              + \frac{32 \Lambda^2}{N} \sum_{k \ge 1} \frac{\zeta(1 + kh)^{-N}}{1 - \zeta(1 + kh)^{-2}}

    with :math:`\zeta(z) = z + \sqrt{z^2 - 1}`, :math:`e_P(z) = \zeta(z)^{-P}/(1 - 1/\zeta(z))`, and :math:`\Lambda` the
    Lebesgue constant of Fourier sums of degree :math:`P - 1`.
    """
    h = _positive(bandwidth)
    if degree < 4:
        raise ValueError(f"degree is {degree}, expected at least 4 polynomials.")
    nodes = 2 * (math.ceil(0.75 * degree) + 2)

    def tail(start: float, step: float, power: int, skip: int) -> float:
        # Terms beyond the last are bounded by an integral: zeta(1 + z) >= 1 + 2z, and the quotient only falls.
        count = max(64, math.ceil(4 * power / min(step, 1.0) ** 0.5))
        z = start + step * np.arange(1, count + 1)
        logs = np.log1p(z + np.sqrt(z * (z + 2)))
        terms = np.exp(-power * logs) / -np.expm1(-skip * logs)
        beyond = (1 + 2 * z[-1]) ** (1 - power) / (2 * step * (power - 1))
        return float(terms.sum() + beyond / -math.expm1(-skip * logs[-1]))

    truncation = 16 / degree * (tail(0.0, 2 * h, degree, 1) + tail(2.0, 2 * h, degree, 1))
    interpolation = 32 * _lebesgue_constant(degree - 1) ** 2 / nodes * tail(0.0, h, nodes, 2)
    return truncation + interpolation


@dataclass(frozen=True)
class _Strip:
    """Constants of the conformal map of the strip: the rate, `K(k)`, and `1 - k` without loss of digits."""

    rate: float
    period: float
    gap: float


def _strip(bandwidth: float) -> _Strip:
    h = _positive(bandwidth)
    angle = math.pi / (4 * (1 + h))
    modulus = math.tan(angle) ** 2
    gap = math.sin(math.pi * h / (2 * (1 + h))) / math.cos(angle) ** 2
    period = float(ellipkm1(gap * (1 + modulus)))
    return _Strip(0.5 * math.pi * float(ellipkm1(modulus**2)) / period, period, gap)


def _log_strip_eigenvalue(bandwidth: float) -> float:
    h = bandwidth
    cotangent = math.tan(math.pi * h / (2 * (1 + h)))  # of pi / (2 (1 + h))
    return (1 + 2 / h) * math.log(2) + math.log((1 + h) / cotangent)


def _log_ellipses(bandwidth: float) -> Array:
    """Logs of the parameters of the ellipses looked at: arccosh(A)."""
    return np.asarray(np.log(ellipse_parameter(bandwidth * _REACHES)))


def _closed(factor: float, bandwidth: float, n: npt.ArrayLike) -> Array:
    count = np.asarray(n, dtype=np.float64)
    exponent = 1 + (2 + bandwidth) / (1 + bandwidth) - 2 * count * math.log(ellipse_parameter(_positive(bandwidth)))
    return np.asarray(factor * np.sqrt(count) * np.exp(exponent))


def _log_volume(decays: Sequence[Decay]) -> float:
    r"""Log of :math:`d!\,\prod_i b_i`."""
    return math.lgamma(len(decays) + 1) + sum(math.log(decay.rate) for decay in decays)


def _log_residuals(family: list[Decay], cut: float) -> Array:
    """Logs of the residual bounds of one family until below `cut`; after the last the terms fall at least as fast."""
    constants = np.array([decay.log_constant for decay in family])
    rates = np.array([decay.rate for decay in family])
    count = math.ceil(float(((constants - cut) / rates).min())) + 2
    return np.asarray(np.minimum(0.0, (constants[:, None] - rates[:, None] * np.arange(count)).min(axis=0)))


def _series(residuals: list[Array], log_ratio: float, cut: float) -> float:
    """The series for given residual bounds of the coordinates, and a bound on what is below `cut`."""
    logs, total = np.zeros(1), 1.0
    for own in residuals:
        total *= float(np.exp(own).sum()) + math.exp(own[-1]) / -math.expm1(own[-1] - own[-2])
        sums = np.add.outer(logs, own).ravel()
        logs = sums[sums >= cut]
    left_out = math.exp(log_ratio) * max(total - float(np.exp(logs).sum()), 0.0)
    return 0.5 * (float(np.logaddexp(0.0, log_ratio + logs).sum()) + left_out)


def _expected_suprema(bandwidth: float) -> tuple[float, float]:
    r"""Bounds on :math:`\sum_j \|c_j\| \sup|T_j|` and :math:`\sum_j \|c_j\| \sup|T_j'|` of the features."""
    log_norm, log_r = 0.5 * log_ellipse_norm(bandwidth, _REACHES), _log_ellipses(bandwidth)
    q = np.exp(-log_r)
    values = np.exp(log_norm) * (1 + q) / (1 - q)
    slopes = 4 * np.exp(log_norm) * q * (1 + q) / (1 - q) ** 3
    return float(values.min()), float(slopes.min())


def _excess_at_end(bandwidth: float) -> float:
    z = np.array([0.0, 1 / bandwidth, 0.5 / bandwidth])
    q = gammaln(z + 0.5) - gammaln(z + 1)
    return float(q[0] + q[1] - 2 * q[2])


def _excess_slope_at_end(bandwidth: float) -> float:
    z = np.array([0.0, 1 / bandwidth])
    slope = digamma(z + 0.5) - digamma(z + 1)
    return float((slope[0] - slope[1]) / bandwidth)


def _lebesgue_constant(degree: int) -> float:
    """Of Fourier sums, by Fejer's formula."""
    k = np.arange(1, degree + 1)
    return float(1 / (2 * degree + 1) + 2 / math.pi * np.sum(np.tan(k * math.pi / (2 * degree + 1)) / k))


def _log_ratio(bandwidths: list[float], evaluations: int, noise: float, boundary_weight: float) -> float:
    if evaluations < 1:
        raise ValueError(f"evaluations is {evaluations}, expected at least 1.")
    if not noise > 0:
        raise ValueError(f"noise is {noise}, expected a variance > 0.")
    return math.log(evaluations) - math.log(noise) + log_largest_variance(bandwidths, boundary_weight)


def _at_most_independent(
    gain: float, bandwidths: list[float], evaluations: int, noise: float, boundary_weight: float
) -> float:
    """A bound on the information gain, or that of as many points without any correlation where it is less."""
    each = np.logaddexp(0.0, log_largest_variance(bandwidths, boundary_weight) - math.log(noise))
    log_independent = math.log(evaluations) + math.log(0.5 * each)  # in logarithms, as their number may be huge
    return gain if math.log(gain) < log_independent else math.exp(log_independent)


def _bandwidths(bandwidths: npt.ArrayLike) -> list[float]:
    values = np.atleast_1d(np.asarray(bandwidths, dtype=np.float64)).ravel().tolist()
    return [_positive(value) for value in values]


def _positive(bandwidth: float) -> float:
    if not 0 < bandwidth < math.inf:
        raise ValueError(f"bandwidth is {bandwidth!r}, expected a number > 0.")
    return float(bandwidth)
