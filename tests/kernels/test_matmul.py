"""The matmul form: what is kept between calls, and gradients of what is kept."""

from __future__ import annotations

import pytest
import torch

from betabo import BetaKernel, BetaMaternKernel
from betabo.kernels.direct import direct_sum
from betabo.kernels.distance import sq_distance
from betabo.kernels.matmul import FeatureCache
from kernels.feature_counter import FeatureCounter


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> FeatureCounter:
    return FeatureCounter(monkeypatch)


def test_features_of_the_training_points_are_built_once_in_a_fit(counter: FeatureCounter) -> None:
    kernel = BetaKernel(ard_num_dims=4, method="matmul").double()
    x = torch.rand(50, 4, dtype=torch.float64)
    for h in (1.0, 1.1, 2.0, 0.9):
        kernel.bandwidth = h
        kernel(x.clone()).to_dense().sum().backward()
    assert counter.points == 50  # the first degree served the later ones


def test_queries_build_their_own_features_only(counter: FeatureCounter) -> None:
    kernel = BetaMaternKernel(ard_num_dims=4).double()
    train = torch.rand(80, 4, dtype=torch.float64)
    kernel(train).to_dense()
    counter.points = counter.forms = 0
    for _ in range(3):
        query = torch.rand(5, 1, 4, dtype=torch.float64, requires_grad=True)
        joined = torch.cat([train.expand(5, 80, 4), query], dim=-2)  # as GPyTorch does it
        kernel(query, joined).to_dense().sum().backward()
    assert counter.forms == 0
    assert counter.points <= 3 * 5 * 2


@pytest.mark.parametrize("queries", [1, 2, 40])
@pytest.mark.parametrize("kernel_type", [BetaKernel, BetaMaternKernel])
def test_known_points_still_get_their_gradients(kernel_type: type[BetaKernel], queries: int) -> None:
    kernel = kernel_type(ard_num_dims=3).double()
    train = torch.rand(60, 3, dtype=torch.float64)
    query = torch.rand(4, queries, 3, dtype=torch.float64)
    kernel(train).to_dense()
    gradients = []
    for method in ("auto", "lgamma"):
        kernel.method = method
        leaves = [train.clone().requires_grad_(), query.clone().requires_grad_(), *kernel.parameters()]
        joined = torch.cat([leaves[0].expand(4, 60, 3), leaves[1]], dim=-2)
        covariance = kernel(leaves[1], joined).to_dense()
        mix = torch.sin(torch.arange(covariance.numel(), dtype=torch.float64)).view_as(covariance)
        gradients.append(torch.autograd.grad((covariance * mix).sum(), leaves))
    for matmul, direct in zip(*gradients, strict=True):
        torch.testing.assert_close(matmul, direct, rtol=1e-7, atol=1e-9)


def test_changed_points_or_bandwidths_are_noticed() -> None:
    kernel = BetaKernel(ard_num_dims=2, boundary_weight=0.0, method="matmul").double()
    x = torch.rand(30, 2, dtype=torch.float64)
    kernel(x).to_dense()
    x.mul_(0.5)  # in place: the same tensor, other points
    kernel.bandwidth = 0.3
    weight = torch.ones(1, 2, dtype=torch.float64)
    expected = torch.exp(-0.5 * direct_sum(x, x, kernel.bandwidth, weight))
    torch.testing.assert_close(kernel(x).to_dense(), expected, rtol=1e-8, atol=1e-12)


def test_backward_uses_the_bandwidths_of_its_own_forward() -> None:
    kernel = BetaKernel(ard_num_dims=2, boundary_weight=0.0, method="matmul").double()
    train = torch.rand(30, 2, dtype=torch.float64)
    query = torch.rand(1, 2, dtype=torch.float64, requires_grad=True)
    known = train.clone().requires_grad_()
    kernel(train).to_dense()
    first = kernel(query, known).to_dense().sum()
    expected = torch.autograd.grad(first, [query, known], retain_graph=True)
    with torch.no_grad():
        kernel.bandwidth = 3.0
        kernel(query, known).to_dense()
    found = torch.autograd.grad(first, [query, known])
    for a, b in zip(found, expected, strict=True):
        assert torch.equal(a, b)


def test_only_a_few_point_sets_are_kept() -> None:
    cache = FeatureCache(capacity=2)
    one = torch.ones(1, 3, dtype=torch.float64)
    for _ in range(5):
        x = torch.rand(20, 3, dtype=torch.float64)
        sq_distance(x, x, one, one, method="matmul", cache=cache)
    assert len(cache) == 2


def test_a_set_with_itself_in_a_batch_has_zero_diagonal() -> None:
    x = torch.rand(3, 10, 2, dtype=torch.float64)
    one = torch.ones(1, 2, dtype=torch.float64)
    distance = sq_distance(x, x.clone(), one, one, method="matmul")
    assert torch.equal(distance.diagonal(dim1=-2, dim2=-1), torch.zeros(3, 10, dtype=torch.float64))
