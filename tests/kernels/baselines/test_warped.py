"""The warped kernel against SciPy, 50-digit arithmetic, BoTorch's transform, and its stated properties."""

from __future__ import annotations

import itertools
import math
from unittest import TestCase

import mpmath as mp
import pytest
import torch
from botorch.models.transforms.input import Warp
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import Kernel, LinearKernel, MaternKernel, RBFKernel, ScaleKernel
from gpytorch.priors import LogNormalPrior, UniformPrior
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from betabo import BetaKernel
from betabo.kernels.baselines.warped import WarpedKernel
from cube_case import CubeKernelTestCase
from strategies import clouds, lengthscales

concentrations = st.floats(-1, 1).map(lambda exponent: 10.0**exponent)


def make(a: float | list[float], b: float | list[float], base: Kernel | None = None, dims: int = 1) -> WarpedKernel:
    kernel = WarpedKernel(RBFKernel() if base is None else base, ard_num_dims=dims).double()
    kernel.concentration1, kernel.concentration0 = a, b
    return kernel


@pytest.mark.parametrize("b", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("a", [0.1, 1.0, 5.0])
def test_warp_is_the_kumaraswamy_distribution_function(a: float, b: float) -> None:
    coordinates = [1e-5, 0.01, 0.3, 0.5, 0.9, 1 - 1e-5]
    kernel = make(a, b)
    found = kernel.warp(torch.tensor(coordinates, dtype=torch.float64).unsqueeze(-1)).squeeze(-1).tolist()
    a, b = kernel.concentration1.item(), kernel.concentration0.item()
    exact = [float(1 - (1 - mp.mpf(x) ** mp.mpf(a)) ** mp.mpf(b)) for x in coordinates]
    assert found == pytest.approx(exact, rel=1e-12, abs=1e-15)


def test_agrees_with_botorchs_transform() -> None:
    a, b = torch.tensor([0.5, 1.5, 2.5]), torch.tensor([2.0, 0.7, 0.9])
    warp = Warp(d=3, indices=[0, 1, 2], eps=1e-9, bounds=torch.tensor([[0.0] * 3, [1.0] * 3]).double()).double()
    warp._set_concentration(1, a)
    warp._set_concentration(0, b)
    x = torch.rand(20, 3, dtype=torch.float64)
    base = MaternKernel(ard_num_dims=3).double()
    expected = base(warp(x)).to_dense()
    found = make(a.tolist(), b.tolist(), base, dims=3)(x).to_dense()
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)


def test_is_the_identity_at_the_start() -> None:
    kernel = WarpedKernel(RBFKernel(), ard_num_dims=3).double()
    constraint = GreaterThan(1e-4, transform=None, initial_value=1.0)
    exact = WarpedKernel(RBFKernel(), ard_num_dims=3, concentration_constraint=constraint).double()
    x = torch.rand(20, 3, dtype=torch.float64)
    x[:5] = x[:5].round()
    x[5] = torch.tensor([1e-8, 1 - 1e-8, 0.5])
    assert (exact.warp(x) - x).abs().max() < 1e-15
    assert (kernel.warp(x) - x).abs().max() < 1e-6  # through the softplus in float32


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(("a", "b"), list(itertools.product([0.05, 1.0, 20.0], repeat=2)))
def test_faces_stay_exactly_where_they_are(a: float, b: float, dtype: torch.dtype) -> None:
    faces = torch.tensor([[0.0], [1.0]], dtype=dtype)
    assert torch.equal(make(a, b).to(dtype).warp(faces), faces)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(("a", "b"), list(itertools.product([0.1, 1.0, 10.0], repeat=2)))
def test_warp_increases_without_jumps(a: float, b: float, dtype: torch.dtype) -> None:
    near = torch.logspace(-9, -1, 200, dtype=torch.float64)
    x = torch.cat([near, torch.linspace(0.1, 0.9, 50, dtype=torch.float64), 1 - near.flip(0)]).unsqueeze(-1).to(dtype)
    x = torch.cat([torch.zeros(1, 1, dtype=dtype), x, torch.ones(1, 1, dtype=dtype)])
    warped = make(a, b).to(dtype).warp(x)
    steps = warped.diff(dim=0)
    assert steps.min() >= -4 * torch.finfo(dtype).eps
    assert steps.max() < 0.1


