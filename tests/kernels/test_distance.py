"""Choice of method, and what both have to do."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import betabo.kernels.direct as direct_module
import betabo.kernels.distance as distance_module
from betabo import BetaKernel
from betabo.kernels.chebyshev import DEGREES
from betabo.kernels.direct import direct_sum
from betabo.kernels.distance import merge_degrees, sq_distance
from betabo.kernels.exponentials import exponential_form
from kernels.feature_counter import FeatureCounter


@pytest.mark.parametrize("method", ["matmul", "lgamma"])
def test_leading_batch_dimensions_broadcast(method: str) -> None:
    x1, x2 = torch.rand(3, 1, 6, 2, dtype=torch.float64), torch.rand(4, 5, 2, dtype=torch.float64)
    h = 0.2 + torch.rand(4, 1, 2, dtype=torch.float64)
    w = torch.ones(1, 2, dtype=torch.float64)
    whole = sq_distance(x1, x2, h, w, method=method)  # type: ignore[arg-type]
    assert whole.shape == (3, 4, 6, 5)
    for i in range(3):
        for j in range(4):
            torch.testing.assert_close(whole[i, j], direct_sum(x1[i, 0], x2[j], h[j], w), rtol=1e-8, atol=1e-9)


def test_empty_sets() -> None:
    kernel = BetaKernel(ard_num_dims=2).double()
    covariance = kernel(torch.rand(0, 2, dtype=torch.float64), torch.rand(3, 2, dtype=torch.float64)).to_dense()
    assert covariance.shape == (0, 3)


def test_small_bandwidths_take_exponentials_where_there_are_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def counted(x1: Tensor, *others: Any) -> Tensor:
        sizes.append(len(x1))
        return exponential_form(x1, *others)

    monkeypatch.setattr(distance_module, "exponential_form", counted)
    one = torch.ones(1, 3, dtype=torch.float64)
    many, few = torch.rand(100, 3, dtype=torch.float64), torch.rand(2, 3, dtype=torch.float64)
    for points in (many, few):
        for h in (1e-3, 1.0):
            found = sq_distance(points, points, h * one, one)
            assert torch.equal(found.diagonal(), torch.zeros(len(points), dtype=torch.float64))
            torch.testing.assert_close(found, direct_sum(points, points, h * one, one), rtol=1e-10, atol=1e-9)
    assert sizes == [100]


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("h", [1e-3, 1e-2])
def test_gradients_for_small_bandwidths(h: float, same: bool) -> None:
    def gradients(method: str) -> tuple[Tensor, ...]:
        x1 = torch.linspace(0, 1, 36, dtype=torch.float64).view(12, 3).requires_grad_()
        x2 = x1 if same else (1 - x1.detach() ** 2).requires_grad_()
        bandwidth = (h * torch.tensor([[1.0, 2.0, 500.0]], dtype=torch.float64)).requires_grad_()
        weight = torch.tensor([[1.0, 0.5, 2.0]], dtype=torch.float64).requires_grad_()
        distance = sq_distance(x1, x2, bandwidth, weight, method=method)  # type: ignore[arg-type]
        mix = torch.sin(torch.arange(144, dtype=torch.float64)).view(12, 12)
        return torch.autograd.grad(
            (mix * distance).sum(), (x1, bandwidth, weight) if same else (x1, x2, bandwidth, weight)
        )

    for fast, direct in zip(gradients("matmul"), gradients("lgamma"), strict=True):
        torch.testing.assert_close(fast, direct, rtol=1e-8, atol=1e-8 / h)


@pytest.mark.parametrize("pairs", [10, 10**4, 10**6, 10**8])
def test_merging_only_raises_degrees(pairs: int) -> None:
    degrees = [int(p) for p in DEGREES]
    merged = merge_degrees(degrees, pairs)
    assert all(new >= old for new, old in zip(merged, degrees, strict=True))
    assert set(merged) <= set(degrees)
    assert len(set(merged)) < len(degrees) or pairs == 10**8


def test_merging_is_for_small_problems() -> None:
    degrees = [12, 20, 24, 32]
    assert merge_degrees(degrees, 100) == [32] * 4
    assert merge_degrees(degrees, 10**9) == degrees


def test_automatic_choice_follows_bandwidth_and_size(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = FeatureCounter(monkeypatch)
    large, small = torch.rand(200, 5, dtype=torch.float64), torch.rand(2, 5, dtype=torch.float64)
    one = torch.ones(1, 5, dtype=torch.float64)
    sq_distance(small, small, one, one)
    sq_distance(large, large, 1e-3 * one, one)
    assert counter.points == 0
    sq_distance(large, large, one, one)
    assert counter.points == 200


@pytest.mark.parametrize("method", ["matmul", "lgamma"])
def test_nothing_larger_than_the_result_is_saved(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    n, dims = 200, 40
    monkeypatch.setattr(direct_module, "_BLOCK", n * n)
    sizes: list[int] = []

    def note(tensor: Tensor) -> Tensor:
        sizes.append(tensor.numel())
        return tensor

    kernel = BetaKernel(ard_num_dims=dims, method=method).double()  # type: ignore[arg-type]
    x = torch.rand(n, dims, dtype=torch.float64)
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        kernel(x).to_dense().sum().backward()
    assert n * n in sizes
    assert max(sizes) == n * n
