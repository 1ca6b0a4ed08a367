"""The kernel of main effects against GPyTorch's Matern kernel of arc lengths, and arc lengths against quadrature."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from unittest import TestCase

import numpy as np
import pytest
import torch
from gpytorch.kernels import Kernel, MaternKernel, ScaleKernel
from gpytorch.priors import LogNormalPrior
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from torch import Tensor

from betabo import MainEffectsKernel
from betabo.kernels import effects
from betabo.kernels.closed_form import Array, closed_form
from betabo.kernels.effects import arc_length, arc_length_slope
from betabo.testing import KernelTests
from cube_case import CubeKernelTestCase
from strategies import clouds, lengthscales

BENDS = [0.0, 0.5, 0.9, 0.999]


def make(dims: int, bend: float = 0.9) -> MainEffectsKernel:
    """Different length scales."""
    kernel = MainEffectsKernel(dims, bend=bend).double()
    kernel.lengthscale = torch.linspace(0.2, 1.5, dims, dtype=torch.float64)
    return kernel


def rows(*shape: int) -> Tensor:
    """Points all over, with a vertex, a point on a face and two equal points."""
    x = torch.rand(*shape, dtype=torch.float64)
    x[..., 0, :], x[..., 1, 0] = 0.0, 1.0
    x[..., -1, :] = x[..., -2, :]
    return x


def by_gpytorch(kernel: MainEffectsKernel, x: Tensor, y: Tensor) -> Tensor:
    """The average of Matern kernels of one coordinate each."""
    matern = MaternKernel(nu=2.5).double()
    total = torch.zeros(len(x), len(y), dtype=torch.float64)
    for i in range(x.shape[-1]):
        matern.lengthscale = kernel.lengthscale.detach().expand(1, x.shape[-1])[0, i]
        a, b = (angles(points[:, i], kernel.bend) for points in (x, y))
        total += matern(a.unsqueeze(-1), b.unsqueeze(-1)).to_dense().detach()
    return total / x.shape[-1]


def angles(x: Tensor, bend: float) -> Tensor:
    """Arc lengths from the formula in the docstring, number by number."""
    values = [math.asin(bend * (2 * v - 1)) / (2 * bend) if bend else v for v in x.tolist()]
    return torch.tensor(values, dtype=torch.float64)


def density(x: float, bend: float) -> float:
    """The local length (x (1 - x) + c)^(-1/2), relative to the centre's."""
    c = (bend**-2 - 1) / 4
    return math.sqrt((0.25 + c) / (x * (1 - x) + c))


def generic(kernel: MainEffectsKernel, x: Tensor) -> Tensor:
    """The covariance by way of two different sets of points."""
    return kernel.forward(x, x.clone())


