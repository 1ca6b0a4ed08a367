"""A kernel of linear functions of the coordinates, such as the slow waves of a profile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from gpytorch.constraints import Interval
from gpytorch.kernels import Kernel
from gpytorch.priors import Prior
from torch import Tensor

from betabo.kernels.closed_form import Array, AtPoints, ByParameters, ByPoints, ClosedForm, Places, declares, product
from betabo.kernels.radial import matern_profile
from betabo.kernels.radial_form import RadialForm, smooth_profile

_NU = 2.5  # roughness, as that of the default kernel


class ProjectedKernel(Kernel):  # type: ignore[misc]
    r"""Matern-5/2 covariance of linear functions :math:`A \mathbf x` of the coordinates.

    Its functions do not change where no row of the matrix does, so a few rows make a function of few variables out of
    one of many coordinates.

    Args:
        matrix: The linear functions, `m x d`.
        shared: Whether they have one length scale rather than one each.
        lengthscale_prior: Prior of the length scales.
        lengthscale_constraint: Constraint of the length scales, positive by default.

    Example:
        >>> profile = cosine_modes(20, [range(20)], count=5)
        >>> covar_module = beta_additive_covariance(20) + ScaleKernel(ProjectedKernel(profile))
        >>> covar = covar_module(torch.rand(10, 20, dtype=torch.float64))  # 10 x 10
    """

    has_lengthscale = True

    def __init__(
        self,
        matrix: Tensor,
        shared: bool = False,
        lengthscale_prior: Prior | None = None,
        lengthscale_constraint: Interval | None = None,
    ) -> None:
        super().__init__(
            ard_num_dims=1 if shared else len(matrix),
            lengthscale_prior=lengthscale_prior,
            lengthscale_constraint=lengthscale_constraint,
        )
        self.ard_num_dims = None  # or GPyTorch would want as many length scales as the points have coordinates
        self.register_buffer("matrix", matrix)

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **_: Any) -> Tensor:
        """Covariances of two sets of points, `... x n x m`, or of pairs of them, `... x n`."""
        u1, u2 = (x @ self.matrix.mT / self.lengthscale for x in (x1, x2))
        if diag:
            return matern_profile((u1 - u2).square().sum(dim=-1), _NU)
        return matern_profile((u1.unsqueeze(-2) - u2.unsqueeze(-3)).square().sum(dim=-1), _NU)


def cosine_modes(dims: int, profiles: Sequence[Sequence[int]], count: int) -> Tensor:
    """The first cosine waves along each profile, of norm 1: its mean, its slope, and so on.

    Args:
        dims: Number of coordinates.
        profiles: The numbers of the coordinates of each, in their order.
        count: Number of waves of each.

    Returns:
        A matrix, `m x dims`.
    """
    rows = torch.zeros(len(profiles) * count, dims, dtype=torch.float64)
    for number, profile in enumerate(profiles):
        place = (torch.arange(len(profile), dtype=torch.float64) + 0.5) / len(profile)
        waves = torch.cos(math.pi * torch.arange(count, dtype=torch.float64).unsqueeze(-1) * place)
        rows[number * count : (number + 1) * count, list(profile)] = torch.nn.functional.normalize(waves, dim=-1)
    return rows


@declares(ProjectedKernel)
class ProjectedForm(ClosedForm):
    """Its closed form: that of the Matern kernel, of the linear functions."""

    def by_points(self, x: Array) -> ByPoints | None:  # noqa: D102
        matrix = self.kernel.matrix.numpy()
        radial = self._radial().by_points(product(x, matrix.T))
        if radial is None:
            return None

        def at(points: Array) -> AtPoints:
            inner = radial(product(points, matrix.T))
            return AtPoints(inner.covariance, inner.variance, lambda *slopes: product(inner.gradient(*slopes), matrix))

        return at

    def by_parameters(self, x: Array, places: Places) -> ByParameters | None:  # noqa: D102
        return self._radial().by_parameters(product(x, self.kernel.matrix.numpy().T), places)

    def _radial(self) -> RadialForm:
        return RadialForm(self.kernel, smooth_profile(_NU))
