"""The cylindrical kernel against 50-digit arithmetic, GPyTorch's class where that works, and its stated properties."""

from __future__ import annotations

import itertools
import math
from unittest import TestCase

import mpmath as mp
import pytest
import torch
from gpytorch import kernels
from gpytorch.constraints import Interval
from gpytorch.priors import LogNormalPrior
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from betabo.kernels.baselines.cylindrical import CylindricalKernel
from cube_case import CubeKernelTestCase
from strategies import clouds, lengthscales


def make(alpha: float = 0.8, beta: float = 1.4, **kwargs: float) -> CylindricalKernel:
    kernel = CylindricalKernel(**kwargs).double()
    kernel.alpha, kernel.beta, kernel.lengthscale = alpha, beta, 0.4
    kernel.angular_weights = [0.7, 0.2, 0.4, 0.1]
    return kernel


def by_definition(kernel: CylindricalKernel, x: list[float], y: list[float]) -> float:
    """BOCK's formula, without the smoothed centre."""
    dims = len(x)
    balls = [[(2 * mp.mpf(c) - 1) / mp.sqrt(dims) * (1 - mp.mpf("1e-5")) for c in point] for point in (x, y)]
    radii = [mp.sqrt(sum(c**2 for c in ball)) for ball in balls]
    cosine = sum(a * b for a, b in zip(*balls, strict=True)) / (radii[0] * radii[1])
    alpha, beta, lengthscale = (mp.mpf(p.item()) for p in (kernel.alpha, kernel.beta, kernel.lengthscale))
    warped = [1 - (1 - radius**alpha) ** beta for radius in radii]
    s = mp.sqrt(5) * abs(warped[0] - warped[1]) / lengthscale
    angular = sum(mp.mpf(weight) * cosine**p for p, weight in enumerate(kernel.angular_weights.tolist()))
    return float((1 + s + s**2 / 3) * mp.exp(-s) * angular)


@pytest.mark.parametrize("dims", [1, 2, 7])
def test_agrees_with_the_formula(dims: int) -> None:
    kernel = make(centre_radius=1e-9)
    x = torch.rand(6, dims, dtype=torch.float64)
    x[0], x[1] = 0.0, 1.0
    found = kernel(x).to_dense()
    for i, j in itertools.product(range(6), repeat=2):
        assert found[i, j].item() == pytest.approx(by_definition(kernel, x[i].tolist(), x[j].tolist()), rel=1e-12)


@pytest.mark.parametrize("dims", [1, 3, 20])
def test_agrees_with_gpytorchs_kernel_of_the_ball(dims: int) -> None:
    kernel = make(centre_radius=1e-9)
    other = kernels.CylindricalKernel(4, kernels.MaternKernel(nu=2.5), eps=1e-13).double()
    other.alpha, other.beta, other.angular_weights = kernel.alpha.view(1), kernel.beta.view(1), kernel.angular_weights
    other.radial_base_kernel.lengthscale = kernel.lengthscale
    x, y = torch.rand(12, dims, dtype=torch.float64), torch.rand(9, dims, dtype=torch.float64)

    def ball(x: Tensor) -> Tensor:
        return (2 * x - 1) / math.sqrt(dims) * (1 - 1e-5)

    torch.testing.assert_close(kernel(x, y).to_dense(), other(ball(x), ball(y)).to_dense())
    torch.testing.assert_close(kernel(x, diag=True), other(ball(x), diag=True))


@pytest.mark.parametrize("dims", [1, 3, 20])
def test_smoothing_of_the_centre_is_invisible_elsewhere(dims: int) -> None:
    x = torch.rand(30, dims, dtype=torch.float64)
    x = x[((2 * x - 1).norm(dim=-1) / math.sqrt(dims)) > 0.1]
    smooth, sharp = make()(x).to_dense(), make(centre_radius=1e-9)(x).to_dense()
    assert (smooth - sharp).abs().max() < 2e-4


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 1.0), (0.5, 2.0), (1.0, 1.0), (1.0, 2.0)])
@pytest.mark.parametrize("dims", [1, 3, 6])
def test_faces_vertices_and_centre_are_finite_with_finite_gradients(
    dims: int, alpha: float, beta: float, dtype: torch.dtype
) -> None:
    points = list(itertools.product([0.0, 0.5, 1.0], repeat=dims))
    x = torch.tensor(points, dtype=dtype)
    near = torch.full((2, dims), 0.5, dtype=dtype)
    near[1] += 1e-6
    x = torch.cat([x, near]).requires_grad_()
    kernel = make(alpha, beta).to(dtype)
    covariance = kernel(x).to_dense()
    gradients = torch.autograd.grad(covariance.square().sum(), [x, *kernel.parameters()])
    assert all(tensor.isfinite().all() for tensor in (covariance, *gradients))
    largest = gradients[0].abs().max()
    assert largest < 1e4 * len(x)  # of the order of 1 / centre_radius for each pair


def test_only_the_constant_angular_term_remains_at_the_centre() -> None:
    kernel = make()
    centre = torch.full((1, 4), 0.5, dtype=torch.float64)
    assert kernel(centre, diag=True).item() == pytest.approx(kernel.angular_weights[0].item())
    vertices = torch.tensor([[0.0] * 4, [1.0] * 4, [0.0, 1.0, 0.0, 1.0]], dtype=torch.float64)
    covariance = kernel(centre, vertices).to_dense()
    torch.testing.assert_close(covariance, covariance[:, :1].expand(1, 3))  # no direction is preferred


