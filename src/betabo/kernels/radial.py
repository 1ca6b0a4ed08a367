r"""Radial profiles: what makes a covariance of a squared distance.

Every function here takes the *squared* distance. The derivative of a Matern profile with respect to it is the Matern
profile of one order less, which keeps gradients finite at distance zero and needs no division by the distance.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

NUS = (0.5, 1.5, 2.5, math.inf)
"""Roughness parameters that are supported; infinity is the Gaussian (RBF) profile."""


class _MaternOfSquare(Function):
    r"""Matern profile :math:`f_\nu(s)` as a function of :math:`s^2`, for half-integer :math:`\nu`.

    .. math:: f_{1/2} = e^{-s}, \quad f_{3/2} = (1 + s)\,e^{-s}, \quad f_{5/2} = (1 + s + s^2/3)\,e^{-s}, \quad
              \frac{\mathrm{d} f_\nu}{\mathrm{d}(s^2)} = -\frac{f_{\nu - 1}}{4 (\nu - 1)} .

    For :math:`\nu = 1/2` the derivative :math:`-e^{-s}/(2s)` has no limit at zero; it is taken to be zero there, as the
    average over directions.
    """

    @staticmethod
    def forward(ctx: Any, squared: Tensor, nu: float) -> Tensor:
        ctx.save_for_backward(squared)
        ctx.nu = nu
        s = squared.clamp_min(0).sqrt_()
        decay = torch.exp(-s)
        if nu == 0.5:
            return decay
        if nu == 1.5:
            return s.add_(1).mul_(decay)
        return s.addcmul_(s, s, value=1 / 3).add_(1).mul_(decay)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        (squared,) = ctx.saved_tensors
        (grad,) = grad_outputs
        if ctx.nu == 0.5:
            positive = squared > 0
            s = torch.where(positive, squared, 1.0).sqrt()
            return grad * torch.where(positive, torch.exp(-s) / (-2 * s), 0.0), None
        slope = _MaternOfSquare.apply(squared, ctx.nu - 1)  # type: ignore[no-untyped-call]
        return grad * slope * (-1 / (4 * (ctx.nu - 1))), None


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
