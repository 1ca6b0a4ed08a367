"""The Beta-Matern kernel against 50-digit arithmetic, its limits, and its stated properties."""

from __future__ import annotations

import itertools
import math
from unittest import TestCase

import pytest
import torch
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import oracles
from betabo import BetaKernel, BetaMaternKernel
from cube_case import CubeKernelTestCase
from strategies import bandwidths, clouds, lengthscales, weights

NUS = [0.5, 1.5, 2.5, math.inf]
METHODS = ["matmul", "lgamma"]


def make(
    nu: float, h: float, lengthscale: float | list[float], dims: int, method: str = "auto", w: float = 0.0
) -> BetaMaternKernel:
    kernel = BetaMaternKernel(nu=nu, ard_num_dims=dims, boundary_weight=w, method=method).double()
    kernel.bandwidth = h
    kernel.lengthscale = torch.as_tensor(lengthscale, dtype=torch.float64).expand(1, dims)
    return kernel


@pytest.mark.parametrize("nu", NUS)
@pytest.mark.parametrize("h", [1e-3, 0.03, 0.5, 5.0, 1e3])
@pytest.mark.parametrize("dims", [1, 3, 100])
def test_agrees_with_mpmath(nu: float, h: float, dims: int) -> None:
    generator = torch.Generator().manual_seed(dims)
    x = torch.rand(4, dims, generator=generator, dtype=torch.float64)
    x[0] = torch.randint(2, (dims,), generator=generator)
    x[3] = (x[2] + 1e-7).clamp(0, 1)
    scale = math.sqrt(dims) * (0.3 + torch.rand(dims, generator=generator, dtype=torch.float64))
    for method in METHODS:
        kernel = make(nu, h, scale.tolist(), dims, method)
        found = kernel(x, x.clone()).to_dense().log()
        for i, j in itertools.product(range(4), repeat=2):
            exact = oracles.log_beta_matern(
                x[i].tolist(), x[j].tolist(), kernel.bandwidth.item(), kernel.lengthscale[0].tolist(), nu
            )
            assert abs(found[i, j].item() - float(exact)) < 1e-9, (method, i, j)


@pytest.mark.parametrize("nu", NUS)
def test_agrees_with_mpmath_in_200_dimensions(nu: float) -> None:
    x = torch.rand(2, 200, dtype=torch.float64)
    x[0, ::3] = 1.0
    for method in METHODS:
        kernel = make(nu, 0.5, [10.0] * 200, 200, method)
        exact = oracles.log_beta_matern(
            x[0].tolist(), x[1].tolist(), kernel.bandwidth.item(), kernel.lengthscale[0].tolist(), nu
        )
        assert abs(kernel(x[:1], x[1:]).to_dense().log().item() - float(exact)) < 1e-9


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_large_bandwidth_is_the_ordinary_matern_kernel(nu: float) -> None:
    ordinary = MaternKernel(nu=nu, ard_num_dims=3).double()
    ordinary.lengthscale = torch.tensor([0.2, 0.5, 1.0], dtype=torch.float64)
    kernel = make(nu, 300.0, [0.2, 0.5, 1.0], 3)
    x = torch.rand(60, 3, dtype=torch.float64)
    assert (kernel(x).to_dense() - ordinary(x).to_dense()).abs().max() < 1e-5


def test_large_bandwidth_with_infinite_nu_is_the_ordinary_rbf_kernel() -> None:
    ordinary = RBFKernel().double()
    ordinary.lengthscale = 0.4
    x = torch.rand(40, 2, dtype=torch.float64)
    assert (make(math.inf, 300.0, 0.4, 2)(x).to_dense() - ordinary(x).to_dense()).abs().max() < 1e-5


def test_small_bandwidth_is_matern_of_the_jensen_shannon_distance() -> None:
    x = torch.linspace(0.05, 0.95, 40, dtype=torch.float64)
    entropy = torch.special.entr(x) + torch.special.entr(1 - x)
    middle = (x[:, None] + x[None, :]) / 2
    divergence = torch.special.entr(middle) + torch.special.entr(1 - middle) - (entropy[:, None] + entropy[None, :]) / 2
    s = torch.sqrt(5 * 2 * divergence.clamp_min(0) / 0.5**2)
    expected = (1 + s + s.square() / 3) * torch.exp(-s)
    assert (make(2.5, 1e-3, 0.5, 1)(x.unsqueeze(-1)).to_dense() - expected).abs().max() < 2e-3


def test_small_bandwidth_is_locally_the_distance_in_arcsin_of_the_root() -> None:
    x = torch.linspace(0.1, 0.9, 20, dtype=torch.float64).unsqueeze(-1)
    y = x + 1e-3
    distance = (-2 * make(math.inf, 1e-4, 1.0, 1)(x, y, diag=True).log()).sqrt()
    angle = (torch.arcsin(y.sqrt()) - torch.arcsin(x.sqrt())).squeeze(-1)
    torch.testing.assert_close(distance, angle, rtol=5e-3, atol=0)


def test_infinite_nu_with_unit_weights_is_the_beta_kernel_in_correlation_form() -> None:
    beta = BetaKernel(ard_num_dims=2, boundary_weight=0.0).double()
    beta.bandwidth = 0.4
    kernel = make(math.inf, 0.4, beta.central_lengthscale[0].tolist(), 2)
    x = torch.rand(30, 2, dtype=torch.float64)
    torch.testing.assert_close(kernel(x).to_dense(), beta(x).to_dense(), rtol=1e-8, atol=1e-12)