def test_variance_is_the_diagonal_away_from_the_centre() -> None:
    kernel = make()
    x = torch.rand(20, 5, dtype=torch.float64)
    torch.testing.assert_close(kernel(x, diag=True), kernel.variance.expand(20), rtol=1e-4, atol=0)
    torch.testing.assert_close(kernel(x, diag=True), kernel(x).to_dense().diagonal())


def test_diagonal_of_two_different_sets() -> None:
    kernel = make()
    x, y = torch.rand(2, 6, 4, dtype=torch.float64)
    torch.testing.assert_close(kernel(x, y, diag=True), kernel(x, y).to_dense().diagonal())


@pytest.mark.parametrize("same", [False, True])
def test_gradients_in_points_and_parameters(same: bool) -> None:
    kernel = make()
    x, y = (torch.rand(n, 3, dtype=torch.float64, requires_grad=True) for n in (4, 3))
    names, values = zip(*kernel.named_parameters(), strict=True)

    class Evaluated(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kernel = kernel

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return self.kernel.forward(x, x if same else y)

    def covariance(x: Tensor, y: Tensor, *raw: Tensor) -> Tensor:
        parameters = {f"kernel.{name}": value for name, value in zip(names, raw, strict=True)}
        return torch.func.functional_call(Evaluated(), parameters, (x, y))

    inputs = (x, y, *(value.detach().clone().requires_grad_() for value in values))
    assert torch.autograd.gradcheck(covariance, inputs, check_undefined_grad=False)


@given(x=clouds(), alpha=st.floats(0.5, 1), beta=st.floats(1, 2), lengthscale=lengthscales)
def test_positive_semidefinite(x: Tensor, alpha: float, beta: float, lengthscale: float) -> None:
    kernel = make(alpha, beta)
    kernel.lengthscale = lengthscale
    covariance = kernel(x).to_dense()
    assert torch.linalg.eigvalsh(covariance).min() > -1e-12 * len(x) * kernel.variance


class TestEcosystem(CubeKernelTestCase, TestCase):
    """GPyTorch's own tests of a kernel, with data in the unit cube."""

    def create_kernel_no_ard(self, **kwargs: object) -> CylindricalKernel:
        return CylindricalKernel(**kwargs)


def test_state_dict_restores_everything() -> None:
    kernel, other = make(), CylindricalKernel().double()
    other.load_state_dict(kernel.state_dict())
    x = torch.rand(5, 3, dtype=torch.float64)
    assert torch.equal(other(x).to_dense(), kernel(x).to_dense())


def test_float32_is_kept() -> None:
    kernel, x = make().float(), torch.rand(6, 5, requires_grad=True)
    covariance = kernel(x).to_dense()
    assert covariance.dtype == torch.float32
    assert torch.autograd.grad(covariance.sum(), x)[0].dtype == torch.float32
    torch.testing.assert_close(covariance.double(), kernel.double()(x.double()).to_dense(), rtol=1e-5, atol=1e-6)


def test_starts_near_the_identity_with_unit_variance() -> None:
    kernel = CylindricalKernel()
    assert kernel.variance.item() == pytest.approx(1)
    assert kernel.alpha.item() == pytest.approx(0.95)
    assert kernel.beta.item() == pytest.approx(1.05)


def test_ends_of_the_intervals_can_be_set() -> None:
    kernel = make(1.0, 1.0)
    assert kernel.raw_alpha.isfinite().all()
    assert kernel.raw_beta.isfinite().all()
    assert kernel.alpha.item() == pytest.approx(1, abs=1e-5)
    free = CylindricalKernel(alpha_constraint=Interval(0.5, 1.0, transform=None, initial_value=1.0))
    assert free.alpha.item() == 1


def test_draw_of_the_variance_keeps_the_shares_of_the_weights() -> None:
    kernel = CylindricalKernel(variance_prior=LogNormalPrior(2.0, 0.1))
    kernel.angular_weights = [0.4, 0.3, 0.2, 0.1]
    kernel.sample_from_prior("variance_prior")
    assert 5 < kernel.variance.item() < 11
    assert (kernel.angular_weights / kernel.variance).tolist() == pytest.approx([0.4, 0.3, 0.2, 0.1], rel=1e-4)


def test_one_angular_weight_makes_a_function_of_the_radius() -> None:
    kernel = CylindricalKernel(num_angular_weights=1).double()
    vertices = torch.tensor(list(itertools.product([0.0, 1.0], repeat=3)), dtype=torch.float64)
    torch.testing.assert_close(kernel(vertices).to_dense(), torch.ones(8, 8, dtype=torch.float64))


def test_is_not_stationary() -> None:
    assert CylindricalKernel().is_stationary is False


def test_points_outside_the_cube_are_refused() -> None:
    with pytest.raises(ValueError, match=r"to 1\.2.*bounds of the search space"):
        CylindricalKernel()(torch.tensor([[0.5, 1.2]])).to_dense()


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="num_angular_weights is 0"):
        CylindricalKernel(num_angular_weights=0)
    with pytest.raises(ValueError, match="centre_radius is 0"):
        CylindricalKernel(centre_radius=0)
    with pytest.raises(ValueError, match="ard_num_dims is 3, but CylindricalKernel is isotropic"):
        CylindricalKernel(ard_num_dims=3)
    with pytest.raises(ValueError, match=r"alpha is 1\.5, outside the kernel's constraint"):
        CylindricalKernel().alpha = 1.5
    with pytest.raises(ValueError, match=r"angular_weights has shape \(3,\)"):
        CylindricalKernel().angular_weights = torch.ones(3)
    with pytest.raises(NotImplementedError, match="last_dim_is_batch"):
        CylindricalKernel().forward(torch.rand(2, 2), torch.rand(2, 2), last_dim_is_batch=True)
