"""The cylindrical kernel of BOCK."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from gpytorch.constraints import Interval, Positive
from gpytorch.priors import Prior
from torch import Tensor

from betabo.kernels.cube import CubeKernel, as_parameter, register_prior
from betabo.kernels.radial import matern_profile

# The vertices of the cube lie this far inside the ball, where 1 - r^alpha and its powers are smooth.
_MARGIN = 1e-5


class CylindricalKernel(CubeKernel):
    r"""Cylindrical kernel on the unit cube: a radial times an angular covariance.

    .. math::
        k(\mathbf x, \mathbf x') = \mathrm{Matern}_{5/2}\Bigl(\frac{|w(r) - w(r')|}{l}\Bigr)
            \sum_{p=0}^{P-1} c_p\, (\mathbf a^\top \mathbf a')^p, \qquad w(r) = 1 - (1 - r^\alpha)^\beta

    The kernel of BOCK (Oh et al., ICML 2018). The cube is put into the unit ball by
    :math:`\mathbf u = (2\mathbf x - 1)/\sqrt d`; :math:`r = |\mathbf u|` is the radius and :math:`\mathbf a =
    \mathbf u/r` the direction of a point. The warp :math:`w` of the radius, with :math:`\alpha \in [0.5, 1]` and
    :math:`\beta \in [1, 2]`, magnifies the middle of the ball at the expense of its shell, where most of the volume of
    the ball lies: BOCK believes that the optimum is not there.

    The centre has no direction. With `centre_radius` :math:`\epsilon`, :math:`r` is
    :math:`\sqrt{(|\mathbf u|^2 + \epsilon^2)/(1 + \epsilon^2)}` and :math:`\mathbf a` is
    :math:`\mathbf u/\sqrt{|\mathbf u|^2 + \epsilon^2}`: the kernel is smooth, only :math:`c_0` remains at the centre,
    and outside a few :math:`\epsilon` nothing changes visibly. The kernel is isotropic, there is nothing for automatic
    relevance determination. It differs from `gpytorch.kernels.CylindricalKernel`, which takes points of the ball, in
    these two respects, and in the bounds of the warp.

    Args:
        num_angular_weights: Number :math:`P` of terms of the angular covariance.
        lengthscale_prior: Prior of the length scale :math:`l` of the warped radius.
        lengthscale_constraint: Constraint of the length scale, positive by default.
        variance_prior: Prior of the prior variance away from the centre, the sum of the angular weights.
        angular_weights_constraint: Constraint of the angular weights, positive by default.
        alpha_constraint: Constraint of :math:`\alpha`, between 0.5 and 1 by default.
        beta_constraint: Constraint of :math:`\beta`, between 1 and 2 by default.
        centre_radius: Radius :math:`\epsilon` of the neighbourhood of the centre that is smoothed.
        kwargs: `batch_shape`, `active_dims` and whatever else `gpytorch.kernels.Kernel` takes.

    Example:
        >>> x = torch.rand(10, 5, dtype=torch.float64)
        >>> covar_module = CylindricalKernel()  # the angular weights are variances: needs no ScaleKernel
        >>> covar = covar_module(x)  # 10 x 10
    """

    has_lengthscale = True

    def __init__(
        self,
        num_angular_weights: int = 4,
        lengthscale_prior: Prior | None = None,
        lengthscale_constraint: Interval | None = None,
        variance_prior: Prior | None = None,
        angular_weights_constraint: Interval | None = None,
        alpha_constraint: Interval | None = None,
        beta_constraint: Interval | None = None,
        centre_radius: float = 1e-3,
        **kwargs: Any,
    ) -> None:
        if num_angular_weights < 1:
            raise ValueError(f"num_angular_weights is {num_angular_weights}, expected at least 1.")
        if not centre_radius > 0:
            raise ValueError(f"centre_radius is {centre_radius!r}, expected a positive number such as 1e-3.")
        if kwargs.get("ard_num_dims") is not None:
            raise ValueError(f"ard_num_dims is {kwargs['ard_num_dims']}, but CylindricalKernel is isotropic: omit it.")
        super().__init__(lengthscale_prior=lengthscale_prior, lengthscale_constraint=lengthscale_constraint, **kwargs)
        self.num_angular_weights = num_angular_weights
        self.centre_radius = centre_radius
        for name, shape, constraint in (
            ("angular_weights", (num_angular_weights,), angular_weights_constraint or Positive()),
            ("alpha", (1, 1), alpha_constraint or Interval(0.5, 1.0, initial_value=0.95)),
            ("beta", (1, 1), beta_constraint or Interval(1.0, 2.0, initial_value=1.05)),
        ):
            self.register_parameter(f"raw_{name}", torch.nn.Parameter(torch.zeros(*self.batch_shape, *shape)))
            self.register_constraint(f"raw_{name}", constraint)
        self.angular_weights = 1 / num_angular_weights
        register_prior(self, "variance", variance_prior, _set_variance)

    @property
    def is_stationary(self) -> bool:
        """False: the kernel knows how far from the centre a point lies."""
        return False

    @property
    def angular_weights(self) -> Tensor:
        """Weights :math:`c_p` of the powers of the cosine, `... x P`."""
        return self._constrained("angular_weights")

    @angular_weights.setter
    def angular_weights(self, value: Tensor | float | Sequence[float]) -> None:
        self._constrain("angular_weights", value)

    @property
    def alpha(self) -> Tensor:
        r"""Exponent :math:`\alpha` of the radius, `... x 1 x 1`."""
        return self._constrained("alpha")

    @alpha.setter
    def alpha(self, value: Tensor | float) -> None:
        self._constrain("alpha", value)

    @property
    def beta(self) -> Tensor:
        r"""Exponent :math:`\beta` of the complement, `... x 1 x 1`."""
        return self._constrained("beta")

    @beta.setter
    def beta(self, value: Tensor | float) -> None:
        self._constrain("beta", value)

    @property
    def variance(self) -> Tensor:
        """Prior variance away from the centre, the sum of the angular weights, of the batch shape."""
        return self.angular_weights.sum(dim=-1)

    def _constrained(self, name: str) -> Tensor:
        value: Tensor = getattr(self, f"raw_{name}_constraint").transform(getattr(self, f"raw_{name}"))
        return value

    def _constrain(self, name: str, value: Tensor | float | Sequence[float]) -> None:
        constraint = getattr(self, f"raw_{name}_constraint")
        target = as_parameter(value, getattr(self, f"raw_{name}"), name)
        if not bool((target > 0).all()) or not constraint.check(target):
            raise ValueError(f"{name} is {value!r}, outside the kernel's constraint {constraint}.")
        if constraint.enforced and bool(constraint.upper_bound.isfinite()):  # ends lie at infinity in the raw parameter
            inset = 1e-6 * (constraint.upper_bound - constraint.lower_bound)
            target = target.clamp(constraint.lower_bound + inset, constraint.upper_bound - inset)
        self.initialize(**{f"raw_{name}": constraint.inverse_transform(target)})

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, last_dim_is_batch: bool = False, **_: Any) -> Tensor:
        """Covariance of the points `x1`, `... x n x d`, and `x2`, `... x m x d`, of the unit cube."""
        if last_dim_is_batch:
            raise NotImplementedError("CylindricalKernel does not support last_dim_is_batch; use batch_shape instead.")
        radius1, direction1 = self._cylindrical(x1)
        radius2, direction2 = (radius1, direction1) if x1 is x2 else self._cylindrical(x2)
        if diag:
            cosine = (direction1 * direction2).sum(dim=-1, keepdim=True)  # ... x n x 1
            difference = radius1 - radius2
        else:
            cosine = direction1 @ direction2.mT  # ... x n x m
            difference = radius1 - radius2.mT
        weights = self.angular_weights[..., None, None]  # ... x P x 1 x 1
        angular = weights[..., -1, :, :]
        for power in reversed(range(self.num_angular_weights - 1)):
            angular = angular * cosine + weights[..., power, :, :]
        covariance = matern_profile((difference / self.lengthscale).square(), nu=2.5) * angular
        return covariance.squeeze(-1) if diag else covariance

    def _cylindrical(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Warped radii, `... x n x 1`, and directions, `... x n x d`, of points of the cube."""
        ball = (2 * self.check_points(x) - 1) * ((1 - _MARGIN) / math.sqrt(x.shape[-1]))
        smooth = self.centre_radius**2
        squared = ball.square().sum(dim=-1, keepdim=True) + smooth
        radius = (squared / (1 + smooth)).sqrt()
        return 1 - (1 - radius.pow(self.alpha)).pow(self.beta), ball / squared.sqrt()


def _set_variance(kernel: CylindricalKernel, value: Tensor) -> None:
    """Scale all angular weights alike, so that their sum is a draw from a prior."""
    shares = kernel.angular_weights / kernel.variance.unsqueeze(-1)
    constraint = kernel.raw_angular_weights_constraint
    kernel.angular_weights = (shares * value.unsqueeze(-1)).clamp(constraint.lower_bound, constraint.upper_bound)
