"""The squared Beta distance by its definition."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import betabo.kernels.direct as direct_module
import oracles
from betabo.kernels.direct import DirectForm, direct_sum


def arguments(dims: int = 3) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Points of two sets, bandwidths and weights."""
    x1, x2 = (0.05 + 0.9 * torch.rand(count, dims, dtype=torch.float64) for count in (4, 5))
    bandwidth, weight = (0.2 + torch.rand(1, dims, dtype=torch.float64) for _ in range(2))
    return x1, x2, bandwidth, weight


def test_is_the_weighted_sum_of_the_definition() -> None:
    x1, x2, bandwidth, weight = arguments()
    found = direct_sum(x1, x2, bandwidth, weight)
    for i, j in ((0, 0), (3, 4), (2, 1)):
        columns = zip(x1[i].tolist(), x2[j].tolist(), bandwidth[0].tolist(), weight[0].tolist(), strict=True)
        expected = sum(w * oracles.sq_distance(x, y, h) for x, y, h, w in columns)
        assert found[i, j].item() == pytest.approx(float(expected), rel=1e-11)


def test_blocks_of_coordinates_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = tuple(tensor.requires_grad_() for tensor in arguments(dims=7))
    whole = DirectForm.apply(*inputs)
    expected = torch.autograd.grad(whole.sin().sum(), inputs)
    monkeypatch.setattr(direct_module, "_BLOCK", 3 * 4 * 5)  # three coordinates at a time
    in_blocks = DirectForm.apply(*inputs)
    torch.testing.assert_close(in_blocks, whole, rtol=1e-14, atol=0)
    for found, gradient in zip(torch.autograd.grad(in_blocks.sin().sum(), inputs), expected, strict=True):
        torch.testing.assert_close(found, gradient, rtol=1e-12, atol=1e-14)


def test_gradients_and_their_gradients_are_finite_differences() -> None:
    inputs = tuple(tensor.requires_grad_() for tensor in arguments(dims=2))
    assert torch.autograd.gradcheck(DirectForm.apply, inputs)
    assert torch.autograd.gradgradcheck(DirectForm.apply, inputs)


def test_only_the_gradients_that_are_wanted_are_computed() -> None:
    x1, x2, bandwidth, weight = arguments()
    DirectForm.apply(x1, x2, bandwidth.requires_grad_(), weight).sum().backward()
    assert bandwidth.grad is not None
    assert x1.grad is x2.grad is weight.grad is None


def test_float32_is_summed_in_double_precision() -> None:
    x1, x2, bandwidth, weight = (tensor.float() for tensor in arguments())
    found = DirectForm.apply(x1, x2, bandwidth, weight)
    assert found.dtype == torch.float32
    exact = direct_sum(x1.double(), x2.double(), bandwidth.double(), weight.double())
    torch.testing.assert_close(found.double(), exact, rtol=1e-6, atol=1e-7)
