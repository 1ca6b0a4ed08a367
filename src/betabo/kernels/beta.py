"""The Beta kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from gpytorch.constraints import Interval
from gpytorch.priors import Prior
from torch import Tensor

from betabo.kernels.beta_form import BetaForm
from betabo.kernels.box import BoundaryWeight, BoxKernel
from betabo.kernels.closed_form import ClosedForm, declares
from betabo.kernels.cube import as_parameter, register_prior
from betabo.kernels.distance import Method, sq_distance
from betabo.kernels.radial_form import smooth_profile
from betabo.kernels.special import bandwidth_of_lengthscale, beta_sq_distance, metric_at_centre


class BetaKernel(BoxKernel):
    r"""The Beta kernel on the unit cube, with a boundary weight.

    .. math::
        k_w(\mathbf x, \mathbf x') = \prod_{i=1}^d \exp\Bigl(-\tfrac12 \rho_{h_i}^2(x_i, x'_i)
            + \tfrac w2 \bigl(E_{h_i}(x_i) + E_{h_i}(x'_i)\bigr)\Bigr)

    Here :math:`\rho_h^2(x, x') = g_h(2x) + g_h(2x') - 2 g_h(x + x')` is the squared *Beta distance*, with
    :math:`g_h(u) = \ln\Gamma(1 + u/h) + \ln\Gamma(1 + (2 - u)/h)`, and :math:`E_h(x) \ge 0` grows from 0 at the centre
    to its largest value on the faces. The kernel is analytic and not stationary. The `boundary_weight` :math:`w` says
    how much of the prior variance sits at the boundary:

    * :math:`w = 1`: inner products of Beta densities with modes :math:`x` and :math:`x'`, the kernel of Nguyen et al.
      (UAI 2025), divided by its value at the centre of the cube;
    * :math:`w = 0`: the correlation form, with unit diagonal;
    * `"learned"` (default): fitted with the bandwidths, under a prior that pulls towards 0.

    The `bandwidth` :math:`h_i` acts like a length scale: near the centre the correlation form is an RBF with length
    scale `central_lengthscale`, about :math:`\sqrt{h/2}` for small and :math:`0.551 h` for large :math:`h`. It is
    shorter towards the faces, by :math:`\sqrt{4x(1 - x)}` when :math:`h` is small.

    The kernel has no output scale: wrap it in a `gpytorch.kernels.ScaleKernel`. Inputs must lie in :math:`[0, 1]^d`:
    scale them with the bounds of the search space, not of the data.

    Args:
        ard_num_dims: Number of coordinates, each with a bandwidth of its own; None shares one bandwidth.
        boundary_weight: A number in [0, 1], or `"learned"`.
        bandwidth_prior: Prior of the bandwidths.
        central_lengthscale_prior: Prior of the length scales at the centre, in place of one of the bandwidths.
        bandwidth_constraint: Constraint of the bandwidths, at least 1e-4 by default.
        boundary_weight_prior: Prior of a learned boundary weight; exponential with mean 1 by default.
        method: `"lgamma"` sums log-gammas, `"matmul"` is a matrix product of Chebyshev features, `"auto"` takes the
            faster one that is accurate enough.
        tolerance: Absolute error of :math:`\ln k` with which `"auto"` accepts the matmul form.
        kwargs: `batch_shape`, `active_dims` and whatever else `gpytorch.kernels.Kernel` takes.

    Example:
        >>> x = torch.rand(10, 5, dtype=torch.float64)
        >>> covar_module = gpytorch.kernels.ScaleKernel(BetaKernel(ard_num_dims=5))
        >>> covar = covar_module(x)  # 10 x 10
    """

    def __init__(
        self,
        ard_num_dims: int | None = None,
        boundary_weight: BoundaryWeight = "learned",
        bandwidth_prior: Prior | None = None,
        central_lengthscale_prior: Prior | None = None,
        bandwidth_constraint: Interval | None = None,
        boundary_weight_prior: Prior | None = None,
        method: Method = "auto",
        tolerance: float = 5e-10,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            ard_num_dims=ard_num_dims,
            bandwidth_dims=1 if ard_num_dims is None else ard_num_dims,
            boundary_weight=boundary_weight,
            bandwidth_prior=bandwidth_prior,
            bandwidth_constraint=bandwidth_constraint,
            boundary_weight_prior=boundary_weight_prior,
            method=method,
            tolerance=tolerance,
            **kwargs,
        )
        register_prior(self, "central_lengthscale", central_lengthscale_prior, _set_central_lengthscale)

    @property
    def central_lengthscale(self) -> Tensor:
        r"""Length scale at the centre of the cube, :math:`l = g''(1)^{-1/2}`, of the shape of the bandwidths."""
        return metric_at_centre(self.bandwidth).rsqrt()

    @central_lengthscale.setter
    def central_lengthscale(self, value: Tensor | float | Sequence[float]) -> None:
        target = as_parameter(value, self.raw_bandwidth, "central_lengthscale")
        self.bandwidth = bandwidth_of_lengthscale(target.detach())

    def geometry(self) -> tuple[Tensor, Tensor]:
        """Bandwidths and unit weights of the coordinates' squared Beta distances."""
        bandwidth = self.bandwidth
        return bandwidth, torch.ones_like(bandwidth)

    def _covariance(self, x1: Tensor, x2: Tensor, log_scale1: Tensor | None, log_scale2: Tensor | None) -> Tensor:
        exponent = sq_distance(
            x1,
            x2,
            *self.geometry(),
            method=self.method,
            tolerance=2 * self.tolerance,
            cache=self._feature_cache,
            scale=-0.5,
            offset1=log_scale1,
            offset2=log_scale2,
        )
        return exponent.exp_()

    def _diagonal(self, x1: Tensor, x2: Tensor, log_scale1: Tensor | None, log_scale2: Tensor | None) -> Tensor:
        if x1 is x2:
            return torch.ones_like(x1[..., 0]) if log_scale1 is None else (2 * log_scale1).squeeze(-1).exp()
        distance = beta_sq_distance(x1.double(), x2.double(), self.bandwidth.double()).sum(dim=-1).to(x1.dtype)
        exponent = -0.5 * distance
        if log_scale1 is not None and log_scale2 is not None:
            exponent = exponent + (log_scale1 + log_scale2).squeeze(-1)
        return exponent.exp()


@declares(BetaKernel)
def _closed_form(kernel: BetaKernel) -> ClosedForm:
    return BetaForm(kernel, smooth_profile(math.inf))


def _set_central_lengthscale(kernel: BetaKernel, value: Tensor) -> None:
    """Take over a draw from a prior, moved to the nearest admissible bandwidth."""
    constraint = kernel.raw_bandwidth_constraint
    kernel.bandwidth = bandwidth_of_lengthscale(value).clamp(constraint.lower_bound, constraint.upper_bound)
