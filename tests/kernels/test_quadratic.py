"""The kernel of quadratic functions: its functions, and its closed form against autograd."""

from __future__ import annotations

import numpy as np
import torch
from gpytorch.kernels import ScaleKernel
from torch import Tensor

from betabo.kernels.closed_form import by_parameters, by_points
from betabo.kernels.quadratic import QuadraticKernel


def some_points(count: int, dims: int = 3) -> Tensor:
    return torch.from_numpy(np.random.default_rng(count).normal(size=(count, dims)))


def test_its_functions_are_all_quadratic_ones() -> None:
    x = some_points(30)
    features = [torch.ones(30, 1), x, *((x[:, i : i + 1] * x[:, i:]) for i in range(3))]
    span = torch.cat(features, dim=1).double()  # 10 monomials of degree up to two
    covariance = QuadraticKernel().double()(x).to_dense().detach()
    assert torch.linalg.matrix_rank(covariance) == torch.linalg.matrix_rank(span) == 10
    outside = covariance - span @ torch.linalg.pinv(span) @ covariance
    assert outside.abs().max() < 1e-10


def test_diagonal_is_that_of_the_matrix() -> None:
    x, kernel = some_points(7), QuadraticKernel()
    torch.testing.assert_close(kernel(x, diag=True), kernel(x).to_dense().diagonal())


def test_closed_form_by_points_has_the_slopes_of_autograd() -> None:
    data, points = some_points(9), some_points(4).requires_grad_()
    kernel = QuadraticKernel().double()
    form = by_points(kernel, data)
    assert form is not None
    found = form(points.detach().numpy())
    weights, own = some_points(4, 9), some_points(4, 1).squeeze(-1)
    covariance, variance = kernel(points, data).to_dense(), kernel(points, diag=True)
    np.testing.assert_allclose(found.covariance, covariance.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(found.variance, variance.detach().numpy(), rtol=1e-12)
    (slopes,) = torch.autograd.grad((weights * covariance).sum() + (own * variance).sum(), points)
    np.testing.assert_allclose(found.gradient(weights.numpy(), own.numpy()), slopes.numpy(), rtol=1e-10)


def test_closed_form_by_parameters_of_a_scaled_one() -> None:
    x, kernel = some_points(6), ScaleKernel(QuadraticKernel()).double()
    form = by_parameters(kernel, x, {kernel.raw_outputscale: slice(0, 1)})
    assert form is not None
    found = form(np.array([np.log(2.5)]))
    assert found is not None
    kernel.outputscale = 2.5
    np.testing.assert_allclose(found.covariance, kernel(x).to_dense().detach().numpy(), rtol=1e-12)
    gradient = np.zeros(1)
    found.add_gradient(np.ones((6, 6)), gradient)
    np.testing.assert_allclose(gradient, found.covariance.sum())
