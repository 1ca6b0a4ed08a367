"""What every kernel on the unit cube shares: which points it takes, its batches, its priors."""

from __future__ import annotations

import math

import pytest
import torch
from gpytorch.constraints import Interval
from gpytorch.kernels import Kernel
from gpytorch.priors import LogNormalPrior
from torch import Tensor

from betabo import BetaKernel
from betabo.kernels.cube import CubeKernel, as_parameter, register_prior, show


def points(*rows: list[float]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def batch_on_some_coordinates() -> BetaKernel:
    kernel = BetaKernel(ard_num_dims=2, batch_shape=torch.Size([3]), active_dims=(0, 2)).double()
    kernel.bandwidth = torch.rand(3, 1, 2, dtype=torch.float64) + 0.1
    return kernel


class TestPoints:
    @pytest.mark.parametrize("x", [points([0.0, 1.0], [0.5, 1e-300]), torch.rand(2, 3, 2), torch.zeros(0, 2)])
    def test_of_the_cube_are_taken_as_they_are(self, x: Tensor) -> None:
        assert CubeKernel(ard_num_dims=2).check_points(x) is x

    @pytest.mark.parametrize(("dtype", "rounding"), [(torch.float64, 1e-10), (torch.float32, 1e-6)])
    def test_rounding_is_moved_onto_the_bounds_and_keeps_its_gradient(
        self, dtype: torch.dtype, rounding: float
    ) -> None:
        x = torch.tensor([[1 + rounding, 0.5], [-rounding, 0.25]], dtype=dtype, requires_grad=True)
        checked = CubeKernel().check_points(x)
        assert checked.tolist() == [[1.0, 0.5], [0.0, 0.25]]
        checked.sum().backward()
        assert x.grad is not None
        assert torch.equal(x.grad, torch.ones(2, 2, dtype=dtype))

    @pytest.mark.parametrize(
        ("x", "error", "message"),
        [
            (points([0.5, -0.05]), ValueError, r"values from -0\.05 to 0\.5.*\[0, 1\]"),
            (points([0.5, 1 + 1e-8]), ValueError, r"to 1, expected coordinates in \[0, 1\]"),
            (torch.tensor([[0.5, 1.2]]), ValueError, r"to 1\.2.*bounds of the search space"),
            (torch.tensor([[0.5, math.nan]]), ValueError, "contain NaN"),
            (torch.tensor([[0.5, math.inf]]), ValueError, "to inf"),
            (torch.tensor([[0, 1]]), TypeError, r"torch\.int64.*x\.double\(\)"),
            (torch.tensor([[0.5, 1.0]], dtype=torch.float16), TypeError, r"torch\.float16"),
            (torch.zeros(4, 3), ValueError, "3 coordinates, expected 2"),
        ],
        ids=str,
    )
    def test_others_are_refused(self, x: Tensor, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            CubeKernel(ard_num_dims=2).check_points(x)

    def test_a_kernel_checks_those_that_it_is_given(self) -> None:
        with pytest.raises(ValueError, match="expected coordinates in"):
            BetaKernel()(points([0.5]), points([1.5])).to_dense()


class TestBatches:
    def test_a_selected_member_keeps_its_active_dims(self) -> None:
        kernel = batch_on_some_coordinates()
        x = torch.rand(6, 4, dtype=torch.float64)
        torch.testing.assert_close(kernel[1](x).to_dense(), kernel(x).to_dense()[1])
        assert kernel.active_dims is not None  # set aside, and put back

    def test_an_expanded_kernel_keeps_its_active_dims(self) -> None:
        kernel = batch_on_some_coordinates()
        x = torch.rand(6, 4, dtype=torch.float64)
        expanded = kernel.expand_batch(torch.Size([5, 3]))
        torch.testing.assert_close(expanded(x).to_dense(), kernel(x).to_dense().expand(5, 3, 6, 6))


class Scaled(CubeKernel):
    """A parameter from 0.1 to 2 with a prior."""

    def __init__(self, prior: object) -> None:
        super().__init__()
        self.register_parameter("raw_size", torch.nn.Parameter(torch.zeros(1)))
        self.register_constraint("raw_size", Interval(0.1, 2.0))
        register_prior(self, "size", prior)  # type: ignore[arg-type]

    @property
    def size(self) -> Tensor:  # type: ignore[override]
        value: Tensor = self.raw_size_constraint.transform(self.raw_size)
        return value

    @size.setter
    def size(self, value: Tensor) -> None:
        self.initialize(raw_size=self.raw_size_constraint.inverse_transform(as_parameter(value, self.raw_size, "size")))


class TestPriors:
    def test_are_of_the_value_that_the_kernel_has(self) -> None:
        kernel: Kernel = Scaled(LogNormalPrior(0.0, 1.0))
        kernel.size = torch.tensor([0.7])
        ((_, _, _, read, _),) = kernel.named_priors()
        assert read(kernel).item() == pytest.approx(0.7)

    def test_a_draw_outside_the_constraint_becomes_the_nearest_value_inside(self) -> None:
        kernel = Scaled(LogNormalPrior(-20.0, 0.1))
        kernel.size = torch.tensor([0.7])
        kernel.sample_from_prior("size_prior")
        assert kernel.size.item() == pytest.approx(0.1, abs=1e-5)

    def test_none_is_no_prior_and_anything_else_is_refused(self) -> None:
        assert list(Scaled(None).named_priors()) == []
        with pytest.raises(TypeError, match=r"size_prior is a float, expected a gpytorch\.priors\.Prior"):
            Scaled(1.0)


def test_a_value_takes_type_and_shape_of_its_parameter() -> None:
    like = torch.zeros(2, 1, 3, dtype=torch.float64)
    assert as_parameter(0.5, like, "h").tolist() == [[[0.5] * 3]] * 2
    found = as_parameter([1, 2, 3], like, "h")
    assert (found.dtype, found.tolist()) == (torch.float64, [[[1.0, 2.0, 3.0]]] * 2)
    with pytest.raises(ValueError, match=r"h has shape \(2,\), expected .* expands to \(2, 1, 3\)"):
        as_parameter([1.0, 2.0], like, "h")


@pytest.mark.parametrize(("value", "text"), [([0.5, 0.5], "0.5"), ([0.5, 1e-7], "[0.5, 1e-07]"), (3.0, "3")])
def test_numbers_in_messages_are_short(value: object, text: str) -> None:
    assert show(torch.tensor(value, dtype=torch.float64)) == text
