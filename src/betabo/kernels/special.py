r"""The special functions of the Beta kernel, in log space.

Notation used throughout this package, for one coordinate with bandwidth :math:`h > 0`:

====================  ==========================================================================
:math:`g(u)`          :math:`\ln\Gamma(1 + u/h) + \ln\Gamma(1 + (2 - u)/h)`, for :math:`u = x + x'`
:math:`\rho^2(x,x')`  :math:`g(2x) + g(2x') - 2 g(x + x')`, the squared *Beta distance*
:math:`D(x)`          :math:`\ln k(x, x)`, the log diagonal of the Beta product kernel
:math:`E(x)`          :math:`D(x) - D(1/2) \ge 0`, the *boundary excess*
====================  ==========================================================================

With these the whole family reads
:math:`\ln k_w(x, x') = -\rho^2(x, x')/2 + w\,(E(x) + E(x'))/2`, where :math:`w` is the boundary weight.

Everything here works elementwise on tensors of any shape and is differentiable to any order.
"""

from __future__ import annotations

import torch
from torch import Tensor

# Below this ratio of half-gap to argument a second difference is taken from its Taylor series: three terms are exact to
# about 1e-13 there, while the difference of log-gammas has lost its leading digits.
_CLOSE = 1e-2


def _trigamma(z: Tensor) -> Tensor:
    """Trigamma to full precision: `torch.polygamma(1, z)` stops its series early and is off by up to 5e-10."""
    trigamma: Tensor = torch.special.zeta(torch.tensor(2.0, dtype=z.dtype, device=z.device), z)
    return trigamma


def _taylor_second_difference(z: Tensor, a: Tensor) -> Tensor:
    r"""Taylor series in `a` of :math:`\ln\Gamma(z + a) + \ln\Gamma(z - a) - 2\ln\Gamma(z)`."""
    a2 = a * a
    series = torch.polygamma(5, z) * (a2 / 360)
    series = (torch.polygamma(3, z) / 12 + series) * a2
    return (_trigamma(z) + series) * a2


def log_gamma_second_difference(z: Tensor, a: Tensor) -> Tensor:
    r""":math:`\ln\Gamma(z + a) + \ln\Gamma(z - a) - 2\ln\Gamma(z)` without loss of digits for small `a`.

    Args:
        z: Centre, any shape.
        a: Half the gap between the outer arguments, broadcastable with `z`; :math:`z - |a| \ge 1` is assumed.

    Returns:
        The second difference, non-negative because log-gamma is convex.
    """
    z, a = torch.broadcast_tensors(z, a)
    difference = torch.lgamma(z + a) + torch.lgamma(z - a) - 2 * torch.lgamma(z)
    close = a.detach().abs() < _CLOSE * z.detach()
    return difference.masked_scatter(close, _taylor_second_difference(z[close], a[close]))


def beta_sq_distance(x1: Tensor, x2: Tensor, bandwidth: Tensor) -> Tensor:
    r"""Squared Beta distance :math:`\rho^2(x, x')` of single coordinates, elementwise.

    Relative accuracy is kept for points that nearly coincide: the result is zero exactly where `x1 == x2`.

    Args:
        x1: Coordinates in [0, 1].
        x2: Coordinates in [0, 1], broadcastable with `x1`.
        bandwidth: Bandwidths `h`, broadcastable with both.

    Returns:
        The squared distance, of the broadcast shape.
    """
    ends1 = torch.lgamma(1 + 2 * x1 / bandwidth) + torch.lgamma(1 + 2 * (1 - x1) / bandwidth)
    ends2 = torch.lgamma(1 + 2 * x2 / bandwidth) + torch.lgamma(1 + 2 * (1 - x2) / bandwidth)
    low = 1 + (x1 + x2) / bandwidth
    high = 1 + (2 - x1 - x2) / bandwidth
    distance = ends1 + ends2 - 2 * (torch.lgamma(low) + torch.lgamma(high))

    half_gap = ((x1 - x2) / bandwidth).expand_as(distance)
    nearest = torch.minimum(low.detach(), high.detach())
    close = half_gap.detach().abs() < _CLOSE * nearest
    low, high, half_gap = (t.expand_as(distance)[close] for t in (low, high, half_gap))
    taylor = _taylor_second_difference(low, half_gap) + _taylor_second_difference(high, half_gap)
    return distance.masked_scatter(close, taylor)


def boundary_excess(x: Tensor, bandwidth: Tensor) -> Tensor:
    r"""Boundary excess :math:`E(x) = \ln k(x, x) - \ln k(1/2, 1/2)` of single coordinates, elementwise.

    By Legendre's duplication formula :math:`E(x) = q(x/h) + q((1 - x)/h) - 2 q(1/(2h))` with
    :math:`q(z) = \ln\Gamma(z + 1/2) - \ln\Gamma(z + 1)`. It is convex, symmetric about 1/2, zero there, and largest at
    the two ends of the interval.

    Args:
        x: Coordinates in [0, 1].
        bandwidth: Bandwidths `h`, broadcastable with `x`.
    """

    def q(z: Tensor) -> Tensor:
        return torch.lgamma(z + 0.5) - torch.lgamma(z + 1)

    return q(x / bandwidth) + q((1 - x) / bandwidth) - 2 * q(0.5 / bandwidth)


def log_diagonal_supremum(bandwidth: Tensor) -> Tensor:
    r"""Log of the largest value of the paper's kernel on its diagonal, :math:`\ln k(0, 0)`, elementwise in `h`.

    .. math:: \sup_x k(x, x) = \frac{(1 + 1/h)^2}{1 + 2/h}
    """
    return 2 * torch.log1p(1 / bandwidth) - torch.log1p(2 / bandwidth)


def metric_at_centre(bandwidth: Tensor) -> Tensor:
    r""":math:`g''(1) = 2\psi'(1 + 1/h) / h^2`, the metric of the Beta distance at the centre of the interval.

    Near :math:`x = 1/2` the squared Beta distance is this number times :math:`(x - x')^2`.
    """
    return 2 * _trigamma(1 + 1 / bandwidth) / bandwidth.square()


def bandwidth_of_lengthscale(lengthscale: Tensor) -> Tensor:
    """Bandwidth at which the Beta distance has the given length scale at the centre, elementwise.

    The inverse of ``metric_at_centre(h).rsqrt()``, which grows with `h`; found by bisection in its logarithm. It is not
    differentiable.
    """
    target = lengthscale.double()
    low, high = torch.full_like(target, -30.0), torch.full_like(target, 30.0)
    for _ in range(60):
        middle = (low + high) / 2
        above = metric_at_centre(middle.exp()).rsqrt() > target
        low, high = torch.where(above, low, middle), torch.where(above, middle, high)
    return ((low + high) / 2).exp().to(lengthscale)
