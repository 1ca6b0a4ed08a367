"""The tests of a kernel let a good one pass, and each of them finds the kernel that breaks what it is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel
from torch import Tensor

from betabo.kernels.closed_form import Array, declares
from betabo.kernels.radial import profile_with_slope
from betabo.kernels.radial_form import Profile, RadialForm
from betabo.testing import KernelTests


class TestGoodKernel(KernelTests):
    def make_kernel(self, dims: int) -> Kernel:
        return ScaleKernel(RBFKernel(ard_num_dims=dims))


class TestGoodKernelWithoutForm(KernelTests):
    has_form_by_points = has_form_by_parameters = False

    def make_kernel(self, dims: int) -> Kernel:
        return RBFKernel(ard_num_dims=dims) * MaternKernel(ard_num_dims=dims)


class Rbf(RBFKernel):  # type: ignore[misc]
    """An RBF kernel after `change` of its covariances, with a form of its profile after `change_form`."""

    def change(self, covariance: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        del x1, x2
        return covariance

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        covariance = super().forward(x1, x2, diag=diag, **params)
        return covariance if diag else self.change(covariance, x1, x2)


class Asymmetric(Rbf):
    def change(self, covariance: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        del x2
        return covariance * (1 + x1[..., :1])


class Indefinite(Rbf):
    def change(self, covariance: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        del x1, x2
        return covariance.square() - 0.5


class WithNan(Rbf):
    def change(self, covariance: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        return torch.where((x1[..., :1] == 0) & (x2[..., 0].unsqueeze(-2) == 0), torch.nan, covariance)


class OtherDiagonal(Rbf):
    def change(self, covariance: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        del x1, x2
        return 2 * covariance


class BatchesMixed(Rbf):
    def change(self, covariance: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        del x1, x2
        return covariance if covariance.dim() == 2 else covariance.flip(0)


class InfiniteSlope(Rbf):
    def change(self, covariance: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        del x1, x2
        return covariance * torch.exp(-(1 - covariance).clamp_min(0).sqrt())


class WrongSlope(Rbf):
    def change(self, covariance: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        del x1, x2
        return 1.1 * covariance - 0.1 * covariance.detach()


class WrongSlopeInParameters(Rbf):
    @property
    def lengthscale(self) -> Tensor:
        value = super().lengthscale
        return 1.1 * value - 0.1 * value.detach()


class SharedParameters(Rbf):
    def __deepcopy__(self, memory: object) -> SharedParameters:
        return self


class WrongValues(Rbf):
    pass


class WrongSlopes(Rbf):
    pass


class WithoutForm(Rbf):
    pass


@declares(WrongValues)
def wrong_values(kernel: Kernel) -> RadialForm:
    def profile(sq_distance: Array) -> tuple[Array, Array]:
        values, slopes = profile_with_slope(sq_distance, float("inf"))
        return values + 1e-6 * values * (1 - values), slopes

    return RadialForm(kernel, profile)


@declares(WrongSlopes)
def wrong_slopes(kernel: Kernel) -> RadialForm:
    def profile(sq_distance: Array) -> tuple[Array, Array]:
        values, slopes = profile_with_slope(sq_distance, float("inf"))
        return values, (1 + 1e-6) * slopes

    return RadialForm(kernel, profile)


CASES: list[tuple[type[Kernel], Callable[[KernelTests], None]]] = [
    (Asymmetric, KernelTests.test_covariance_is_symmetric_and_positive_semidefinite),
    (Indefinite, KernelTests.test_covariance_is_symmetric_and_positive_semidefinite),
    (WithNan, KernelTests.test_covariance_is_symmetric_and_positive_semidefinite),
    (OtherDiagonal, KernelTests.test_diagonal_is_that_of_the_matrix),
    (BatchesMixed, KernelTests.test_batches_of_points_are_taken_one_by_one),
    (SharedParameters, KernelTests.test_a_copy_is_equal_and_independent),
    (InfiniteSlope, KernelTests.test_gradients_are_finite_everywhere),
    (WrongSlope, KernelTests.test_gradients_are_finite_differences),
    (WrongSlopeInParameters, KernelTests.test_gradients_are_finite_differences),
    (WrongValues, KernelTests.test_closed_form_by_points),
    (WrongValues, KernelTests.test_closed_form_by_parameters),
    (WrongSlopes, KernelTests.test_closed_form_by_points),
    (WrongSlopes, KernelTests.test_closed_form_by_parameters),
    (WithoutForm, KernelTests.test_closed_form_by_points),
    (WithoutForm, KernelTests.test_closed_form_by_parameters),
]


@pytest.mark.parametrize(("kind", "test"), CASES, ids=lambda case: case.__name__)
def test_what_is_broken_is_found(kind: type[Kernel], test: Callable[[KernelTests], None]) -> None:
    class Tests(KernelTests):
        def make_kernel(self, dims: int) -> Kernel:
            return kind(ard_num_dims=dims)

    with pytest.raises(AssertionError):
        test(Tests())


def test_a_form_that_is_not_claimed_is_found() -> None:
    class Tests(TestGoodKernel):
        has_form_by_points = has_form_by_parameters = False

    for test in (Tests().test_closed_form_by_points, Tests().test_closed_form_by_parameters):
        with pytest.raises(AssertionError, match="instead"):
            test()


def test_a_profile_is_all_that_a_radial_kernel_needs() -> None:
    class Cauchy(Kernel):  # type: ignore[misc]
        has_lengthscale = True

        def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
            scaled = (x1.div(self.lengthscale), x2.div(self.lengthscale))
            return 1 / (1 + self.covar_dist(*scaled, square_dist=True, diag=diag, **params))

    profile: Profile = lambda sq_distance: (1 / (1 + sq_distance), -1 / (1 + sq_distance) ** 2)  # noqa: E731

    @declares(Cauchy)
    def form(kernel: Cauchy) -> RadialForm:
        return RadialForm(kernel, profile)

    class Tests(KernelTests):
        def make_kernel(self, dims: int) -> Kernel:
            return Cauchy(ard_num_dims=dims)

    tests = Tests()
    tests.test_closed_form_by_points()
    tests.test_closed_form_by_parameters()
