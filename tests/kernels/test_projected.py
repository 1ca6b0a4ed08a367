"""The kernel of linear functions against GPyTorch's Matern kernel of them, and its closed form against autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gpytorch.kernels import MaternKernel
from scipy.fft import dct
from torch import Tensor

from betabo.kernels.closed_form import by_points
from betabo.kernels.factory import profile_covariance
from betabo.kernels.projected import ProjectedKernel, cosine_modes
from betabo.surrogate.likelihood import Likelihood


def some_points(count: int, dims: int, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).random((count, dims)))


def make(dims: int, shared: bool = False) -> ProjectedKernel:
    kernel = ProjectedKernel(cosine_modes(dims, [range(dims)], 3), shared).double()
    kernel.lengthscale = 0.7 if shared else torch.tensor([[0.3, 0.6, 1.2]], dtype=torch.float64)
    return kernel


@pytest.mark.parametrize("shared", [False, True])
def test_it_is_a_matern_kernel_of_the_linear_functions(shared: bool) -> None:
    kernel, x, y = make(6, shared), some_points(5, 6), some_points(4, 6, 1)
    matern = MaternKernel(nu=2.5, ard_num_dims=None if shared else 3).double()
    matern.lengthscale = kernel.lengthscale.detach()
    expected = matern(x @ kernel.matrix.mT, y @ kernel.matrix.mT).to_dense()
    torch.testing.assert_close(kernel(x, y).to_dense(), expected)
    torch.testing.assert_close(kernel(x, diag=True), torch.ones(5, dtype=torch.float64))


def test_waves_are_those_of_the_cosine_transform_of_each_profile() -> None:
    matrix = cosine_modes(9, [(0, 2, 4, 6), (8, 7, 5, 3)], 2).numpy()
    x = np.random.default_rng(0).random(9)
    for rows, profile in ((slice(0, 2), [0, 2, 4, 6]), (slice(2, 4), [8, 7, 5, 3])):
        np.testing.assert_allclose(matrix[rows] @ x, dct(x[profile], norm="ortho")[:2], atol=1e-12)
    assert not matrix[:, 1].any()


def test_the_closed_forms_agree_with_autograd() -> None:
    x, y = some_points(12, 9), torch.from_numpy(np.random.default_rng(1).standard_normal(12))
    lean, plain = (
        Likelihood(x, y, profile_covariance(9, [range(8)]).double(), "unknown", lean=lean) for lean in (True, False)
    )
    assert lean.is_lean
    vector = lean.vector() + 0.1 * np.random.default_rng(2).standard_normal(len(lean.vector()))
    (value, gradient), (expected, by_autograd) = lean(vector), plain(vector)
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(gradient, by_autograd, rtol=1e-6, atol=1e-8)

    kernel, points = make(9), some_points(4, 9, 3).requires_grad_()
    form = by_points(kernel, x)
    assert form is not None
    found, weights = form(points.detach().numpy()), some_points(4, 12, 4)
    covariance = kernel(points, x).to_dense()
    np.testing.assert_allclose(found.covariance, covariance.detach().numpy(), rtol=1e-10)
    (slopes,) = torch.autograd.grad((weights * covariance).sum(), points)
    np.testing.assert_allclose(found.gradient(weights.numpy(), np.zeros(4)), slopes.numpy(), rtol=1e-8, atol=1e-10)


def test_functions_do_not_change_along_what_no_row_sees() -> None:
    kernel, x = make(6), some_points(2, 6)
    along = torch.linalg.svd(kernel.matrix).Vh[-1]
    torch.testing.assert_close(kernel(x, x + 0.1 * along).to_dense(), kernel(x, x).to_dense())