@pytest.mark.parametrize(("a", "b"), list(itertools.product([0.1, 0.5, 1.0, 7.0], repeat=2)))
def test_faces_vertices_and_centre_have_finite_gradients(a: float, b: float) -> None:
    for dtype in (torch.float64, torch.float32):
        x = torch.tensor(list(itertools.product([0.0, 0.5, 1.0], repeat=2)), dtype=dtype, requires_grad=True)
        kernel = make(a, b, dims=2).to(dtype)
        covariance = kernel(x).to_dense()
        gradients = torch.autograd.grad(covariance.square().sum(), [x, *kernel.parameters()])
        assert all(tensor.isfinite().all() for tensor in (covariance, *gradients))


def test_gradient_points_into_the_cube_from_a_face() -> None:
    kernel = make(0.5, 0.5)
    x = torch.tensor([[0.0], [1.0]], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(kernel.warp(x).sum(), x)
    secant = 1e-6**0.5 * 0.5 / 1e-6  # 1 - (1 - sqrt x)^(1/2) is about sqrt(x)/2
    assert slope[0].item() == pytest.approx(secant, rel=1e-2)
    assert slope[1].item() > 100


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.4, 2.5), (3.0, 0.6)])
def test_gradients_in_points_and_parameters(a: float, b: float) -> None:
    kernel = make([a, 1.3], [b, 0.8], MaternKernel(ard_num_dims=2), dims=2)
    x, y = ((0.05 + 0.9 * torch.rand(n, 2, dtype=torch.float64)).requires_grad_() for n in (4, 3))
    names, values = zip(*kernel.named_parameters(), strict=True)

    class Evaluated(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kernel = kernel

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return self.kernel(x, y).to_dense()

    def covariance(x: Tensor, y: Tensor, *raw: Tensor) -> Tensor:
        parameters = {f"kernel.{name}": value for name, value in zip(names, raw, strict=True)}
        return torch.func.functional_call(Evaluated(), parameters, (x, y))

    inputs = (x, y, *(value.detach().clone().requires_grad_() for value in values))
    assert torch.autograd.gradcheck(covariance, inputs, check_undefined_grad=False)


@given(x=clouds(), a=concentrations, b=concentrations, lengthscale=lengthscales)
def test_positive_semidefinite(x: Tensor, a: float, b: float, lengthscale: float) -> None:
    kernel = make(a, b, dims=x.shape[-1])
    kernel.base_kernel.lengthscale = lengthscale
    covariance = kernel(x).to_dense()
    assert torch.linalg.eigvalsh(covariance).min() > -1e-12 * len(x)


@pytest.mark.parametrize(
    "base",
    [
        LinearKernel(),
        ScaleKernel(MaternKernel(ard_num_dims=3)),
        BetaKernel(ard_num_dims=3),
        RBFKernel(active_dims=(0,)) * RBFKernel(active_dims=(1, 2)) + RBFKernel(active_dims=(2,)),
    ],
    ids=["linear", "scale", "beta", "sum of products"],
)
def test_any_kernel_can_be_the_base(base: Kernel) -> None:
    kernel = make([0.5, 1.0, 2.0], [2.0, 1.5, 0.3], base.double(), dims=3)
    x, y = torch.rand(6, 3, dtype=torch.float64), torch.rand(4, 3, dtype=torch.float64)
    expected = base(kernel.warp(x), kernel.warp(y)).to_dense()
    torch.testing.assert_close(kernel(x, y).to_dense(), expected)
    torch.testing.assert_close(kernel(x, diag=True), kernel(x).to_dense().diagonal())
    torch.testing.assert_close(ScaleKernel(kernel).double()(x, y).to_dense(), math.log(2) * expected)
    assert kernel(x).to_dense().requires_grad


class TestEcosystem(CubeKernelTestCase, TestCase):
    """GPyTorch's own tests of a kernel, with data in the unit cube."""

    def create_kernel_no_ard(self, **kwargs: object) -> WarpedKernel:
        return WarpedKernel(RBFKernel(batch_shape=kwargs.get("batch_shape")), **kwargs)

    def create_kernel_ard(self, num_dims: int, **kwargs: object) -> WarpedKernel:
        return WarpedKernel(RBFKernel(num_dims, batch_shape=kwargs.get("batch_shape")), ard_num_dims=num_dims, **kwargs)


def test_batched_warps_act_member_by_member() -> None:
    kernel = WarpedKernel(RBFKernel(ard_num_dims=3, batch_shape=torch.Size([2])), ard_num_dims=3).double()
    assert kernel.concentration1.shape == (2, 1, 3)
    kernel.concentration1 = torch.rand(2, 1, 3) + 0.3
    kernel.concentration0 = torch.rand(2, 1, 3) + 0.3
    x, y = torch.rand(8, 3, dtype=torch.float64), torch.rand(5, 2, 6, 3, dtype=torch.float64)
    whole = kernel(x, y).to_dense()
    assert whole.shape == (5, 2, 8, 6)
    for member in range(2):
        torch.testing.assert_close(whole[:, member], kernel[member](x, y[:, member]).to_dense())


def test_state_dict_restores_everything() -> None:
    kernel, other = make([0.5, 2.0], [1.5, 0.7], dims=2), make(1.0, 1.0, dims=2)
    kernel.base_kernel.lengthscale = 0.2
    other.load_state_dict(kernel.state_dict())
    x = torch.rand(5, 2, dtype=torch.float64)
    assert torch.equal(other(x).to_dense(), kernel(x).to_dense())


def test_float32_is_kept() -> None:
    kernel, x = make(0.5, 2.0).float(), torch.rand(6, 1, requires_grad=True)
    covariance = kernel(x).to_dense()
    assert covariance.dtype == torch.float32
    assert torch.autograd.grad(covariance.sum(), x)[0].dtype == torch.float32
    torch.testing.assert_close(covariance.double(), kernel.double()(x.double()).to_dense(), rtol=1e-5, atol=1e-6)


def test_priors_are_botorchs_and_can_be_replaced() -> None:
    kernel = WarpedKernel(RBFKernel(), ard_num_dims=2, concentration0_prior=UniformPrior(0.5, 0.6))
    values = torch.tensor([0.1, 1.0, 4.0])
    expected = torch.distributions.LogNormal(0.0, 0.75**0.5).log_prob(values)
    torch.testing.assert_close(kernel.concentration1_prior.log_prob(values), expected)
    for name in ("concentration1", "concentration0"):
        kernel.sample_from_prior(f"{name}_prior")
        assert not torch.equal(getattr(kernel, name), torch.ones(1, 2))
    assert ((kernel.concentration0 >= 0.5) & (kernel.concentration0 <= 0.6)).all()


def test_is_not_stationary() -> None:
    assert WarpedKernel(RBFKernel()).is_stationary is False


def test_points_outside_the_cube_are_refused_and_rounding_is_not() -> None:
    kernel = WarpedKernel(RBFKernel(), ard_num_dims=2)
    with pytest.raises(ValueError, match=r"to 1\.2.*bounds of the search space"):
        kernel(torch.tensor([[0.5, 1.2]])).to_dense()
    assert kernel(torch.tensor([[1 + 1e-6, -1e-6]])).to_dense().isfinite().all()


def test_bad_arguments_are_refused() -> None:
    kernel = WarpedKernel(RBFKernel(), ard_num_dims=2, concentration_constraint=GreaterThan(0.1))
    with pytest.raises(ValueError, match=r"concentration1 is 0\.01, outside the kernel's constraint"):
        kernel.concentration1 = 0.01
    with pytest.raises(ValueError, match=r"concentration0 has shape \(3,\)"):
        kernel.concentration0 = torch.ones(3)
    with pytest.raises(TypeError, match=r"base_kernel is a str, expected a gpytorch\.kernels\.Kernel"):
        WarpedKernel("rbf")
    with pytest.raises(TypeError, match="concentration1_prior is a float"):
        WarpedKernel(RBFKernel(), concentration1_prior=1.0)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="last_dim_is_batch"):
        kernel.forward(torch.rand(2, 2), torch.rand(2, 2), last_dim_is_batch=True)


def test_constraints_of_the_two_concentrations_are_separate() -> None:
    kernel = WarpedKernel(RBFKernel(), concentration_constraint=GreaterThan(0.1))
    assert kernel.raw_concentration1_constraint is not kernel.raw_concentration0_constraint
    assert isinstance(kernel.concentration1_prior, LogNormalPrior)
