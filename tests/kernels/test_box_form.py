"""The closed form of the Beta-Matern kernel, against the same kernel with exact distances."""

from __future__ import annotations

import math

import pytest
import torch
from gpytorch.kernels import Kernel

from betabo.kernels import BetaMaternKernel
from betabo.kernels.closed_form import by_parameters
from betabo.testing import KernelTests


class BetaMaternTests(KernelTests):
    """The Beta-Matern kernel."""

    nu, weight, bandwidth, low, high = 2.5, 0.0, 1.0, 0.3, 10.0
    method = "auto"

    def make_kernel(self, dims: int) -> Kernel:
        return self._make(dims, self.method)

    def make_reference(self, dims: int) -> Kernel:
        return self._make(dims, "lgamma")

    def _make(self, dims: int, method: str) -> Kernel:
        kernel = BetaMaternKernel(nu=self.nu, ard_num_dims=dims, boundary_weight=self.weight, method=method).double()
        kernel.bandwidth = self.bandwidth
        kernel.lengthscale = self.low * (self.high / self.low) ** torch.linspace(0, 1, dims, dtype=torch.float64)
        return kernel


class TestBetaMatern(BetaMaternTests):
    pass


class TestBetaMaternRough(BetaMaternTests):
    nu, bandwidth = 1.5, 0.7


class TestBetaMaternSmooth(BetaMaternTests):
    nu, bandwidth = math.inf, 0.2


class TestBetaMaternShort(BetaMaternTests):
    bandwidth, low, high = 0.1, 0.025, 0.1


class TestBetaMaternLong(BetaMaternTests):
    bandwidth, low, high = 0.05, 10.0, 1e3


class TestBetaMaternFlat(BetaMaternTests):
    bandwidth, low, high = 1e3, 0.3, 3.0


class TestBetaMaternWithBoundaryWeight(BetaMaternTests):
    weight, bandwidth = 0.4, 0.5
    has_form_by_parameters = False


class TestBetaMaternToldToSumLogGammas(BetaMaternTests):
    method = "lgamma"
    has_form_by_parameters = False


class TestBetaMaternWithKink(BetaMaternTests):
    nu = 0.5
    has_form_by_points = has_form_by_parameters = False


@pytest.mark.parametrize("bandwidth", [1e-4, 1.0])
def test_a_bandwidth_that_is_too_small_for_polynomials_is_left_to_the_kernel(bandwidth: float) -> None:
    kernel = BetaMaternKernel(ard_num_dims=2).double()
    x = torch.rand(5, 2, dtype=torch.float64)
    form = by_parameters(kernel, x, {kernel.raw_lengthscale: slice(0, 2), kernel.raw_bandwidth: slice(2, 3)})
    assert form is not None
    vector = torch.tensor([0.0, 0.0, math.log(bandwidth)], dtype=torch.float64)
    assert (form(vector.numpy()) is None) is (bandwidth < 1)