def with_lengthscale(kernel: MainEffectsKernel, raw: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The covariance as a function of the raw length scales."""

    class Evaluated(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kernel = kernel

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return self.kernel.forward(x, y)

    covariance: Tensor = torch.func.functional_call(Evaluated(), {"kernel.raw_lengthscale": raw}, (x, y))
    return covariance


@pytest.mark.parametrize("bend", BENDS)
@pytest.mark.parametrize("dims", [1, 2, 7, 40])
def test_is_the_average_of_matern_kernels_of_arc_lengths(dims: int, bend: float) -> None:
    kernel = make(dims, bend)
    x, y = rows(9, dims), rows(6, dims)
    torch.testing.assert_close(kernel(x, y).to_dense().detach(), by_gpytorch(kernel, x, y), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(kernel(x).to_dense().detach(), by_gpytorch(kernel, x, x), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("bend", BENDS[1:])
@pytest.mark.parametrize("x", [0.0, 0.01, 0.3, 0.5, 0.8, 1.0])
def test_arc_length_is_the_integral_of_the_local_length(x: float, bend: float) -> None:
    expected, _ = quad(density, 0.5, x, args=(bend,), epsabs=1e-13, epsrel=1e-13)
    point = torch.tensor(x, dtype=torch.float64)
    assert arc_length(point, bend).item() == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert arc_length_slope(point, bend).item() == pytest.approx(density(x, bend), rel=1e-12)


@pytest.mark.parametrize("bend", BENDS)
def test_arc_length_slope_is_the_derivative(bend: float) -> None:
    x = torch.linspace(0, 1, 11, dtype=torch.float64, requires_grad=True)
    (derivative,) = torch.autograd.grad(arc_length(x, bend).sum(), x)
    torch.testing.assert_close(arc_length_slope(x.detach(), bend), derivative, rtol=1e-13, atol=0)


@pytest.mark.parametrize("bend", BENDS)
def test_lengths_count_as_they_are_at_the_centre_and_more_at_a_face(bend: float) -> None:
    slopes = arc_length_slope(torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64), bend)
    face = (1 - bend**2) ** -0.5
    assert slopes.tolist() == pytest.approx([face, 1.0, face], rel=1e-12)


def test_the_strongest_bend_is_arcsin_of_the_root() -> None:
    x = torch.linspace(0, 1, 101, dtype=torch.float64)
    expected = torch.arcsin(x.sqrt()) - math.pi / 4
    errors = [(arc_length(x, 1 - gap) - expected).abs().max().item() for gap in (1e-2, 1e-4, 1e-6, 1e-8)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-4


def test_no_bend_is_the_limit_of_little_bend() -> None:
    x = torch.linspace(0, 1, 11, dtype=torch.float64)
    torch.testing.assert_close(arc_length(x, 1e-5), arc_length(x, 0.0), rtol=0, atol=1e-10)


def test_functions_are_sums_over_the_coordinates() -> None:
    """Mixed second differences of the covariance vanish, so there are no interactions."""
    kernel = make(2)
    a, b, c, d = 0.1, 0.6, 0.3, 0.9
    corners = torch.tensor([[a, c], [b, d], [a, d], [b, c]], dtype=torch.float64)
    signs = torch.tensor([1, 1, -1, -1], dtype=torch.float64)
    assert abs((signs @ kernel(corners).to_dense() @ signs).item()) < 1e-14


@pytest.mark.parametrize("bend", BENDS)
@pytest.mark.parametrize("dims", [1, 3, 12])
@pytest.mark.parametrize("count", [0, 1, 2, 30])
def test_pairs_give_the_values_and_gradients_of_the_generic_path(count: int, dims: int, bend: float) -> None:
    kernel = make(dims, bend)
    x = rows(count, dims) if count > 1 else torch.rand(count, dims, dtype=torch.float64)
    found, expected = kernel.forward(x, x), generic(kernel, x)
    assert kernel._pairs is not None
    torch.testing.assert_close(found, expected, rtol=1e-14, atol=1e-15)
    weights = torch.randn(count, count, dtype=torch.float64)  # not symmetric
    gradients = [torch.autograd.grad((weights * k).sum(), kernel.raw_lengthscale) for k in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-11, atol=1e-13)


def test_one_length_scale_for_all_has_the_gradient_of_the_generic_path() -> None:
    kernel = MainEffectsKernel().double()
    x = rows(10, 4)
    gradients = [
        torch.autograd.grad(k.square().sum(), kernel.raw_lengthscale)
        for k in (kernel.forward(x, x), generic(kernel, x))
    ]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("same", [False, True])
def test_gradients_in_the_length_scales(same: bool) -> None:
    kernel, x = make(3), rows(5, 3)
    y = x if same else rows(4, 3)
    raw = kernel.raw_lengthscale.detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda raw: with_lengthscale(kernel, raw, x, y), raw)
    assert torch.autograd.gradgradcheck(lambda raw: with_lengthscale(kernel, raw, x, y), raw)


@pytest.mark.parametrize("bend", [0.0, 0.9])
@pytest.mark.parametrize("same", [False, True])
def test_gradients_in_the_points(same: bool, bend: float) -> None:
    kernel = make(2, bend)
    x, y = (0.1 + 0.8 * torch.rand(n, 2, dtype=torch.float64) for n in (4, 3))
    x[3] = x[2]
    inputs = [x.requires_grad_()] if same else [x.requires_grad_(), y.requires_grad_()]
    assert torch.autograd.gradcheck(lambda x, y=None: kernel.forward(x, x if y is None else y), inputs)


@pytest.mark.parametrize("face", [0.0, 1.0])
def test_gradients_on_faces_are_those_from_inside(face: float) -> None:
    kernel, step = make(2), 1e-6
    y = rows(5, 2)
    x = torch.tensor([[face, 0.4]], dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(kernel(x, y).to_dense().sum(), x)
    inward = torch.tensor([[(1 - 2 * face) * step, 0.0]], dtype=torch.float64)
    at, near, far = (kernel(x.detach() + i * inward, y).to_dense().sum().item() for i in range(3))
    one_sided = (-3 * at + 4 * near - far) / (2 * step) * (1 - 2 * face)
    assert gradient[0, 0].item() == pytest.approx(one_sided, rel=1e-5, abs=1e-7)


def test_faces_vertices_and_centre_are_finite_with_finite_gradients() -> None:
    x = torch.tensor(list(itertools.product([0.0, 0.5, 1.0], repeat=3)), dtype=torch.float64, requires_grad=True)
    kernel = make(3)
    covariance = kernel(x).to_dense()
    gradients = torch.autograd.grad(covariance.square().sum(), [x, *kernel.parameters()])
    assert all(tensor.isfinite().all() for tensor in (covariance, *gradients))


def test_pairs_are_kept_while_only_the_length_scales_change() -> None:
    kernel, x = make(3), rows(8, 3)
    kernel(x).to_dense()
    pairs = kernel._pairs
    kernel.lengthscale = 0.7
    found = kernel(x.clone()).to_dense()  # found by content
    assert kernel._pairs is pairs
    torch.testing.assert_close(found, generic(kernel, x))


@pytest.mark.parametrize("change", ["other", "in place", "one more", "float32", "bend"])
def test_pairs_are_renewed(change: str) -> None:
    kernel, x = make(3), rows(8, 3)
    kernel(x).to_dense()
    if change == "other":
        x = rows(8, 3)
    elif change == "in place":
        x[4, 1] = 0.123
    elif change == "one more":
        x = torch.cat([x, torch.rand(1, 3, dtype=torch.float64)])
    elif change == "float32":
        kernel, x = kernel.float(), x.float()
    else:
        kernel.bend = 0.5
    found = kernel(x).to_dense()
    assert found.dtype == x.dtype
    torch.testing.assert_close(found, generic(kernel, x))


def test_a_gradient_is_that_of_the_points_it_was_asked_for() -> None:
    kernel, x, y = make(3), rows(8, 3), rows(7, 3)
    first = kernel.forward(x, x)
    kernel.forward(y, y)
    found = torch.autograd.grad(first.sum(), kernel.raw_lengthscale)
    torch.testing.assert_close(found, torch.autograd.grad(generic(kernel, x).sum(), kernel.raw_lengthscale))


def test_of_many_points_no_pairs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effects, "_MOST_PAIRS", 28)  # of eight points
    kernel = make(3)
    for count, few in ((9, False), (8, True)):
        x = rows(count, 3)
        found = kernel(x).to_dense()
        assert (kernel._pairs is not None) is few
        torch.testing.assert_close(found.detach(), by_gpytorch(kernel, x, x), rtol=1e-12, atol=1e-14)


def test_more_points_than_there_are_pairs_for() -> None:
    kernel, x = make(2), rows(330, 2)
    found = kernel(x).to_dense()
    assert kernel._pairs is None
    torch.testing.assert_close(found.detach(), by_gpytorch(kernel, x, x), rtol=1e-12, atol=1e-14)
    (gradient,) = torch.autograd.grad(found.sum(), kernel.raw_lengthscale)
    assert gradient.isfinite().all()


@given(clouds(), lengthscales, st.floats(0, 0.999))
def test_is_symmetric_positive_semidefinite_with_unit_diagonal(x: Tensor, lengthscale: float, bend: float) -> None:
    kernel = MainEffectsKernel(x.shape[-1], bend=bend).double()
    kernel.lengthscale = lengthscale
    for covariance in (kernel.forward(x, x), generic(kernel, x)):
        torch.testing.assert_close(covariance, covariance.mT, rtol=1e-14, atol=0)
        assert torch.equal(covariance.diagonal(), torch.ones(len(x), dtype=torch.float64))
        assert torch.linalg.eigvalsh(covariance).min() > -1e-13 * len(x)


@given(clouds(), lengthscales, st.floats(0, 0.999))
def test_gradients_are_finite_everywhere(x: Tensor, lengthscale: float, bend: float) -> None:
    kernel = MainEffectsKernel(x.shape[-1], bend=bend).double()
    kernel.lengthscale = lengthscale
    kernel(x).to_dense().sum().backward()
    x.requires_grad_()
    kernel(x, x.detach().flip(0)).to_dense().sum().backward()
    for tensor in (x, kernel.raw_lengthscale):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()


class TestEcosystem(CubeKernelTestCase, TestCase):
    """GPyTorch's own tests of a kernel, with data in the unit cube."""

    def create_kernel_no_ard(self, **kwargs: object) -> MainEffectsKernel:
        return MainEffectsKernel(**kwargs)

    def create_kernel_ard(self, num_dims: int, **kwargs: object) -> MainEffectsKernel:
        return MainEffectsKernel(ard_num_dims=num_dims, bend=0.5, **kwargs)


class TestConformance(KernelTests):
    def make_kernel(self, dims: int) -> Kernel:
        return make(dims)


class TestConformanceWithoutBend(KernelTests):
    def make_kernel(self, dims: int) -> Kernel:
        return ScaleKernel(MainEffectsKernel(bend=0.0))


def test_diagonals() -> None:
    kernel = make(4)
    x, y = rows(2, 6, 4)
    torch.testing.assert_close(kernel(x, y, diag=True), kernel(x, y).to_dense().diagonal())
    assert torch.equal(kernel(x, diag=True), torch.ones(6, dtype=torch.float64))


def test_batches_of_points_share_the_parameters() -> None:
    kernel, x = make(3), rows(4, 2, 7, 3)
    whole = kernel(x).to_dense()
    assert whole.shape == (4, 2, 7, 7)
    for i, j in itertools.product(range(4), range(2)):
        torch.testing.assert_close(whole[i, j], kernel(x[i, j]).to_dense())


def test_active_dims_select_coordinates() -> None:
    kernel = MainEffectsKernel(2, active_dims=(0, 3)).double()
    kernel.lengthscale = torch.tensor([0.3, 0.8], dtype=torch.float64)
    x, y = rows(6, 5), rows(4, 5)
    chosen = make(2)
    chosen.lengthscale = kernel.lengthscale
    torch.testing.assert_close(kernel(x).to_dense(), chosen(x[:, [0, 3]]).to_dense())
    torch.testing.assert_close(kernel(x, y).to_dense(), chosen(x[:, [0, 3]], y[:, [0, 3]]).to_dense())


def test_float32_is_kept() -> None:
    kernel, x = make(5).float(), torch.rand(6, 5)
    exact = by_gpytorch(copy.deepcopy(kernel).double(), x.double(), x.double())
    for points in (x, x.clone().requires_grad_()):
        covariance = kernel(points).to_dense()
        assert covariance.dtype == torch.float32
        torch.testing.assert_close(covariance.detach().double(), exact, rtol=1e-5, atol=1e-6)
        gradients = torch.autograd.grad(
            covariance.sum(), [t for t in (points, kernel.raw_lengthscale) if t.requires_grad]
        )
        assert {gradient.dtype for gradient in gradients} == {torch.float32}
    assert kernel(x, diag=True).dtype == torch.float32


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda kernel: pickle.loads(pickle.dumps(kernel))])
def test_copies_are_equal_independent_and_without_the_pairs(duplicate: object) -> None:
    kernel = MainEffectsKernel(3, bend=0.7, lengthscale_prior=LogNormalPrior(0.0, 1.0)).double()
    x = rows(5, 3)
    before = kernel(x).to_dense()
    other = duplicate(kernel)  # type: ignore[operator]
    assert kernel._pairs is not None
    assert other._pairs is None
    assert other.bend == 0.7
    assert torch.equal(other(x).to_dense(), before)
    other.lengthscale = 5.0
    assert torch.equal(kernel(x).to_dense(), before)


