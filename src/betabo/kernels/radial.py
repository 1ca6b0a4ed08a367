r"""Radial profiles: what makes a covariance of a squared distance.

With :math:`s = \sqrt{2\nu}\, r` the Matern profile of half-integer roughness is a polynomial times an exponential, and
its derivative with respect to :math:`s^2` is the profile of one order less, which keeps gradients finite at distance
zero and needs no division by the distance:

.. math:: f_\nu(s) = p_\nu(s)\, e^{-s}, \qquad
          \frac{\mathrm{d} f_\nu}{\mathrm{d}(s^2)} = -\frac{f_{\nu - 1}(s)}{4 (\nu - 1)} .
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd import Function

Array = npt.NDArray[np.float64]
Numbers = TypeVar("Numbers", Tensor, Array)

POLYNOMIALS = {0.5: (1.0,), 1.5: (1.0, 1.0), 2.5: (1.0, 1.0, 1 / 3)}
r"""Coefficients of :math:`p_\nu` for each :math:`\nu`, lowest order first."""

NUS = (*POLYNOMIALS, math.inf)
"""Roughness parameters that are supported; infinity is the Gaussian (RBF) profile."""

SMOOTH = (1.5, 2.5, math.inf)
"""Those whose profile has a derivative at distance zero."""


def matern(s: Numbers, decay: Numbers, nu: float) -> Numbers:
    r"""The profile :math:`f_\nu(s) = p_\nu(s)\, e^{-s}` of scaled distances, of tensors or of arrays.

    Args:
        s: Scaled distances, any shape.
        decay: Their :math:`e^{-s}`, which the caller may need more than once.
        nu: Roughness, finite.

    Returns:
        Correlations, of the same shape.
    """
    *lower, highest = POLYNOMIALS[nu]
    if not lower:
        return highest * decay
    total = highest * s
    total += lower[-1]
    for coefficient in reversed(lower[:-1]):
        total *= s
        total += coefficient
    total *= decay
    return total


def matern_slope(s: Numbers, decay: Numbers, nu: float) -> Numbers:
    """The derivative of `matern` with respect to the square of `s`, for `nu` of 1.5 or 2.5."""
    slope = matern(s, decay, nu - 1)
    slope *= _step(nu)
    return slope


def _step(nu: float) -> float:
    """The factor of the profile of one order less in the derivative."""
    return -1 / (4 * (nu - 1))


def profile_with_slope(sq_distance: Array, nu: float) -> tuple[Array, Array]:
    """What `matern_profile` gives, and its derivative with respect to the squared distance.

    Args:
        sq_distance: Squared distances, any shape; they are overwritten.
        nu: Roughness, one of `SMOOTH`.
    """
    s = np.maximum(sq_distance, 0, out=sq_distance)
    if nu == math.inf:
        s *= -0.5
        np.exp(s, out=s)
        return s, -0.5 * s
    s *= 2 * nu
    np.sqrt(s, out=s)
    decay = decay_of(s)
    slope = matern_slope(s, decay, nu)
    slope *= 2 * nu
    return matern(s, decay, nu), slope


def decay_of(s: Array) -> Array:
    r""":math:`e^{-s}`, with less memory than the plain expression."""
    decay: Array = np.negative(s)
    np.exp(decay, out=decay)
    return decay


class _MaternOfSquare(Function):
    r"""The profile as a function of :math:`s^2`, differentiable to any order.

    For :math:`\nu = 1/2` the derivative :math:`-e^{-s}/(2s)` has no limit at zero; it is taken to be zero there, as the
    average over directions.
    """

    @staticmethod
    def forward(ctx: Any, squared: Tensor, nu: float) -> Tensor:
        ctx.save_for_backward(squared)
        ctx.nu = nu
        s = squared.clamp_min(0).sqrt_()
        return matern(s, torch.exp(-s), nu)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        (squared,) = ctx.saved_tensors
        (grad,) = grad_outputs
        if ctx.nu == 0.5:
            positive = squared > 0
            s = torch.where(positive, squared, 1.0).sqrt()
            return grad * torch.where(positive, torch.exp(-s) / (-2 * s), 0.0), None
        slope = _MaternOfSquare.apply(squared, ctx.nu - 1)  # type: ignore[no-untyped-call]
        return grad * slope * _step(ctx.nu), None


def matern_profile(sq_distance: Tensor, nu: float) -> Tensor:
    r"""Matern correlation at squared distance :math:`r^2`.

    Args:
        sq_distance: Squared distances, any shape. Values below zero, which can only be rounding, count as zero.
        nu: Roughness, one of `NUS`. Infinity gives :math:`\exp(-r^2/2)`.

    Returns:
        Correlations of the same shape, 1 at distance zero.
    """
    if nu == math.inf:
        return torch.exp(-0.5 * sq_distance.clamp_min(0))
    correlation: Tensor = _MaternOfSquare.apply(2 * nu * sq_distance, nu)  # type: ignore[no-untyped-call]
    return correlation
