"""The Beta-Matern kernel."""

from __future__ import annotations

from typing import Any

import torch
from gpytorch.constraints import Interval
from gpytorch.priors import Prior
from torch import Tensor

from betabo.kernels.box import BoundaryWeight, BoxKernel
from betabo.kernels.box_form import BoxForm
from betabo.kernels.closed_form import ClosedForm, declares
from betabo.kernels.distance import Method, sq_distance
from betabo.kernels.radial import NUS, matern_profile
from betabo.kernels.radial_form import smooth_profile
from betabo.kernels.special import beta_sq_distance, metric_at_centre


class BetaMaternKernel(BoxKernel):
    r"""Matern covariance of the Beta distance: any roughness, in the geometry of the box.

    .. math::
        k(\mathbf x, \mathbf x') = \mathrm{Matern}_\nu(r), \qquad
        r^2 = \sum_{i=1}^d \frac{\rho_h^2(x_i, x'_i)}{g_h''(1)\, l_i^2}

    The Beta kernel is infinitely divisible, so its exponent :math:`\rho_h^2` is a squared distance in a Hilbert space
    (see `BetaKernel`) and every radial kernel of it is valid. The length scales :math:`l_i` mean at the centre of the
    cube what they mean in `gpytorch.kernels.MaternKernel`. One more parameter, the shared `bandwidth` :math:`h`, says
    how strongly the geometry bends towards the faces: :math:`h \to \infty` is the ordinary Matern kernel, and for
    :math:`h \to 0` the squared distance of a coordinate becomes :math:`2 J(x_i, x'_i)/l_i^2`, with :math:`J` the
    Jensen-Shannon divergence of two coins with probabilities :math:`x_i` and :math:`x'_i`; nearby points are then as
    far apart as their :math:`\arcsin\sqrt{x_i}`.

    Args:
        nu: Roughness: 0.5, 1.5, 2.5, or `math.inf` for the RBF of the Beta distance.
        ard_num_dims: Number of coordinates, each with a length scale of its own; None shares one length scale.
        boundary_weight: A number in [0, 1], or `"learned"`: how much of the prior variance sits at the boundary, as in
            `BetaKernel`. The default 0 keeps the unit diagonal.
        lengthscale_prior: Prior of the length scales.
        lengthscale_constraint: Constraint of the length scales, positive by default.
        bandwidth_prior: Prior of the bandwidth.
        bandwidth_constraint: Constraint of the bandwidth, at least 1e-4 by default.
        boundary_weight_prior: Prior of a learned boundary weight; exponential with mean 1 by default.
        method: As in `BetaKernel`.
        tolerance: Absolute error of :math:`r^2` with which `"auto"` accepts the matmul form.
        kwargs: `batch_shape`, `active_dims` and whatever else `gpytorch.kernels.Kernel` takes.

    Example:
        >>> x = torch.rand(10, 5, dtype=torch.float64)
        >>> covar_module = gpytorch.kernels.ScaleKernel(BetaMaternKernel(nu=2.5, ard_num_dims=5))
        >>> covar = covar_module(x)  # 10 x 10
    """

    has_lengthscale = True

    def __init__(
        self,
        nu: float = 2.5,
        ard_num_dims: int | None = None,
        boundary_weight: BoundaryWeight = 0.0,
        lengthscale_prior: Prior | None = None,
        lengthscale_constraint: Interval | None = None,
        bandwidth_prior: Prior | None = None,
        bandwidth_constraint: Interval | None = None,
        boundary_weight_prior: Prior | None = None,
        method: Method = "auto",
        tolerance: float = 5e-10,
        **kwargs: Any,
    ) -> None:
        if nu not in NUS:
            raise ValueError(f"nu is {nu!r}, expected one of {', '.join(map(str, NUS))}.")
        super().__init__(
            ard_num_dims=ard_num_dims,
            bandwidth_dims=1,
            boundary_weight=boundary_weight,
            lengthscale_prior=lengthscale_prior,
            lengthscale_constraint=lengthscale_constraint,
            bandwidth_prior=bandwidth_prior,
            bandwidth_constraint=bandwidth_constraint,
            boundary_weight_prior=boundary_weight_prior,
            method=method,
            tolerance=tolerance,
            **kwargs,
        )
        self.nu = nu

    def geometry(self) -> tuple[Tensor, Tensor]:
        """The shared bandwidth and the weights of the coordinates' squared Beta distances, in float64."""
        bandwidth = self.bandwidth.double()
        return bandwidth, 1 / (metric_at_centre(bandwidth) * self.lengthscale.double().square())

    def _covariance(self, x1: Tensor, x2: Tensor, log_scale1: Tensor | None, log_scale2: Tensor | None) -> Tensor:
        sharp = self.nu == 0.5  # the only profile with a kink at distance zero
        distance = sq_distance(
            x1,
            x2,
            *self.geometry(),
            method=self.method,
            tolerance=self.tolerance,
            sharp=sharp,
            cache=self._feature_cache,
        )
        covariance = matern_profile(distance, self.nu)
        if log_scale1 is not None and log_scale2 is not None:
            covariance = covariance * (log_scale1 + log_scale2.mT).exp()
        return covariance

    def _diagonal(self, x1: Tensor, x2: Tensor, log_scale1: Tensor | None, log_scale2: Tensor | None) -> Tensor:
        if x1 is x2:
            return torch.ones_like(x1[..., 0]) if log_scale1 is None else (2 * log_scale1).squeeze(-1).exp()
        bandwidth, weight = self.geometry()
        distances = beta_sq_distance(x1.double(), x2.double(), bandwidth) * weight
        variance = matern_profile(distances.sum(dim=-1).to(x1.dtype), self.nu)
        if log_scale1 is not None and log_scale2 is not None:
            variance = variance * (log_scale1 + log_scale2).squeeze(-1).exp()
        return variance


@declares(BetaMaternKernel)
def _closed_form(kernel: BetaMaternKernel) -> ClosedForm:
    return BoxForm(kernel, smooth_profile(kernel.nu))
