"""The closed form of radial kernels of the coordinates: GPyTorch's own."""

from __future__ import annotations

import pytest
import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel
from torch import Tensor

from betabo.kernels.closed_form import by_parameters
from betabo.testing import KernelTests


def spread(low: float, high: float, dims: int) -> Tensor:
    """Numbers from low to high, evenly in their logarithms."""
    return low * (high / low) ** torch.linspace(0, 1, dims, dtype=torch.float64)


class TestRBF(KernelTests):
    def make_kernel(self, dims: int) -> Kernel:
        kernel = ScaleKernel(RBFKernel(ard_num_dims=dims)).double()
        kernel.outputscale, kernel.base_kernel.lengthscale = 1.7, spread(0.3, 3.0, dims)
        return kernel


class TestSharedLengthScale(KernelTests):
    def make_kernel(self, dims: int) -> Kernel:
        return RBFKernel()


class TestMatern52(KernelTests):
    def make_kernel(self, dims: int) -> Kernel:
        kernel = MaternKernel(nu=2.5, ard_num_dims=dims).double()
        kernel.lengthscale = spread(0.025, 0.1, dims)
        return kernel


class TestMatern32(KernelTests):
    def make_kernel(self, dims: int) -> Kernel:
        kernel = MaternKernel(nu=1.5, ard_num_dims=dims).double()
        kernel.lengthscale = spread(0.3, 3.0, dims)
        return kernel


class TestSumOfBoth(KernelTests):
    def make_kernel(self, dims: int) -> Kernel:
        return ScaleKernel(RBFKernel(ard_num_dims=dims) + ScaleKernel(MaternKernel(nu=1.5)))


@pytest.mark.parametrize("count", [2, 4])
def test_length_scales_of_another_number_of_coordinates_leave_it_to_the_kernel(count: int) -> None:
    kernel = RBFKernel(ard_num_dims=count).double()
    x = torch.rand(5, 3, dtype=torch.float64)
    assert by_parameters(kernel, x, {kernel.raw_lengthscale: slice(0, count)}) is None
