"""The additive kernel of all orders up to a degree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from gpytorch.constraints import Interval, Positive
from gpytorch.priors import Prior
from torch import Tensor

from betabo.kernels.cube import CubeKernel, as_parameter, register_prior

HIGHEST_ORDER = 4
"""Highest order unless another is asked for: time and memory grow with it, and few functions need more."""


class NewtonGirardKernel(CubeKernel):
    r"""Additive kernel: a variance for each order of interaction between the coordinates.

    .. math::
        k(\mathbf x, \mathbf x') = \sum_{q=1}^{M} v_q \binom{d}{q}^{-1} \sum_{1 \le i_1 < \dots < i_q \le d}\;
            \prod_{j=1}^{q} z_{i_j}, \qquad z_i = \exp\Bigl(-\frac{(x_i - x'_i)^2}{2 l_i^2}\Bigr)

    The kernel of Duvenaud et al. (NeurIPS 2011): order 1 alone is a sum of functions of one coordinate, order
    :math:`d` alone is the RBF kernel. Each order is averaged over its subsets, so that its `order_variance` :math:`v_q`
    is the prior variance that it contributes; Duvenaud et al. leave the sum as it is, which only rescales :math:`v_q`.

    The published kernel has all :math:`d` orders; that is `max_degree=d`. The default stops at the fourth, because time
    and memory are proportional to :math:`d M` and few functions need more. The name is that of the usual way to compute
    the inner sums, the Newton-Girard formulae. Those add and subtract power sums and lose digits to cancellation: at
    order 20 of 20 they keep four in float64 and none in float32. The recurrence used here takes in one coordinate at a
    time by a convex combination and is accurate to rounding for every order.

    Args:
        ard_num_dims: Number of coordinates `d`, each with a length scale of its own; None shares one length scale.
        max_degree: Highest order :math:`M`; min(d, 4) by default. Without `ard_num_dims`, orders above the number of
            coordinates that are given count as zero.
        lengthscale_prior: Prior of the length scales.
        lengthscale_constraint: Constraint of the length scales, positive by default.
        variance_prior: Prior of the prior variance, the sum of all `order_variance`.
        order_variance_constraint: Constraint of the variances of the orders, positive by default.
        kwargs: `batch_shape`, `active_dims` and whatever else `gpytorch.kernels.Kernel` takes.

    Example:
        >>> x = torch.rand(10, 5, dtype=torch.float64)
        >>> covar_module = NewtonGirardKernel(ard_num_dims=5)  # has variances: needs no ScaleKernel
        >>> covar = covar_module(x)  # 10 x 10
    """

    has_lengthscale = True

    def __init__(
        self,
        ard_num_dims: int | None = None,
        max_degree: int | None = None,
        lengthscale_prior: Prior | None = None,
        lengthscale_constraint: Interval | None = None,
        variance_prior: Prior | None = None,
        order_variance_constraint: Interval | None = None,
        **kwargs: Any,
    ) -> None:
        if max_degree is None:
            max_degree = HIGHEST_ORDER if ard_num_dims is None else min(ard_num_dims, HIGHEST_ORDER)
        if max_degree < 1 or (ard_num_dims is not None and max_degree > ard_num_dims):
            limit = "at least 1" if ard_num_dims is None else f"from 1 to ard_num_dims = {ard_num_dims}"
            raise ValueError(f"max_degree is {max_degree}, expected a number {limit}.")
        super().__init__(
            ard_num_dims=ard_num_dims,
            lengthscale_prior=lengthscale_prior,
            lengthscale_constraint=lengthscale_constraint,
            **kwargs,
        )
        self.max_degree = max_degree
        self.register_parameter("raw_order_variance", torch.nn.Parameter(torch.zeros(*self.batch_shape, max_degree)))
        self.register_constraint(
            "raw_order_variance", Positive() if order_variance_constraint is None else order_variance_constraint
        )
        self.order_variance = 1 / max_degree
        register_prior(self, "variance", variance_prior, _set_variance)

    @property
    def order_variance(self) -> Tensor:
        """Prior variance :math:`v_q` of each order, `... x M`."""
        value: Tensor = self.raw_order_variance_constraint.transform(self.raw_order_variance)
        return value

    @order_variance.setter
    def order_variance(self, value: Tensor | float | Sequence[float]) -> None:
        target = as_parameter(value, self.raw_order_variance, "order_variance")
        constraint = self.raw_order_variance_constraint
        if not bool((target > 0).all()) or not constraint.check(target):
            raise ValueError(f"order_variance is {value!r}, outside the kernel's constraint {constraint}.")
        self.initialize(raw_order_variance=constraint.inverse_transform(target))

    @property
    def variance(self) -> Tensor:
        """Prior variance of the function, the sum over the orders, of the batch shape."""
        return self.order_variance.sum(dim=-1)

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, last_dim_is_batch: bool = False, **_: Any) -> Tensor:
        """Covariance of the points `x1`, `... x n x d`, and `x2`, `... x m x d`."""
        if last_dim_is_batch:
            raise NotImplementedError("NewtonGirardKernel does not support last_dim_is_batch; use batch_shape instead.")
        # With the coordinates first, ... x d x n x 1 and ... x d x 1 x m; the diagonal is a matrix of one column.
        scaled1, scaled2 = ((x / self.lengthscale).mT.unsqueeze(-1) for x in (x1, x2))
        factors = torch.exp(-0.5 * (scaled1 - (scaled2 if diag else scaled2.mT)).square())
        degree = min(self.max_degree, x1.shape[-1])
        averages = _averages_over_subsets(factors.unbind(dim=-3), degree)  # ... x degree x n x m
        covariance = (self.order_variance[..., :degree, None, None] * averages).sum(dim=-3)
        return covariance.squeeze(-1) if diag else covariance


def _averages_over_subsets(factors: Iterable[Tensor], degree: int) -> Tensor:
    r"""Average, over all subsets of q factors, of their product, for q = 1 ... `degree`.

    Of the subsets of :math:`j` factors of size :math:`q`, the share :math:`q/j` contains the last factor:

    .. math:: m_q^{(j)} = (1 - q/j)\, m_q^{(j-1)} + (q/j)\, z_j\, m_{q-1}^{(j-1)}, \qquad m_0 = 1.

    Args:
        factors: Tensors `... x n x m`, as many as there are coordinates.
        degree: Largest size of a subset.

    Returns:
        Tensor `... x degree x n x m`. Where there are fewer factors than q, the average is zero.
    """
    averages: Tensor | None = None
    for count, factor in enumerate(factors, start=1):
        latest = factor.unsqueeze(-3)
        one = torch.ones_like(latest)
        if averages is None:
            averages = torch.zeros_like(latest).expand(*latest.shape[:-3], degree, *latest.shape[-2:])
        sizes = torch.arange(1, degree + 1, dtype=factor.dtype, device=factor.device)[:, None, None]
        with_latest = latest * torch.cat([one, averages[..., :-1, :, :]], dim=-3)
        averages = torch.lerp(averages, with_latest, (sizes / count).clamp(max=1))
    if averages is None:
        raise ValueError("points have no coordinates, expected at least one.")
    return averages


def _set_variance(kernel: NewtonGirardKernel, value: Tensor) -> None:
    """Scale all orders alike, so that their sum is a draw from a prior."""
    shares = kernel.order_variance / kernel.variance.unsqueeze(-1)
    constraint = kernel.raw_order_variance_constraint
    kernel.order_variance = (shares * value.unsqueeze(-1)).clamp(constraint.lower_bound, constraint.upper_bound)