@given(clouds(), bandwidths, lengthscales, st.sampled_from(NUS), weights)
def test_is_symmetric_positive_semidefinite_and_finite(x: Tensor, h: float, scale: float, nu: float, w: float) -> None:
    kernel = make(nu, h, scale, x.shape[-1], w=w)
    covariance = kernel(x, x.clone()).to_dense()
    assert covariance.isfinite().all()
    torch.testing.assert_close(covariance, covariance.mT, rtol=1e-8, atol=1e-12)
    eigenvalues = torch.linalg.eigvalsh((covariance + covariance.mT) / 2)
    assert eigenvalues[0] > -1e-9 * eigenvalues[-1]


@given(clouds(), bandwidths.filter(lambda h: h >= 0.02), lengthscales, st.sampled_from(NUS))
def test_matmul_form_is_positive_semidefinite_too(x: Tensor, h: float, scale: float, nu: float) -> None:
    kernel = make(nu, h, scale * math.sqrt(x.shape[-1]), x.shape[-1])
    kernel.tolerance = 1e-8
    kernel.method = "matmul"
    eigenvalues = torch.linalg.eigvalsh(kernel(x).to_dense())
    assert eigenvalues[0] > -1e-9 * max(eigenvalues[-1].item(), 1)


@given(clouds(), bandwidths, lengthscales, st.sampled_from(NUS))
def test_has_unit_diagonal_without_boundary_weight(x: Tensor, h: float, scale: float, nu: float) -> None:
    kernel = make(nu, h, scale, x.shape[-1])
    ones = torch.ones(len(x), dtype=torch.float64)
    assert torch.equal(kernel(x).to_dense().diagonal(), ones)
    assert torch.equal(kernel(x, diag=True), ones)


@given(clouds(), bandwidths, lengthscales, st.sampled_from(NUS), st.sampled_from(["auto", "lgamma"]))
def test_gradients_are_finite_everywhere(x: Tensor, h: float, scale: float, nu: float, method: str) -> None:
    kernel = BetaMaternKernel(nu=nu, ard_num_dims=x.shape[-1], boundary_weight="learned", method=method).double()
    kernel.bandwidth, kernel.lengthscale = h, scale
    x.requires_grad_()
    kernel(x, x.detach().flip(0)).to_dense().sum().backward()
    for tensor in (x, *kernel.parameters()):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()


@pytest.mark.parametrize("nu", NUS)
@pytest.mark.parametrize("method", METHODS)
def test_gradients_in_points_and_parameters(nu: float, method: str) -> None:
    kernel = BetaMaternKernel(nu=nu, ard_num_dims=2, boundary_weight="learned", method=method).double()
    names = [f"kernel.{name}" for name, _ in kernel.named_parameters()]
    assert names == ["kernel.raw_lengthscale", "kernel.raw_bandwidth", "kernel.raw_boundary_weight"]

    class Evaluated(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kernel = kernel

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return self.kernel.forward(x, y)

    def covariance(x: Tensor, y: Tensor, *raw: Tensor) -> Tensor:
        return torch.func.functional_call(Evaluated(), dict(zip(names, raw, strict=True)), (x, y))

    x = (0.1 + 0.8 * torch.rand(4, 2, dtype=torch.float64)).requires_grad_()
    y = (0.1 + 0.8 * torch.rand(3, 2, dtype=torch.float64)).requires_grad_()
    inputs = (x, y, *(p.detach().clone().requires_grad_() for p in kernel.parameters()))
    assert torch.autograd.gradcheck(covariance, inputs, check_undefined_grad=False)
    assert torch.autograd.gradgradcheck(covariance, inputs, check_undefined_grad=False)


def test_boundary_weight_raises_the_variance_at_the_boundary() -> None:
    kernel = make(2.5, 0.3, 1.0, 2, w=1.0)
    beta = BetaKernel(ard_num_dims=2, boundary_weight=1.0).double()
    beta.bandwidth = 0.3
    x = torch.tensor([[0.5, 0.5], [0.5, 0.0], [0.0, 1.0]], dtype=torch.float64)
    torch.testing.assert_close(kernel(x, diag=True), beta(x, diag=True))
    torch.testing.assert_close(kernel(x).to_dense().diagonal(), beta(x, diag=True))


class TestEcosystem(CubeKernelTestCase, TestCase):
    """GPyTorch's own tests of a kernel, with data in the unit cube."""

    def create_kernel_no_ard(self, **kwargs: object) -> BetaMaternKernel:
        return BetaMaternKernel(nu=2.5, **kwargs)

    def create_kernel_ard(self, num_dims: int, **kwargs: object) -> BetaMaternKernel:
        return BetaMaternKernel(nu=1.5, ard_num_dims=num_dims, boundary_weight="learned", **kwargs)


def test_is_not_stationary_although_it_has_a_lengthscale() -> None:
    assert BetaMaternKernel.has_lengthscale
    assert BetaMaternKernel().is_stationary is False
    assert ScaleKernel(BetaMaternKernel()).is_stationary is False


def test_unknown_roughness_is_refused() -> None:
    with pytest.raises(ValueError, match=r"nu is 2\.0, expected one of 0\.5, 1\.5, 2\.5, inf"):
        BetaMaternKernel(nu=2.0)


def test_one_bandwidth_is_shared() -> None:
    kernel = BetaMaternKernel(ard_num_dims=5)
    assert kernel.bandwidth.shape == (1, 1)
    assert kernel.lengthscale.shape == (1, 5)
    with pytest.raises(ValueError, match="bandwidth is 0, expected finite numbers > 0"):
        kernel.bandwidth = 0.0
