"""GPyTorch's own tests of a kernel, on data in the unit cube."""

from __future__ import annotations

import torch
from gpytorch.test.base_kernel_test_case import BaseKernelTestCase
from torch import Tensor


class CubeKernelTestCase(BaseKernelTestCase):
    def create_data_no_batch(self) -> Tensor:
        return torch.rand(50, 10)

    def create_data_single_batch(self) -> Tensor:
        return torch.rand(2, 3, 2)

    def create_data_double_batch(self) -> Tensor:
        return torch.rand(3, 2, 50, 2)
