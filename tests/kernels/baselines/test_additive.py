"""The additive kernel against sums over subsets, and GPyTorch's own implementations."""

from __future__ import annotations

import itertools
import math
import warnings
from unittest import TestCase

import mpmath as mp
import pytest
import torch
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import NewtonGirardAdditiveKernel, RBFKernel
from gpytorch.priors import LogNormalPrior
from gpytorch.utils import sum_interaction_terms
from hypothesis import given
from torch import Tensor

from betabo.kernels.baselines.additive import NewtonGirardKernel
from cube_case import CubeKernelTestCase
from strategies import clouds, lengthscales


def make(dims: int, degree: int | None = None) -> NewtonGirardKernel:
    """Different length scales and different variances of the orders."""
    kernel = NewtonGirardKernel(ard_num_dims=dims, max_degree=degree).double()
    kernel.lengthscale = torch.linspace(0.2, 0.9, dims, dtype=torch.float64)
    kernel.order_variance = torch.linspace(0.4, 1.3, kernel.max_degree, dtype=torch.float64)
    return kernel


def brute_force(kernel: NewtonGirardKernel, x: list[float], y: list[float]) -> float:
    lengthscale = kernel.lengthscale[0].tolist()
    factors = [math.exp(-((a - b) ** 2) / (2 * scale**2)) for a, b, scale in zip(x, y, lengthscale, strict=True)]
    total = 0.0
    for order, variance in enumerate(kernel.order_variance.tolist(), start=1):
        products = [math.prod(subset) for subset in itertools.combinations(factors, order)]
        total += variance * sum(products) / len(products)
    return total


@pytest.mark.parametrize(("dims", "degree"), [(1, 1), (2, 1), (2, 2), (5, 3), (5, 5), (8, 4)])
def test_is_the_sum_over_subsets_of_coordinates(dims: int, degree: int) -> None:
    kernel = make(dims, degree)
    x, y = torch.rand(4, dims, dtype=torch.float64), torch.rand(3, dims, dtype=torch.float64)
    found = kernel(x, y).to_dense()
    for i, j in itertools.product(range(4), range(3)):
        assert found[i, j].item() == pytest.approx(brute_force(kernel, x[i].tolist(), y[j].tolist()), rel=1e-13)


def test_agrees_with_gpytorchs_deprecated_kernel() -> None:
    kernel = make(6, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        other = NewtonGirardAdditiveKernel(RBFKernel(ard_num_dims=6), 6, max_degree=4).double()
        other.base_kernel.lengthscale = kernel.lengthscale
        subsets = torch.tensor([math.comb(6, order) for order in range(1, 5)], dtype=torch.float64)
        other.outputscale = kernel.order_variance / subsets
        x = torch.rand(7, 6, dtype=torch.float64)
        expected = other(x).to_dense()
    torch.testing.assert_close(kernel(x).to_dense(), expected, rtol=1e-5, atol=0)  # that one computes in float32


def test_agrees_with_the_sum_of_interaction_terms() -> None:
    kernel = make(6, 3)
    subsets = torch.tensor([math.comb(6, order) for order in range(1, 4)], dtype=torch.float64)
    kernel.order_variance = subsets  # the sum of interaction terms weights all subsets alike
    x, y = torch.rand(7, 6, dtype=torch.float64), torch.rand(5, 6, dtype=torch.float64)
    lengthscale = kernel.lengthscale.squeeze(0)[:, None, None]
    single = torch.exp(-0.5 * ((x.mT.unsqueeze(-1) - y.mT.unsqueeze(-2)) / lengthscale).square())
    torch.testing.assert_close(kernel(x, y).to_dense(), sum_interaction_terms(single, max_degree=3))


def test_highest_order_alone_is_the_rbf_kernel() -> None:
    kernel = make(5, 5)
    kernel.order_variance = [1e-14, 1e-14, 1e-14, 1e-14, 1.0]
    rbf = RBFKernel(ard_num_dims=5).double()
    rbf.lengthscale = kernel.lengthscale
    x = torch.rand(9, 5, dtype=torch.float64)
    torch.testing.assert_close(kernel(x).to_dense(), rbf(x).to_dense(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 2e-5)])
def test_all_orders_of_many_coordinates_are_accurate(dtype: torch.dtype, tolerance: float) -> None:
    dims = 30
    x, y = torch.rand(2, dims, dtype=dtype)
    kernel = NewtonGirardKernel(ard_num_dims=dims, max_degree=dims).to(dtype)
    kernel.lengthscale = 0.5
    for order in (1, 10, 20, 30):
        variance = torch.full((dims,), 1e-30, dtype=dtype)
        variance[order - 1] = 1
        kernel.order_variance = variance
        polynomial = [mp.mpf(1)] + [mp.mpf(0)] * dims
        for a, b in zip(x.tolist(), y.tolist(), strict=True):
            factor = mp.exp(-((mp.mpf(a) - mp.mpf(b)) ** 2) / (2 * mp.mpf(kernel.lengthscale[0, 0].item()) ** 2))
            polynomial = [polynomial[0]] + [polynomial[q] + factor * polynomial[q - 1] for q in range(1, dims + 1)]
        exact = float(polynomial[order] / mp.binomial(dims, order)) * kernel.order_variance[order - 1].item()
        assert kernel(x[None], y[None]).to_dense().item() == pytest.approx(exact, rel=tolerance)


def test_variance_is_the_diagonal() -> None:
    kernel = make(5, 3)
    x = torch.rand(6, 5, dtype=torch.float64)
    torch.testing.assert_close(kernel(x).to_dense().diagonal(), kernel.variance.expand(6))
    torch.testing.assert_close(kernel(x, diag=True), kernel.variance.expand(6))


