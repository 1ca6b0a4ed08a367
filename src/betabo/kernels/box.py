"""What the kernels of the unit cube share: checked inputs, the boundary weight, the bandwidth, the method."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import torch
from gpytorch.constraints import GreaterThan, Interval
from gpytorch.priors import GammaPrior, Prior
from torch import Tensor

from betabo.kernels.cube import CubeKernel, as_parameter, register_prior, show
from betabo.kernels.distance import METHODS, Method
from betabo.kernels.matmul import FeatureCache
from betabo.kernels.special import boundary_excess

# In float64 the variance at a vertex cannot overflow in so few dimensions, for bandwidths down to 1e-10.
_ALWAYS_FINITE_DIMS = 30

BoundaryWeight = float | Literal["learned"]


class BoxKernel(CubeKernel):
    r"""Base class of covariance functions on the unit cube :math:`[0, 1]^d`.

    It owns the `bandwidth` and the `boundary_weight`, checks that points lie in the cube, and remembers the features of
    points that do not change. Subclasses give the covariance of checked points in `_covariance`.

    Args:
        bandwidth_dims: Number of bandwidths.
        boundary_weight: A number in [0, 1], or `"learned"`.
        boundary_weight_prior: Prior of a learned boundary weight. The default is exponential with mean 1: of weights
            that explain the data alike the smallest is taken, and one nat stands between 0 and 1. `UniformPrior(0, 1)`
            switches it off.
        bandwidth_prior: Prior of the bandwidths.
        bandwidth_constraint: Constraint of the bandwidths, at least 1e-4 by default.
        method: `"auto"`, `"matmul"` or `"lgamma"`, see `betabo.kernels.distance`.
        tolerance: Absolute error of the squared distance with which `"auto"` accepts the matmul form.
        kwargs: Passed to `gpytorch.kernels.Kernel`.
    """

    def __init__(
        self,
        *,
        bandwidth_dims: int,
        boundary_weight: BoundaryWeight,
        boundary_weight_prior: Prior | None = None,
        bandwidth_prior: Prior | None = None,
        bandwidth_constraint: Interval | None = None,
        method: Method = "auto",
        tolerance: float = 5e-10,
        **kwargs: Any,
    ) -> None:
        if method not in METHODS:
            raise ValueError(f"method is {method!r}, expected one of {', '.join(map(repr, METHODS))}.")
        if not tolerance > 0:
            raise ValueError(f"tolerance is {tolerance!r}, expected a positive number such as 1e-10.")
        super().__init__(**kwargs)
        self.method: Method = method
        self.tolerance = tolerance
        self._feature_cache = FeatureCache()

        self.register_parameter("raw_bandwidth", torch.nn.Parameter(torch.zeros(*self.batch_shape, 1, bandwidth_dims)))
        self.register_constraint(
            "raw_bandwidth", GreaterThan(1e-4) if bandwidth_constraint is None else bandwidth_constraint
        )
        register_prior(self, "bandwidth", bandwidth_prior)

        weight_shape = (*self.batch_shape, 1, 1)
        self.learns_boundary_weight = boundary_weight == "learned"
        if self.learns_boundary_weight:
            self.register_parameter("raw_boundary_weight", torch.nn.Parameter(torch.zeros(weight_shape)))
            self.register_constraint("raw_boundary_weight", Interval(0.0, 1.0))
            register_prior(
                self,
                "boundary_weight",
                GammaPrior(1.0, 1.0) if boundary_weight_prior is None else boundary_weight_prior,
            )
            self.boundary_weight = 0.1
        else:
            if boundary_weight_prior is not None:
                raise ValueError(
                    "boundary_weight_prior is given but boundary_weight is fixed; use boundary_weight='learned'."
                )
            # In double precision whatever the default, so that a kernel moved to float64 has the number it was given.
            self.register_buffer("fixed_boundary_weight", torch.zeros(weight_shape, dtype=torch.float64))
            self.boundary_weight = _number(boundary_weight)

    fixed_boundary_weight: Tensor

    @property
    def is_stationary(self) -> bool:
        """False: these kernels know where in the box a point lies."""
        return False

    @property
    def bandwidth(self) -> Tensor:
        """Bandwidths `h`, `... x 1 x d` (or `... x 1 x 1` when one is shared)."""
        value: Tensor = self.raw_bandwidth_constraint.transform(self.raw_bandwidth)
        return value

    @bandwidth.setter
    def bandwidth(self, value: Tensor | float | Sequence[float]) -> None:
        target = as_parameter(value, self.raw_bandwidth, "bandwidth")
        if not bool((target > 0).all()) or not bool(target.isfinite().all()):
            raise ValueError(f"bandwidth is {show(target)}, expected finite numbers > 0.")
        constraint = self.raw_bandwidth_constraint
        if not constraint.check(target):
            raise ValueError(f"bandwidth is {show(target)}, outside the kernel's constraint {constraint}.")
        self.initialize(raw_bandwidth=constraint.inverse_transform(target))

    @property
    def boundary_weight(self) -> Tensor:
        """Boundary weight `w` in [0, 1], `... x 1 x 1`, learned or fixed."""
        if not self.learns_boundary_weight:
            return self.fixed_boundary_weight
        value: Tensor = self.raw_boundary_weight_constraint.transform(self.raw_boundary_weight)
        return value

    @boundary_weight.setter
    def boundary_weight(self, value: Tensor | float) -> None:
        like = self.raw_boundary_weight if self.learns_boundary_weight else self.fixed_boundary_weight
        target = as_parameter(value, like, "boundary_weight")
        if not bool(((target >= 0) & (target <= 1)).all()):
            raise ValueError(f"boundary_weight is {show(target)}, expected a number in [0, 1] or 'learned'.")
        if self.learns_boundary_weight:
            inside = target.clamp(1e-6, 1 - 1e-6)  # the ends lie at infinity in the raw parameter
            self.initialize(raw_boundary_weight=self.raw_boundary_weight_constraint.inverse_transform(inside))
        else:
            self.fixed_boundary_weight = target.clone()

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, last_dim_is_batch: bool = False, **_: Any) -> Tensor:
        """Covariance of the points `x1`, `... x n x d`, and `x2`, `... x m x d`, of the unit cube."""
        if last_dim_is_batch:
            raise NotImplementedError(
                f"{type(self).__name__} does not support last_dim_is_batch; use batch_shape instead."
            )
        same = x1 is x2
        x1 = self.check_points(x1)
        x2 = x1 if same else self.check_points(x2)
        log_scale1 = self.log_scale(x1)
        log_scale2 = log_scale1 if same else self.log_scale(x2)
        if diag:
            return self._diagonal(x1, x2, log_scale1, log_scale2)
        return self._covariance(x1, x2, log_scale1, log_scale2)

    @abstractmethod
    def geometry(self) -> tuple[Tensor, Tensor]:
        r"""Bandwidths and weights in :math:`r^2 = \sum_i w_i \rho_{h_i}^2`, each `... x 1 x d` or `... x 1 x 1`."""

    @abstractmethod
    def _covariance(self, x1: Tensor, x2: Tensor, log_scale1: Tensor | None, log_scale2: Tensor | None) -> Tensor:
        """Covariance matrix; the log scales, `... x n x 1`, are the logs of factors of each point."""

    @abstractmethod
    def _diagonal(self, x1: Tensor, x2: Tensor, log_scale1: Tensor | None, log_scale2: Tensor | None) -> Tensor:
        """Covariance of the i-th point of `x1` with the i-th of `x2`, `... x n`."""

    def log_scale(self, x: Tensor) -> Tensor | None:
        """Log of the factor that the boundary weight gives each point, or None where the weight is fixed at zero."""
        if not self.learns_boundary_weight and not bool(self.fixed_boundary_weight.any()):
            return None
        log_scale = log_boundary_factor(x.double(), self.bandwidth.double(), self.boundary_weight).to(x.dtype)
        if x.dtype == torch.float32 or x.shape[-1] > _ALWAYS_FINITE_DIMS:
            largest = 2 * log_scale.detach().max().item() if log_scale.numel() else 0.0
            if largest > math.log(torch.finfo(x.dtype).max):
                raise OverflowError(
                    f"the prior variance at the boundary is exp({largest:.0f}) times that at the centre, "
                    f"too large for {x.dtype}; use torch.float64, a smaller boundary_weight or larger bandwidths."
                )
        return log_scale

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_feature_cache": FeatureCache()}


def log_boundary_factor(x: Tensor, bandwidth: Tensor, weight: Tensor) -> Tensor:
    """Log of the factor that a boundary weight gives each point.

    Args:
        x: Points, `... x n x d`.
        bandwidth: Bandwidths, `... x 1 x d` (or `... x 1 x 1`).
        weight: Boundary weights, `... x 1 x 1`.

    Returns:
        Logarithms, `... x n x 1`.
    """
    return 0.5 * weight * boundary_excess(x, bandwidth).sum(dim=-1, keepdim=True)


def log_boundary_factor_slope(x: Tensor, bandwidth: Tensor, weight: Tensor) -> Tensor:
    """The derivatives of `log_boundary_factor` by the points' coordinates, `... x n x d`."""
    return 0.5 * weight * (_excess_slope(x / bandwidth) - _excess_slope((1 - x) / bandwidth)) / bandwidth


def log_boundary_factor_slope_by_bandwidth(x: Tensor, bandwidth: Tensor, weight: Tensor) -> Tensor:
    """The derivatives of `log_boundary_factor` by the logarithms of the coordinates' bandwidths, `... x n x d`."""
    low, high, centre = x / bandwidth, (1 - x) / bandwidth, 0.5 / bandwidth
    by_log = 2 * centre * _excess_slope(centre) - low * _excess_slope(low) - high * _excess_slope(high)
    return 0.5 * weight * by_log


def _excess_slope(z: Tensor) -> Tensor:
    """The derivative of the function `q` in `boundary_excess`."""
    return torch.digamma(z + 0.5) - torch.digamma(z + 1)


def _number(boundary_weight: object) -> float:
    if isinstance(boundary_weight, (int, float)) and not isinstance(boundary_weight, bool):
        return float(boundary_weight)
    raise ValueError(f"boundary_weight is {boundary_weight!r}, expected a number in [0, 1] or 'learned'.")