def test_state_dict_restores_the_parameters_and_holds_nothing_else() -> None:
    kernel, other = make(3), MainEffectsKernel(3).double()
    x = rows(5, 3)
    expected = kernel(x).to_dense()
    tensors = {name for name in kernel.state_dict() if "constraint" not in name}
    assert tensors == {"raw_lengthscale"}
    other.load_state_dict(kernel.state_dict())
    assert torch.equal(other(x).to_dense(), expected)


def test_is_stationary_only_without_bend() -> None:
    assert MainEffectsKernel(bend=0.0).is_stationary is True
    assert MainEffectsKernel().is_stationary is False
    assert ScaleKernel(MainEffectsKernel()).is_stationary is False


def test_rounding_errors_count_as_on_the_bound() -> None:
    kernel = make(2, bend=0.999)
    outside = torch.tensor([[-1e-12, 1 + 1e-12], [0.3, 0.4]], dtype=torch.float64)
    assert torch.equal(kernel(outside).to_dense(), kernel(outside.clamp(0, 1)).to_dense())


@pytest.mark.parametrize("bend", [-0.1, 1.0, 2.0, math.nan])
def test_impossible_bends_are_refused(bend: float) -> None:
    with pytest.raises(ValueError, match=rf"bend is {bend}, expected a number of at least 0 and less than 1"):
        MainEffectsKernel(3, bend=bend)