def test_diagonal_of_two_different_sets() -> None:
    kernel = make(4)
    x, y = torch.rand(2, 6, 4, dtype=torch.float64)
    torch.testing.assert_close(kernel(x, y, diag=True), kernel(x, y).to_dense().diagonal())


@pytest.mark.parametrize("same", [False, True])
def test_gradients_in_points_and_parameters(same: bool) -> None:
    kernel = make(3, 3)
    x, y = (torch.rand(n, 3, dtype=torch.float64, requires_grad=True) for n in (4, 3))
    names, values = zip(*kernel.named_parameters(), strict=True)

    def covariance(x: Tensor, y: Tensor, *raw: Tensor) -> Tensor:
        parameters = dict(zip(names, raw, strict=True))
        return torch.func.functional_call(Evaluated(kernel), {f"kernel.{k}": v for k, v in parameters.items()}, (x, y))

    class Evaluated(torch.nn.Module):
        def __init__(self, kernel: NewtonGirardKernel) -> None:
            super().__init__()
            self.kernel = kernel

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return self.kernel.forward(x, x if same else y)

    inputs = (x, y, *(value.detach().clone().requires_grad_() for value in values))
    assert torch.autograd.gradcheck(covariance, inputs, check_undefined_grad=False)
    assert torch.autograd.gradgradcheck(covariance, inputs, check_undefined_grad=False)


def test_faces_vertices_and_centre_are_finite_with_finite_gradients() -> None:
    x = torch.tensor(list(itertools.product([0.0, 0.5, 1.0], repeat=3)), dtype=torch.float64, requires_grad=True)
    kernel = make(3)
    covariance = kernel(x).to_dense()
    gradients = torch.autograd.grad(covariance.sum(), [x, *kernel.parameters()])
    assert all(tensor.isfinite().all() for tensor in (covariance, *gradients))


@given(x=clouds(), lengthscale=lengthscales)
def test_positive_semidefinite(x: Tensor, lengthscale: float) -> None:
    kernel = NewtonGirardKernel(ard_num_dims=x.shape[-1]).double()
    kernel.lengthscale = lengthscale
    covariance = kernel(x).to_dense()
    assert torch.linalg.eigvalsh(covariance).min() > -1e-12 * covariance.diagonal().max() * len(x)


class TestEcosystem(CubeKernelTestCase, TestCase):
    """GPyTorch's own tests of a kernel, with data in the unit cube."""

    def create_kernel_no_ard(self, **kwargs: object) -> NewtonGirardKernel:
        return NewtonGirardKernel(**kwargs)

    def create_kernel_ard(self, num_dims: int, **kwargs: object) -> NewtonGirardKernel:
        return NewtonGirardKernel(ard_num_dims=num_dims, **kwargs)


def test_state_dict_restores_everything() -> None:
    kernel, other = make(3), NewtonGirardKernel(ard_num_dims=3).double()
    other.load_state_dict(kernel.state_dict())
    x = torch.rand(5, 3, dtype=torch.float64)
    assert torch.equal(other(x).to_dense(), kernel(x).to_dense())


def test_float32_is_kept() -> None:
    kernel, x = make(5).float(), torch.rand(6, 5, requires_grad=True)
    covariance = kernel(x).to_dense()
    assert covariance.dtype == torch.float32
    assert kernel(x, diag=True).dtype == torch.float32
    assert torch.autograd.grad(covariance.sum(), x)[0].dtype == torch.float32
    torch.testing.assert_close(covariance.double(), kernel.double()(x.double()).to_dense(), rtol=1e-5, atol=1e-6)


def test_default_degree_is_at_most_four() -> None:
    assert [NewtonGirardKernel(ard_num_dims=dims).max_degree for dims in (1, 3, 4, 20)] == [1, 3, 4, 4]
    assert NewtonGirardKernel().max_degree == 4
    assert NewtonGirardKernel(ard_num_dims=7).variance.item() == pytest.approx(1)


def test_draw_of_the_variance_keeps_the_shares_of_the_orders() -> None:
    kernel = NewtonGirardKernel(ard_num_dims=3, variance_prior=LogNormalPrior(2.0, 0.1))
    kernel.order_variance = [0.1, 0.2, 0.7]
    kernel.sample_from_prior("variance_prior")
    assert 5 < kernel.variance.item() < 11
    assert (kernel.order_variance / kernel.variance).tolist() == pytest.approx([0.1, 0.2, 0.7], rel=1e-4)


def test_is_stationary() -> None:
    assert NewtonGirardKernel().is_stationary is True


@pytest.mark.parametrize("degree", [0, 4])
def test_impossible_degrees_are_refused(degree: int) -> None:
    with pytest.raises(ValueError, match=rf"max_degree is {degree}, expected a number from 1 to ard_num_dims = 3"):
        NewtonGirardKernel(ard_num_dims=3, max_degree=degree)


def test_variances_outside_the_constraint_or_of_the_wrong_shape_are_refused() -> None:
    kernel = NewtonGirardKernel(ard_num_dims=2, order_variance_constraint=GreaterThan(0.1))
    with pytest.raises(ValueError, match=r"order_variance is 0\.01, outside the kernel's constraint"):
        kernel.order_variance = 0.01
    with pytest.raises(ValueError, match="order_variance is 0, outside"):
        NewtonGirardKernel(ard_num_dims=2).order_variance = 0  # minus infinity in the raw parameter
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        kernel.order_variance = torch.ones(3)
    with pytest.raises(NotImplementedError, match="last_dim_is_batch"):
        kernel.forward(torch.rand(2, 2), torch.rand(2, 2), last_dim_is_batch=True)
