"""GPyTorch's own tests of a kernel, on data in the unit cube, and two more."""

from __future__ import annotations

import copy
import pickle

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

    def test_batched_parameters_act_member_by_member(self) -> None:
        kernel = self.create_kernel_no_ard(batch_shape=torch.Size([2])).double()
        with torch.no_grad():
            for parameter in kernel.parameters():
                parameter.add_(0.3 * torch.rand_like(parameter))
        x, y = torch.rand(8, 3, dtype=torch.float64), torch.rand(5, 2, 6, 3, dtype=torch.float64)
        whole, alone = kernel(x, y).to_dense(), kernel(x).to_dense()
        assert whole.shape == (5, 2, 8, 6)
        assert not torch.equal(alone[0], alone[1])
        for member in range(2):
            torch.testing.assert_close(whole[:, member], kernel[member](x, y[:, member]).to_dense())
            torch.testing.assert_close(alone[member], kernel[member](x).to_dense())

    def test_copies_and_what_was_pickled_are_equal_and_independent(self) -> None:
        kernel, x = self.create_kernel_no_ard().double(), torch.rand(50, 3, dtype=torch.float64)
        before = kernel(x).to_dense()
        for other in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
            assert torch.equal(other(x).to_dense(), before)
            with torch.no_grad():
                for parameter in other.parameters():
                    parameter.add_(0.3)
            assert not torch.equal(other(x).to_dense(), before)
            assert torch.equal(kernel(x).to_dense(), before)
