"""Learned input warping around any kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import torch
from gpytorch import settings
from gpytorch.constraints import GreaterThan, Interval
from gpytorch.kernels import Kernel
from gpytorch.priors import LogNormalPrior, Prior
from torch import Tensor

from betabo.kernels.cube import CubeKernel, as_parameter, register_prior

# This close to a face the warp is a straight line, which bounds its slope: that of x^a is infinite at 0 where a < 1.
_STRAIGHT = 1e-6


class WarpedKernel(CubeKernel):
    r"""Any kernel of the unit cube, after a learned warp of each coordinate.

    .. math::
        k(\mathbf x, \mathbf x') = k_0\bigl(w(\mathbf x), w(\mathbf x')\bigr), \qquad
        w_i(\mathbf x) = 1 - (1 - x_i^{a_i})^{b_i}

    The warp is the distribution function of a Kumaraswamy distribution with `concentration1` :math:`a` and
    `concentration0` :math:`b` (the names of PyTorch and BoTorch): it maps [0, 1] onto itself, and is the identity for
    :math:`a = b = 1`, where it starts. Small :math:`a` magnifies the neighbourhood of 0, small :math:`b` that of 1.
    Snoek et al. (ICML 2014) proposed the same with the distribution function of the Beta distribution, which has
    nearly the same shapes but no simple derivatives in its parameters; BoTorch's `Warp` uses Kumaraswamy too. Here the
    warp is part of the kernel and not an input transform: it can be put around one factor or summand of a kernel.

    Within 1e-6 of a face the warp is the straight line to the exact value 0 or 1 on the face, which keeps the
    gradients finite there.

    Args:
        base_kernel: Kernel :math:`k_0` of the warped points.
        ard_num_dims: Number of coordinates, each with a warp of its own; None shares one warp.
        concentration1_prior: Prior of :math:`a`, log-normal with median 1 and :math:`\sigma = \sqrt{0.75}` by default.
        concentration0_prior: Prior of :math:`b`, the same by default.
        concentration_constraint: Constraint of :math:`a` and of :math:`b`, at least 1e-4 by default.
        kwargs: `batch_shape` (that of the base kernel by default) and `active_dims`.

    Example:
        >>> x = torch.rand(10, 5, dtype=torch.float64)
        >>> covar_module = WarpedKernel(gpytorch.kernels.MaternKernel(ard_num_dims=5), ard_num_dims=5)
        >>> covar = covar_module(x)  # 10 x 10
    """

    def __init__(
        self,
        base_kernel: Kernel,
        ard_num_dims: int | None = None,
        concentration1_prior: Prior | None = None,
        concentration0_prior: Prior | None = None,
        concentration_constraint: Interval | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(base_kernel, Kernel):
            raise TypeError(f"base_kernel is a {type(base_kernel).__name__}, expected a gpytorch.kernels.Kernel.")
        if kwargs.get("batch_shape") is None:
            kwargs["batch_shape"] = base_kernel.batch_shape
        super().__init__(ard_num_dims=ard_num_dims, **kwargs)
        self.base_kernel = base_kernel
        shape = (*self.batch_shape, 1, 1 if ard_num_dims is None else ard_num_dims)
        for name, prior in (("concentration1", concentration1_prior), ("concentration0", concentration0_prior)):
            self.register_parameter(f"raw_{name}", torch.nn.Parameter(torch.zeros(shape)))
            self.register_constraint(
                f"raw_{name}",
                GreaterThan(1e-4) if concentration_constraint is None else deepcopy(concentration_constraint),
            )
            setattr(self, name, 1.0)
            register_prior(self, name, LogNormalPrior(0.0, math.sqrt(0.75)) if prior is None else prior)

    @property
    def is_stationary(self) -> bool:
        """False: the warp knows where in the box a point lies."""
        return False

    @property
    def concentration1(self) -> Tensor:
        """Exponents `a` of the coordinates, `... x 1 x d` (or `... x 1 x 1` when one is shared)."""
        value: Tensor = self.raw_concentration1_constraint.transform(self.raw_concentration1)
        return value

    @concentration1.setter
    def concentration1(self, value: Tensor | float | Sequence[float]) -> None:
        self._set_concentration("concentration1", value)

    @property
    def concentration0(self) -> Tensor:
        """Exponents `b` of their complements, `... x 1 x d` (or `... x 1 x 1` when one is shared)."""
        value: Tensor = self.raw_concentration0_constraint.transform(self.raw_concentration0)
        return value

    @concentration0.setter
    def concentration0(self, value: Tensor | float | Sequence[float]) -> None:
        self._set_concentration("concentration0", value)

    def _set_concentration(self, name: str, value: Tensor | float | Sequence[float]) -> None:
        constraint = getattr(self, f"raw_{name}_constraint")
        target = as_parameter(value, getattr(self, f"raw_{name}"), name)
        if not bool((target > 0).all()) or not constraint.check(target):
            raise ValueError(f"{name} is {value!r}, outside the kernel's constraint {constraint}.")
        self.initialize(**{f"raw_{name}": constraint.inverse_transform(target)})

    def warp(self, x: Tensor) -> Tensor:
        """The warped points, of the shape of `x` with the batch shape of the kernel."""
        inside = x.clamp(_STRAIGHT, 1 - _STRAIGHT)
        complement = -torch.expm1(self.concentration1 * inside.log())  # 1 - x^a, without cancellation near 1
        warped = 1 - complement.pow(self.concentration0)
        towards_zero = (x / _STRAIGHT).clamp(max=1)
        towards_one = ((1 - x) / _STRAIGHT).clamp(max=1)
        return 1 - (1 - warped * towards_zero) * towards_one

    def forward(
        self, x1: Tensor, x2: Tensor, diag: bool = False, last_dim_is_batch: bool = False, **kwargs: Any
    ) -> Any:
        """Covariance of the points `x1`, `... x n x d`, and `x2`, `... x m x d`, of the unit cube."""
        if last_dim_is_batch:
            raise NotImplementedError("WarpedKernel does not support last_dim_is_batch; use batch_shape instead.")
        warped1 = self.warp(self.check_points(x1))
        warped2 = warped1 if x1 is x2 else self.warp(self.check_points(x2))
        with settings.lazily_evaluate_kernels(False):
            return self.base_kernel(warped1, warped2, diag=diag, **kwargs)

    def num_outputs_per_input(self, x1: Tensor, x2: Tensor) -> int:
        """That of the base kernel."""
        number: int = self.base_kernel.num_outputs_per_input(x1, x2)
        return number
