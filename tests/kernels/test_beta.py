"""The Beta kernel against 50-digit arithmetic, quadrature, and its stated properties."""

from __future__ import annotations

import itertools
import math
from unittest import TestCase

import pytest
import torch
from gpytorch.kernels import RBFKernel
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from torch import Tensor

import oracles
from betabo import BetaKernel
from betabo.kernels.special import log_diagonal_supremum
from cube_case import CubeKernelTestCase
from strategies import bandwidths, clouds, weights

COORDINATES = [0.0, 1e-9, 0.2, 0.2 + 1e-7, 0.5, 0.85, 1 - 1e-6, 1.0]
WEIGHTS = [0.0, 0.3, 1.0]
METHODS = ["matmul", "lgamma"]


def log_covariance(kernel: BetaKernel, x: Tensor, y: Tensor) -> Tensor:
    return kernel(x, y).to_dense().log()


def points(*rows: list[float]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def make(h: float | list[float], w: float = 0.0, method: str = "auto", dims: int = 1) -> BetaKernel:
    kernel = BetaKernel(ard_num_dims=dims, boundary_weight=w, method=method).double()
    kernel.bandwidth = torch.tensor(h, dtype=torch.float64)
    return kernel


@pytest.mark.parametrize("w", WEIGHTS)
@pytest.mark.parametrize("h", [1.01e-4, 1e-3, 1e-2, 0.1, 0.5, 1.5, 30.0, 1e3])
def test_agrees_with_mpmath_in_one_dimension(h: float, w: float) -> None:
    x = points(*[[c] for c in COORDINATES])
    exact = [[float(oracles.log_beta_kernel([a], [b], [h], w)) for b in COORDINATES] for a in COORDINATES]
    for method in METHODS:
        # The logarithm of a covariance below the smallest number is infinite; those entries have no log to compare.
        found = log_covariance(make(h, w, method), x, x)
        comparable = torch.tensor(exact) > -700
        error = (found - torch.tensor(exact, dtype=torch.float64))[comparable].abs().max()
        assert error < 1e-10, method


@pytest.mark.parametrize("dims", [2, 20, 200])
@pytest.mark.parametrize("method", ["auto", "lgamma"])
def test_agrees_with_mpmath_in_many_dimensions(dims: int, method: str) -> None:
    generator = torch.Generator().manual_seed(dims)
    x = torch.rand(4, dims, generator=generator, dtype=torch.float64)
    x[0] = torch.randint(2, (dims,), generator=generator)  # a vertex
    x[1, ::2] = x[2, ::2]
    x[3] = (x[2] + 1e-8).clamp(0, 1)
    h = 10 ** (3 * torch.rand(dims, generator=generator, dtype=torch.float64) - 1)
    kernel = make(h.tolist(), 0.4, method, dims)
    found = log_covariance(kernel, x, x)
    for i, j in itertools.product(range(4), repeat=2):
        exact = oracles.log_beta_kernel(x[i].tolist(), x[j].tolist(), kernel.bandwidth[0].tolist(), 0.4)
        assert abs(found[i, j].item() - float(exact)) < 1e-9


def test_agrees_with_mpmath_in_200_dimensions_with_bandwidths_from_a_thousandth_to_a_thousand() -> None:
    dims = 200
    generator = torch.Generator().manual_seed(0)
    h = torch.logspace(-3, 3, dims, dtype=torch.float64)
    # Steps of a few percent of a length scale, so that the covariance does not underflow; some lead off a face.
    x = torch.rand(1, dims, generator=generator, dtype=torch.float64)
    x[0, ::5] = 0.0
    y = (x + 0.05 * h.sqrt().clamp_max(1) * torch.rand(1, dims, generator=generator, dtype=torch.float64)).clamp(0, 1)
    kernel = make(h.tolist(), 0.4, dims=dims)
    exact = oracles.log_beta_kernel(x[0].tolist(), y[0].tolist(), kernel.bandwidth[0].tolist(), 0.4)
    assert float(exact) > -600
    assert abs(log_covariance(kernel, x, y).item() - float(exact)) < 1e-9


@pytest.mark.parametrize("h", [0.1, 0.25, 0.75, 1.5])
def test_paper_form_is_the_inner_product_of_two_beta_densities(h: float) -> None:
    kernel = make(h, 1.0)

    def inner_product(x: float, y: float) -> float:
        densities = [stats.beta(1 + z / h, 1 + (1 - z) / h).pdf for z in (x, y)]
        value, _ = integrate.quad(lambda s: densities[0](s) * densities[1](s), 0, 1, epsabs=1e-13, epsrel=1e-12)
        return float(value)

    centre = inner_product(0.5, 0.5)
    for x, y in itertools.combinations_with_replacement([0.0, 0.1, 0.5, 0.8, 1.0], 2):
        found = kernel(points([x]), points([y])).to_dense().item()
        assert found == pytest.approx(inner_product(x, y) / centre, rel=1e-8)


@pytest.mark.parametrize("w", [0.0, 0.5])
@pytest.mark.parametrize("dims", [1, 5, 30])
@pytest.mark.parametrize("scale", [0.05, 0.3, 2.0, 50.0])
def test_both_methods_agree_wherever_matmul_is_allowed(scale: float, dims: int, w: float) -> None:
    x, y = torch.rand(30, dims, dtype=torch.float64), torch.rand(40, dims, dtype=torch.float64)
    x[:5] = x[:5].round()
    y[:3] = x[:3]
    h = (scale * (1 + torch.rand(dims, dtype=torch.float64))).tolist()
    exponents = []
    for method in METHODS:
        kernel = make(h, w, method, dims)
        exponents.append(log_covariance(kernel, x, y))
    both = (exponents[0] > -600) & (exponents[1] > -600)
    assert both.any()
    assert (exponents[0] - exponents[1])[both].abs().max() < 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("same", [False, True])
def test_gradients_in_points_bandwidths_and_weight(method: str, same: bool) -> None:
    kernel = BetaKernel(ard_num_dims=2, method=method).double()
    x = (0.1 + 0.8 * torch.rand(4, 2, dtype=torch.float64)).requires_grad_()
    y = (0.1 + 0.8 * torch.rand(3, 2, dtype=torch.float64)).requires_grad_()
    h = torch.tensor([[0.3, 1.7]], dtype=torch.float64)
    w = torch.tensor([[0.4]], dtype=torch.float64)
    raw = {
        "raw_bandwidth": kernel.raw_bandwidth_constraint.inverse_transform(h),
        "raw_boundary_weight": kernel.raw_boundary_weight_constraint.inverse_transform(w),
    }

    class Evaluated(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kernel = kernel

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return self.kernel.forward(x, x if same else y)

    def covariance(x: Tensor, y: Tensor, raw_bandwidth: Tensor, raw_weight: Tensor) -> Tensor:
        parameters = {"kernel.raw_bandwidth": raw_bandwidth, "kernel.raw_boundary_weight": raw_weight}
        return torch.func.functional_call(Evaluated(), parameters, (x, y))

    inputs = (x, y, *(value.clone().requires_grad_() for value in raw.values()))
    options = {"check_undefined_grad": False}
    assert torch.autograd.gradcheck(covariance, inputs, **options)
    assert torch.autograd.gradgradcheck(covariance, inputs, **options)


@pytest.mark.parametrize("method", METHODS)
def test_gradient_on_a_face_agrees_with_mpmath(method: str) -> None:
    kernel = make(0.3, 1.0, method)
    for corner in (0.0, 1.0):
        x = points([corner]).requires_grad_()
        kernel(x, points([0.3])).to_dense().log().sum().backward()
        slope = oracles.mp.diff(lambda z: oracles.log_beta_kernel([z], [0.3], [0.3], 1.0), corner)
        assert x.grad is not None
        assert x.grad.item() == pytest.approx(float(slope), rel=1e-8)


@given(clouds(), bandwidths, weights)
def test_is_symmetric_positive_semidefinite_and_finite(x: Tensor, h: float, w: float) -> None:
    kernel = make([h] * x.shape[-1], w, dims=x.shape[-1])
    covariance = kernel(x, x.clone()).to_dense()
    assert covariance.isfinite().all()
    torch.testing.assert_close(covariance, covariance.mT, rtol=1e-11, atol=0)
    eigenvalues = torch.linalg.eigvalsh(covariance)
    assert eigenvalues[0] > -1e-9 * eigenvalues[-1]


@given(clouds(), bandwidths)
def test_correlation_form_has_unit_diagonal(x: Tensor, h: float) -> None:
    kernel = make([h] * x.shape[-1], 0.0, dims=x.shape[-1])
    ones = torch.ones(len(x), dtype=torch.float64)
    assert torch.equal(kernel(x).to_dense().diagonal(), ones)
    assert torch.equal(kernel(x, diag=True), ones)
    assert kernel(x).to_dense().max() <= 1 + 1e-12


@given(clouds(), bandwidths)
def test_paper_form_attains_its_supremum_at_the_vertices_and_its_infimum_at_the_centre(x: Tensor, h: float) -> None:
    dims = x.shape[-1]
    kernel = make([h] * dims, 1.0, dims=dims)
    vertex, centre = torch.zeros(1, dims, dtype=torch.float64), torch.full((1, dims), 0.5, dtype=torch.float64)
    at_centre = dims * float(oracles.log_paper_kernel([0.5], [0.5], [h]))
    supremum = dims * log_diagonal_supremum(torch.tensor(h, dtype=torch.float64)).item() - at_centre
    assert kernel(vertex, diag=True).log().item() == pytest.approx(supremum, rel=1e-9, abs=1e-10)
    assert kernel(centre, diag=True).item() == pytest.approx(1, abs=1e-10)
    diagonal = kernel(x, diag=True).log()
    assert (diagonal <= supremum + 1e-10).all()
    assert (diagonal >= -1e-10).all()


@given(clouds(), bandwidths, weights, st.sampled_from(["auto", "lgamma"]))
def test_gradients_are_finite_everywhere(x: Tensor, h: float, w: float, method: str) -> None:
    dims = x.shape[-1]
    kernel = BetaKernel(ard_num_dims=dims, method=method).double()
    kernel.bandwidth, kernel.boundary_weight = h, w
    x.requires_grad_()
    kernel(x, x.detach().flip(0)).to_dense().sum().backward()
    for tensor in (x, *kernel.parameters()):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()


def test_large_bandwidth_is_an_rbf_with_the_stated_lengthscale() -> None:
    h = 200.0
    rbf = RBFKernel().double()
    rbf.lengthscale = math.sqrt(3) / math.pi * h
    x = torch.rand(20, 1, dtype=torch.float64)
    found, expected = make(h)(x).to_dense().log(), rbf(x).to_dense().log()
    off_diagonal = expected < 0
    assert ((found - expected) / expected)[off_diagonal].abs().max() < 0.02


def test_small_bandwidth_is_an_rbf_in_arcsin_of_the_root() -> None:
    h = 1e-3
    x = torch.linspace(0.2, 0.8, 30, dtype=torch.float64).unsqueeze(-1)
    y = x + 0.5 * math.sqrt(h)
    angle = torch.arcsin(x.sqrt()) - torch.arcsin(y.sqrt())
    expected = -angle.square() / h  # length scale sqrt(h / 2) in the angle, where x (1 - x) = sin^2 cos^2
    found = make(h)(x, y).to_dense().diagonal().log()
    assert ((found - expected.squeeze(-1)) / found).abs().max() < 0.02


def test_central_lengthscale_is_what_it_says() -> None:
    kernel = make([0.01, 1.0, 100.0], dims=3)
    assert kernel.central_lengthscale[0].tolist() == pytest.approx([0.0709, 0.88, 55.5], rel=1e-2)
    kernel.central_lengthscale = 0.3
    step = 1e-5
    for i in range(3):
        x = torch.full((1, 3), 0.5, dtype=torch.float64)
        y = x.clone()
        y[0, i] += step
        curvature = -2 * kernel(x, y).to_dense().log().item() / step**2
        assert curvature**-0.5 == pytest.approx(0.3, rel=1e-4)


class TestEcosystem(CubeKernelTestCase, TestCase):
    """GPyTorch's own tests of a kernel, with data in the unit cube."""

    def create_kernel_no_ard(self, **kwargs: object) -> BetaKernel:
        return BetaKernel(**kwargs)

    def create_kernel_ard(self, num_dims: int, **kwargs: object) -> BetaKernel:
        return BetaKernel(ard_num_dims=num_dims, **kwargs)


@pytest.mark.parametrize("weight", ["learned", 0.7])
def test_state_dict_restores_everything(weight: float | str) -> None:
    kernel = BetaKernel(ard_num_dims=2, boundary_weight=weight)
    kernel.bandwidth, kernel.boundary_weight = torch.tensor([0.3, 0.9]), 0.6
    other = BetaKernel(ard_num_dims=2, boundary_weight="learned" if weight == "learned" else 0.0)
    other.load_state_dict(kernel.state_dict())
    x = torch.rand(5, 2)
    assert torch.equal(other(x).to_dense(), kernel(x).to_dense())


def test_float32_is_accurate_for_its_type_and_keeps_it() -> None:
    x = torch.rand(60, 10)
    for h in (0.02, 0.5, 5.0):
        single, double = make(h, 0.2, dims=10), make(h, 0.2, dims=10)
        found = single.float()(x).to_dense()
        assert found.dtype == torch.float32
        expected = double(x.double()).to_dense()
        assert (found - expected).abs().max() < 2e-5 * expected.max()


@pytest.mark.parametrize("method", METHODS)
def test_float32_gradients(method: str) -> None:
    x = torch.rand(60, 3)
    gradients = []
    for dtype in (torch.float32, torch.float64):
        kernel = BetaKernel(ard_num_dims=3, method=method).to(dtype)  # type: ignore[arg-type]
        points = x.to(dtype).requires_grad_()
        found = torch.autograd.grad(kernel(points).to_dense().sum(), [points, *kernel.parameters()])
        assert all(g.dtype == dtype for g in found)
        gradients.append(found)
    for single, double in zip(*gradients, strict=True):
        assert (single - double).abs().max() < 1e-4 * double.abs().max()


def test_diagonal_of_two_different_sets() -> None:
    kernel = make([0.3, 0.8], 0.5, dims=2)
    x, y = torch.rand(2, 6, 2, dtype=torch.float64)
    torch.testing.assert_close(kernel(x, y, diag=True), kernel(x, y).to_dense().diagonal())