def test_points_outside_or_of_other_kinds_are_refused() -> None:
    kernel = make(2)
    inside = torch.rand(3, 2, dtype=torch.float64)
    for points in (inside + 1, inside - 1):
        with pytest.raises(ValueError, match=r"points contain values from .* expected coordinates in \[0, 1\]"):
            kernel(points).to_dense()
        with pytest.raises(ValueError, match=r"expected coordinates in \[0, 1\]"):
            kernel(inside, points).to_dense()
    with pytest.raises(ValueError, match="points contain NaN"):
        kernel(inside * math.nan).to_dense()
    with pytest.raises(TypeError, match=r"points have dtype torch\.float16"):
        kernel.forward(inside.half(), inside.half())
    with pytest.raises(ValueError, match="points have 3 coordinates, expected 2"):
        kernel.forward(torch.rand(4, 3, dtype=torch.float64), torch.rand(4, 3, dtype=torch.float64))


def test_a_batch_of_coordinates_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="last_dim_is_batch; use batch_shape"):
        make(2).forward(torch.rand(2, 2), torch.rand(2, 2), last_dim_is_batch=True)


@pytest.mark.parametrize("block", [50, 400])
def test_many_terms_are_computed_block_by_block(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = MainEffectsKernel(7).double()
    x = torch.rand(12, 7, dtype=torch.float64).numpy()
    places = {kernel.raw_lengthscale: slice(0, 7)}
    vector, slope = np.linspace(-1, 1, 7), np.ones((12, 12))

    def values_and_gradient() -> tuple[Array, Array]:
        form = closed_form(kernel).by_parameters(x, places)
        assert form is not None
        at = form(vector)
        assert at is not None
        gradient = np.zeros(7)
        at.add_gradient(slope, gradient)
        return at.covariance, gradient

    whole = values_and_gradient()
    monkeypatch.setattr(effects, "_AT_ONCE", 100)
    monkeypatch.setattr(effects, "_BLOCK", block)
    for found, expected in zip(values_and_gradient(), whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("block", [1, 50, 2**17])
def test_without_gradients_the_matrix_is_the_same_and_no_pairs_are_kept(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effects, "_BLOCK", block)
    kernel, x = make(7), rows(12, 7)
    with torch.no_grad():
        found = kernel(x).to_dense()
    assert kernel._pairs is None
    torch.testing.assert_close(found, by_gpytorch(kernel, x, x))
    with_gradients = kernel(x).to_dense()
    assert with_gradients.requires_grad
    torch.testing.assert_close(found, with_gradients.detach())
