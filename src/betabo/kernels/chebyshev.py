r"""The Beta distance as a quadratic form in Chebyshev polynomials: the *matmul form*.

The pairwise part of the Beta distance, :math:`g(x + x')`, is analytic on the square, so it is separable to any
accuracy: :math:`g(x + x') = \sum_{ij} A_{ij} T_i(2x - 1) T_j(2x' - 1)`. Constants and terms in one argument
alone cancel in the distance, which leaves

.. math:: \rho^2(x, x') = (\phi(x) - \phi(x'))^\top A(h)\,(\phi(x) - \phi(x')), \qquad
          \phi_j(x) = T_j(2x - 1) - T_j(0),\ j = 1, \dots, P - 1.

The features :math:`\phi` do not depend on the bandwidth. The matrix `A` does, and is linear in a handful of values of
`g`: one matrix product with a constant table. So a kernel matrix in `d` dimensions costs one product of an
:math:`n \times d(P-1)` with a :math:`d(P-1) \times m` matrix.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import digamma, gammaln, zeta
from torch import Tensor

from betabo.kernels.special import log_gamma_second_difference

DEGREES = np.array([6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 36, 40, 48, 56, 64, 80, 96, 112, 128])
"""Numbers of polynomials `P` in use. Few enough for the constant tables to be kept, close enough to waste little."""

# Below this ratio of half-gap to argument a second difference of log-gammas is taken from its Taylor series: three
# terms are exact to about 1e-13 there.
_CLOSE = 1e-2


def ellipse_parameter(distance: npt.ArrayLike) -> npt.NDArray[np.float64]:
    r"""Sum of the semi-axes of an ellipse with foci -1 and 1, :math:`1 + \delta + \sqrt{\delta (2 + \delta)}`.

    Args:
        distance: How far beyond the foci the ellipse meets the real axis, :math:`\delta`.
    """
    delta = np.asarray(distance, dtype=np.float64)
    return 1 + delta + np.sqrt(delta * (2 + delta))


def error_bound(degree: npt.ArrayLike, bandwidth: npt.ArrayLike) -> npt.NDArray[np.float64]:
    r"""Bound on the absolute error of :math:`\rho^2` of one coordinate with `degree` polynomials.

    :math:`\ln\Gamma(1 + z) = -\gamma z + \sum_k [z/k - \ln(1 + z/k)]`, and the Chebyshev coefficients of a logarithm
    are known in closed form: :math:`2 r^{-i}/i`, with `r` the ellipse parameter of its singularity. The tail of
    that series at the worst corner of the square, counted for both log-gammas, both arguments and the four places
    where `g` enters :math:`\rho^2`, gives the truncation error; the singularities beyond the first are covered by the
    constant. Rounding adds a few units in the last place of the largest value of :math:`g`, once for each polynomial.
    """
    degree = np.asarray(degree, dtype=np.float64)
    bandwidth = np.asarray(bandwidth, dtype=np.float64)
    r = ellipse_parameter(2 * bandwidth)  # the nearest pole of g is x = -h, that is 2x - 1 = -(1 + 2h)
    truncation = 33.0 / degree * np.exp(-degree * np.log(r)) / (1 - 1 / r)
    largest = np.minimum(1.39 / bandwidth, 1.65 / bandwidth**2)  # of g(1 + s) - g(1), by its limits in h
    bound: npt.NDArray[np.float64] = truncation + 4 * np.finfo(np.float64).eps * degree * largest
    return bound


def choose_degrees(bandwidth: Tensor, weight: Tensor, tolerance: float) -> list[int] | None:
    r"""Smallest `P` for each coordinate such that :math:`\sum_i w_i \rho_i^2` is within `tolerance`.

    Args:
        bandwidth: Bandwidths of the `d` coordinates, `... x d`.
        weight: Factors of the coordinates' squared distances, `... x d`.
        tolerance: Absolute error allowed in the weighted sum; it is shared out evenly over the coordinates.

    Returns:
        `d` members of `DEGREES` that serve every member of the batch, or None where the largest is not enough.
    """
    dims = bandwidth.shape[-1]
    h = bandwidth.detach().reshape(-1, dims).amin(dim=0).double().cpu().numpy()
    w = weight.detach().reshape(-1, dims).amax(dim=0).double().cpu().numpy()
    enough = error_bound(DEGREES[:, None], h) <= tolerance / (dims * w)
    if not enough[-1].all():
        return None
    degrees: list[int] = DEGREES[enough.argmax(axis=0)].tolist()
    return degrees


def smallest_degree(bandwidth: float, tolerance: float) -> int | None:
    """The smallest member of `DEGREES` whose error bound is within `tolerance`, or None where there is none."""
    enough = error_bound(DEGREES, bandwidth) <= tolerance
    return int(DEGREES[enough.argmax()]) if enough[-1] else None


def chebyshev_features(x: Tensor, degree: int) -> Tensor:
    r"""Centred Chebyshev polynomials :math:`\phi_j(x) = T_j(2x - 1) - T_j(0)` for :math:`j = 1, \dots, P - 1`.

    Built by doubling, :math:`T_{m+j} = 2 T_m T_j - T_{m-j}`, so that the graph has about :math:`2\log_2 P` nodes.

    Args:
        x: Points in [0, 1], `... x d`.
        degree: Number of polynomials `P`, the constant one included.

    Returns:
        Features, `... x d x (P - 1)`.
    """
    t = (2 * x - 1).unsqueeze(-1)
    polynomials = torch.cat([torch.ones_like(t), t], dim=-1)
    while (count := polynomials.shape[-1]) < degree:
        m = count - 1
        steps = min(m, degree - count)
        higher = 2 * polynomials[..., m:] * polynomials[..., 1 : steps + 1]
        polynomials = torch.cat([polynomials, higher - polynomials[..., m - steps : m].flip(-1)], dim=-1)
    return polynomials[..., 1:] - _at_centre(polynomials[..., 1:])


def chebyshev_slopes(features: Tensor) -> Tensor:
    r"""Derivatives :math:`\phi'_j(x)` of features :math:`\phi_j(x)`, from the features themselves.

    Args:
        features: `... x d x (P - 1)`.

    Returns:
        Derivatives of the same shape.
    """
    differentiation = torch.from_numpy(_differentiation_matrix(features.shape[-1] + 1)).to(features)
    polynomials = features + _at_centre(features)
    return polynomials[..., :-1] @ differentiation[1:] + differentiation[0]


def _at_centre(features: Tensor) -> Tensor:
    """The constants :math:`T_j(0)` for the last dimension of `features`."""
    degrees = torch.arange(1, features.shape[-1] + 1, dtype=features.dtype, device=features.device)
    return torch.cos(degrees * (math.pi / 2)).round()


@lru_cache(maxsize=len(DEGREES))
def _differentiation_matrix(degree: int) -> npt.NDArray[np.float64]:
    r"""Coefficients of :math:`\mathrm{d} T_j(2x - 1)/\mathrm{d}x` in :math:`T_0, \dots, T_{P-2}`, column `j - 1`."""
    k, j = np.arange(degree - 1)[:, None], np.arange(1, degree)[None, :]
    coefficients = np.where((k < j) & ((j - k) % 2 == 1), 4.0 * j, 0.0)  # T_j' = 2 j (T_{j-1} + T_{j-3} + ...)
    coefficients[0] /= 2  # ... where T_0 counts half
    return coefficients


def chebyshev_matrix(bandwidth: Tensor, degree: int) -> Tensor:
    r"""The matrix :math:`A(h)` of the quadratic form, in float64.

    Args:
        bandwidth: Bandwidths of any shape `...`.
        degree: Number of polynomials `P`, the constant one included.

    Returns:
        Symmetric positive semidefinite matrices, `... x (P - 1) x (P - 1)`.
    """
    nodes, table = (torch.from_numpy(t).to(bandwidth.device) for t in _interpolation_table(degree))
    h = bandwidth.double().unsqueeze(-1)
    values = log_gamma_second_difference(1 + 1 / h, nodes / h)  # g(1 + s) - g(1)
    matrix: Tensor = (values @ table).unflatten(-1, (degree - 1, degree - 1))
    return matrix


def chebyshev_matrix_with_slope(
    bandwidth: float, degree: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    r"""The matrix :math:`A(h)` of one bandwidth, and its derivative by :math:`\ln h`, without autograd.

    Args:
        bandwidth: The bandwidth `h`.
        degree: Number of polynomials `P`, the constant one included.

    Returns:
        Two matrices, `(P - 1) x (P - 1)`.
    """
    nodes, table = _interpolation_table(degree)
    values = torch.from_numpy(_second_difference_with_slope(bandwidth, nodes))
    matrix, slope = (values @ torch.from_numpy(table)).numpy().reshape(2, degree - 1, degree - 1)
    return matrix, slope


def _second_difference_with_slope(h: float, s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    r""":math:`g(1 + s) - g(1)` of positive `s`, and its derivative by :math:`\ln h`, `2 x len(s)`.

    With :math:`z = 1 + 1/h` and :math:`a = s/h` it is :math:`\ln\Gamma(z + a) + \ln\Gamma(z - a) - 2\ln\Gamma(z)`,
    and for small `a` the series :math:`\sum_k \zeta(2k, z)\, a^{2k}/k` keeps its digits.
    """
    z, a = 1 + 1 / h, s / h
    if a[-1] >= _CLOSE * z:  # the nodes descend
        return _direct_difference_with_slope(z, a)
    near = a < _CLOSE * z
    q = a[near] ** 2
    z2, z3, z4, z5, z6, z7 = zeta(np.arange(2, 8), z)
    series = q * (z2 + q * (z4 / 2 + q * (z6 / 3)))
    by_log = 2 * q * ((z3 + q * (z5 + q * z7)) / h - (z2 + q * (z4 + q * z6)))
    found = np.empty((2, len(s)))
    found[:, near] = series, by_log
    found[:, ~near] = _direct_difference_with_slope(z, a[~near])
    return found


def _direct_difference_with_slope(z: float, a: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    above, below = z + a, z - a
    value = gammaln(above) + gammaln(below) - 2 * gammaln(z)
    psi_above, psi_below = digamma(above), digamma(below)
    by_log = a * (psi_below - psi_above) - (z - 1) * (psi_above + psi_below - 2 * digamma(z))
    return np.stack([value, by_log])


def chebyshev_embedding(bandwidth: Tensor, degree: int) -> Tensor:
    r"""Factor `V` of :math:`A(h) = V V^\top`: the Beta distance is the Euclidean distance of :math:`V^\top \phi(x)`.

    Args:
        bandwidth: Bandwidths of any shape `...`.
        degree: Number of polynomials `P`, the constant one included.

    Returns:
        Factors in float64, `... x (P - 1) x rank`, where the rank is the largest one needed.
    """
    eigenvalues, eigenvectors = torch.linalg.eigh(chebyshev_matrix(bandwidth, degree))
    needed = eigenvalues > 1e-14 * eigenvalues.amax(dim=-1, keepdim=True)
    rank = int(needed.sum(dim=-1).max())
    factor: Tensor = eigenvectors * eigenvalues.clamp_min(0).sqrt().unsqueeze(-2)
    return factor[..., -rank:]


@lru_cache(maxsize=len(DEGREES))
def _interpolation_table(degree: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    r"""Nodes `s` and the linear map from the values :math:`g(1 + s) - g(1)` to the entries of :math:`A`.

    `g` is even about 1, so its values at the positive nodes determine the even Chebyshev coefficients in
    :math:`s = x + x' - 1`. Each :math:`T_{2k}((t + t')/2)` is a polynomial in `t` and `t'` whose two-dimensional
    Chebyshev coefficients are computed here once.
    """
    half = math.ceil(0.75 * degree) + 2  # the series in x + x' converges more slowly, by sqrt(2) in the exponent
    size = 2 * half
    angles = (np.arange(size) + 0.5) * (np.pi / size)
    grid = np.cos(angles)
    transform = np.cos(np.outer(np.arange(size), angles)) * (2 / size)  # values on the grid -> coefficients
    transform[0] /= 2

    sums = np.clip((grid[:, None] + grid[None, :]) / 2, -1, 1)
    even = np.cos(2 * np.arange(half)[:, None, None] * np.arccos(sums))  # T_2k((t + t') / 2)
    product = transform[1:degree] @ even @ transform[1:degree].T  # coefficients of each, k x i x j
    positive = 2 * transform[0::2, :half]  # values at the positive nodes -> even coefficients
    table = positive.T @ product.reshape(half, -1)
    return grid[:half].copy(), table
