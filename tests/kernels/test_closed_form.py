"""Who has a closed form: the very classes for which one is declared, alone, scaled, and in sums."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel
from torch import Tensor

from betabo.kernels import BetaKernel, BetaMaternKernel, MainEffectsKernel
from betabo.kernels.closed_form import ClosedForm, by_parameters, by_points, closed_form, declares
from betabo.kernels.radial_form import RadialForm

DIMS = 2


class Twisted(RBFKernel):  # type: ignore[misc]
    """Another formula than that of the class it is derived from."""

    def forward(self, x1: Tensor, x2: Tensor, **params: object) -> Tensor:
        return super().forward(x1.square(), x2.square(), **params)


class TwistedBeta(BetaMaternKernel):
    """The geometry is another one, deep below `forward`."""

    def geometry(self) -> tuple[Tensor, Tensor]:
        bandwidth, weight = super().geometry()
        return bandwidth, 2 * weight


def tiny() -> Kernel:
    kernel = BetaKernel(ard_num_dims=DIMS, boundary_weight=0.0).double()
    kernel.bandwidth = 1e-3
    return kernel


WITH: dict[str, Callable[[], Kernel]] = {
    "rbf": RBFKernel,
    "matern": lambda: MaternKernel(nu=1.5),
    "learned weight": lambda: BetaKernel(),
    "beta of the paper": lambda: BetaKernel(boundary_weight=1.0),
    "tiny bandwidth": tiny,
    "beta-matern": lambda: BetaMaternKernel(ard_num_dims=DIMS),
    "main effects": lambda: MainEffectsKernel(DIMS),
    "scaled": lambda: ScaleKernel(RBFKernel()),
    "scaled twice": lambda: ScaleKernel(ScaleKernel(RBFKernel())),
    "sum": lambda: RBFKernel() + MainEffectsKernel(DIMS),
    "scaled sum of sums": lambda: ScaleKernel(RBFKernel() + (MaternKernel() + ScaleKernel(MainEffectsKernel(DIMS)))),
}

WITHOUT: dict[str, Callable[[], Kernel]] = {
    "kink at distance zero": lambda: MaternKernel(nu=0.5),
    "derived from a supported class": lambda: Twisted(),
    "derived from ours": lambda: TwistedBeta(ard_num_dims=DIMS),
    "scaled": lambda: ScaleKernel(Twisted()),
    "sum with one": lambda: RBFKernel() + Twisted(),
    "product": lambda: RBFKernel() * RBFKernel(),
    "some coordinates": lambda: RBFKernel(active_dims=[1]),
    "sum of some coordinates": lambda: RBFKernel(active_dims=[1]) + RBFKernel(),
    "batch": lambda: RBFKernel(batch_shape=torch.Size([2])),
}


def data() -> Tensor:
    return torch.rand(5, DIMS, dtype=torch.float64)


def places(kernel: Kernel) -> dict[Tensor, slice]:
    found, start = {}, 0
    for parameter in kernel.parameters():
        found[parameter] = slice(start, start + parameter.numel())
        start += parameter.numel()
    return found


@pytest.mark.parametrize("name", WITH)
def test_supported_kernels_have_a_form_by_points(name: str) -> None:
    assert by_points(WITH[name]().double(), data()) is not None


@pytest.mark.parametrize("name", [name for name in WITH if name != "learned weight"])
def test_and_one_by_parameters(name: str) -> None:
    kernel = WITH[name]().double()
    assert by_parameters(kernel, data(), places(kernel)) is not None


@pytest.mark.parametrize("name", WITHOUT)
def test_others_have_none(name: str) -> None:
    kernel = WITHOUT[name]().double()
    assert by_points(kernel, data()) is None
    assert by_parameters(kernel, data(), places(kernel)) is None


def test_a_form_is_declared_for_one_class_and_taken_over_by_name() -> None:
    class Parent(RBFKernel):  # type: ignore[misc]
        pass

    class Child(Parent):
        pass

    @declares(Parent)
    def parent_form(kernel: Parent) -> ClosedForm:
        return RadialForm(kernel, None)

    assert isinstance(closed_form(Parent()), RadialForm)
    assert type(closed_form(Child())) is ClosedForm
    declares(Child)(parent_form)
    assert isinstance(closed_form(Child()), RadialForm)


@pytest.mark.parametrize(
    "points", [torch.rand(5, DIMS), torch.rand(3, 5, DIMS, dtype=torch.float64)], ids=["single precision", "batch"]
)
def test_data_of_other_kinds_have_none(points: Tensor) -> None:
    kernel = RBFKernel().double()
    assert by_points(kernel, points) is None
    assert by_parameters(kernel, points, places(kernel)) is None


def test_points_that_the_kernel_refuses_have_none() -> None:
    kernel = ScaleKernel(MainEffectsKernel(DIMS)).double()
    assert by_points(kernel, data() + 2) is None


def test_a_parameter_that_is_fixed_or_has_no_place_leaves_no_form_by_parameters() -> None:
    kernel = ScaleKernel(RBFKernel()).double()
    where = places(kernel)
    del where[kernel.raw_outputscale]
    assert by_parameters(kernel, data(), where) is None
    where = places(kernel)
    kernel.raw_outputscale.requires_grad_(False)
    assert by_parameters(kernel, data(), where) is None
