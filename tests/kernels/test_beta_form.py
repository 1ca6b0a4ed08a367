"""The closed form of the Beta kernel, against the same kernel with exact distances."""

from __future__ import annotations

import torch
from gpytorch.kernels import Kernel

from betabo.kernels import BetaKernel
from betabo.testing import KernelTests


class BetaTests(KernelTests):
    """The Beta kernel with a fixed boundary weight."""

    weight: float | str = 0.3
    low, high = 0.3, 10.0
    method = "auto"

    def make_kernel(self, dims: int) -> Kernel:
        return self._make(dims, self.method)

    def make_reference(self, dims: int) -> Kernel:
        return self._make(dims, "lgamma")

    def _make(self, dims: int, method: str) -> Kernel:
        kernel = BetaKernel(ard_num_dims=dims, boundary_weight=self.weight, method=method).double()
        kernel.bandwidth = self.low * (self.high / self.low) ** torch.linspace(0, 1, dims, dtype=torch.float64)
        return kernel


class TestBeta(BetaTests):
    pass


class TestSmallBandwidths(BetaTests):
    weight, low, high = 0.1, 0.003, 0.1


class TestLargeBandwidths(BetaTests):
    weight, low, high = 0.1, 10.0, 1e4


class TestWeightOfThePaper(BetaTests):
    weight, low, high = 1.0, 0.3, 3.0


class TestUnitVariance(BetaTests):
    weight, low, high = 0.0, 0.1, 10.0


class TestLearnedWeight(BetaTests):
    weight = "learned"
    has_form_by_parameters = False


class TestToldToSumLogGammas(BetaTests):
    method = "lgamma"
    has_form_by_parameters = False
