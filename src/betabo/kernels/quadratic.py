"""The kernel of quadratic functions."""

from __future__ import annotations

from typing import Any

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from betabo.kernels.closed_form import (
    Array,
    AtParameters,
    AtPoints,
    ByParameters,
    ByPoints,
    ClosedForm,
    Places,
    declares,
    product,
)


class QuadraticKernel(Kernel):  # type: ignore[misc]
    r"""Covariance whose functions are the polynomials of degree two.

    .. math:: k(\mathbf x, \mathbf x') = \frac19 \Bigl(1 + \frac{2}{d}\, \mathbf x^\top \mathbf x'\Bigr)^2

    Products of coordinates are among them, so a bowl may be turned in any direction. The variance is 1/9 at the origin
    and about 1 where the coordinates are of size 1: the origin is to be a point of interest, and the unit a distance
    that matters. Where there are fewer data than coefficients, the posterior mean is the quadratic function with the
    smallest coefficients.

    Points may lie anywhere, not only in the unit cube. There are no parameters.

    Example:
        >>> covar_module = ScaleKernel(QuadraticKernel()) + ScaleKernel(MaternKernel())
        >>> covar = covar_module(torch.randn(10, 5))  # 10 x 10
    """

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **_: Any) -> Tensor:
        """Covariances of two sets of points, `... x n x m`, or of pairs of them, `... x n`."""
        products = (x1 * x2).sum(dim=-1) if diag else x1 @ x2.mT
        covariance: Tensor = torch.square(1 + 2 / x1.shape[-1] * products) / 9
        return covariance


@declares(QuadraticKernel)
class QuadraticForm(ClosedForm):
    """Its closed form."""

    def by_points(self, x: Array) -> ByPoints:  # noqa: D102
        share = 2 / x.shape[-1]

        def at(points: Array) -> AtPoints:
            crossed = 1 + share * product(points, x.T)
            own = 1 + share * (points * points).sum(axis=1)

            def gradient(by_covariance: Array, by_variance: Array) -> Array:
                by_points = product(by_covariance * crossed, x)
                by_points += 2 * (by_variance * own)[:, None] * points
                by_points *= 2 * share / 9
                return by_points

            return AtPoints(crossed * crossed / 9, own * own / 9, gradient)

        return at

    def by_parameters(self, x: Array, places: Places) -> ByParameters:  # noqa: ARG002, D102
        crossed = 1 + 2 / x.shape[-1] * product(x, x.T)
        constant = AtParameters(crossed * crossed / 9, lambda *_: None)
        return lambda _: constant
