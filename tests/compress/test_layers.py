"""Low rank plus rows: exact before pruning, optimal in its low-rank part, and really smaller afterwards."""

import numpy as np
import pytest
import torch
from torch import nn

from betabo.compress.layers import CompactLinear, Factors, LoSparseLinear, is_linear, rank_of, rows_of, weight_of

SHAPES = [(8, 6), (6, 8), (12, 12)]


def linear(outputs, inputs, *, bias=True, seed=0):
    torch.manual_seed(seed)
    return nn.Linear(inputs, outputs, bias=bias).double()


@pytest.mark.parametrize(
    ("ratio", "outputs", "inputs", "rank"),
    [(0.05, 768, 768, 20), (0.05, 3072, 768, 31), (0.5, 4, 4, 1), (1e-6, 100, 100, 1), (1.0, 10, 10, 5)],
)
def test_rank_follows_from_the_share_of_parameters(ratio, outputs, inputs, rank):
    assert rank_of(ratio, outputs, inputs) == rank


def test_rank_is_not_lifted_by_rounding():
    assert rank_of(0.3, 10, 10) == 2  # 0.3 * 100 / 20 = 1.5
    assert rank_of(0.6, 10, 10) == 3  # 0.6 * 5 is 3.0000000000000004 or so in floating point


@pytest.mark.parametrize(("keep", "outputs", "rows"), [(0, 7, 0), (1, 7, 7), (0.5, 7, 4), (0.1, 384, 38)])
def test_rows_are_the_nearest_number(keep, outputs, rows):
    assert rows_of(keep, outputs) == rows


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
@pytest.mark.parametrize("ratio", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_without_pruning_it_is_the_original_layer(shape, ratio, bias):
    layer = linear(*shape, bias=bias)
    x = torch.randn(3, 5, shape[1], dtype=torch.float64)
    split = LoSparseLinear.from_linear(layer, ratio)
    assert torch.allclose(split(x), layer(x), atol=1e-12)
    assert torch.allclose(split.weight, layer.weight, atol=1e-12)
    assert torch.allclose(split.materialise()(x), layer(x), atol=1e-12)


def test_low_rank_part_is_the_best_of_its_rank():
    layer = linear(12, 9)
    split = LoSparseLinear.from_linear(layer, 0.5)
    singular = np.linalg.svd(layer.weight.detach().numpy(), compute_uv=False)
    assert split.sparse.detach().norm().item() == pytest.approx(np.sqrt((singular[split.rank :] ** 2).sum()))


def test_factors_share_the_singular_values():
    weight = linear(5, 7).weight
    factors = Factors.of(weight)
    assert torch.allclose(factors.left @ factors.right, weight, atol=1e-12)
    assert torch.allclose(factors.left.norm(dim=0), factors.right.norm(dim=1), atol=1e-12)


def test_conv1d_is_a_transposed_linear_layer():
    conv1d = pytest.importorskip("transformers.pytorch_utils").Conv1D(7, 5)
    nn.init.normal_(conv1d.bias)
    x = torch.randn(2, 3, 5)
    assert is_linear(conv1d)
    assert weight_of(conv1d).shape == (7, 5)
    assert torch.allclose(LoSparseLinear.from_linear(conv1d, 0.3)(x), conv1d(x), atol=1e-5)


def test_subclasses_are_no_linear_layers():
    assert is_linear(nn.Linear(2, 2))
    assert not is_linear(nn.MultiheadAttention(4, 2).out_proj)
    assert not is_linear(nn.Conv1d(2, 2, 1))


def test_pruned_layer_is_materialised_without_its_zero_rows():
    split = LoSparseLinear.from_linear(linear(12, 10), 0.3)
    norms = split.sparse.detach().norm(dim=1)
    split.keep_largest(3)
    compact = split.materialise()
    assert isinstance(compact, CompactLinear)
    assert set(compact.index.tolist()) == set(norms.argsort(descending=True)[:3].tolist())
    assert compact.block.shape == (3, 10)
    x = torch.randn(4, 10, dtype=torch.float64)
    assert torch.allclose(compact(x), split(x), atol=1e-12)
    assert torch.allclose(compact(x), nn.functional.linear(x, compact.weight, compact.bias), atol=1e-12)
    assert sum(p.numel() for p in compact.parameters()) == split.rank * 22 + 3 * 10 + 12


def test_layer_that_would_not_be_smaller_becomes_a_plain_one():
    split = LoSparseLinear.from_linear(linear(12, 10), 0.9)
    split.keep_largest(6)
    dense = split.materialise()
    assert type(dense) is nn.Linear
    x = torch.randn(4, 10, dtype=torch.float64)
    assert torch.allclose(dense(x), split(x), atol=1e-12)


@pytest.mark.parametrize(("rank", "rows"), [(0, 2), (2, 0), (0, 0)])
def test_empty_parts_are_allowed(rank, rows):
    layer = CompactLinear(5, 4, rank, rows)
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    x = torch.randn(3, 5)
    assert torch.allclose(layer(x), nn.functional.linear(x, layer.weight, layer.bias), atol=1e-6)


def test_gradients_reach_all_parts():
    split = LoSparseLinear.from_linear(linear(8, 6), 0.4)
    split(torch.randn(3, 6, dtype=torch.float64)).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in split.parameters())


def test_a_weight_that_is_asked_for_its_dtype_alone_is_not_computed(monkeypatch):
    small = LoSparseLinear.from_linear(linear(8, 6), 0.3)
    small.keep_largest(2)
    small = small.materialise()
    products = []
    monkeypatch.setattr(torch.Tensor, "__matmul__", lambda a, b: products.append(1) or torch.mm(a, b))
    weight = small.weight
    assert isinstance(weight, torch.Tensor)
    assert (weight.dtype, weight.device, tuple(weight.shape), weight.size(0)) == (
        torch.float64,
        small.left.device,
        (8, 6),
        8,
    )
    assert weight.is_floating_point()
    assert weight.numel() == 48
    assert len(weight) == 8
    assert products == []
    assert torch.equal(weight.T, (small.left.mm(small.right)).T.index_add(1, small.index, small.block.T))
    assert products == [1]


def test_what_is_computed_with_a_weight_is_right_and_has_gradients():
    small = LoSparseLinear.from_linear(linear(8, 6), 0.3)
    small.keep_largest(2)
    small = small.materialise()
    assert isinstance(small, CompactLinear)
    x = torch.randn(3, 6, dtype=torch.float64)
    expected = small(x)
    assert torch.allclose(nn.functional.linear(x, small.weight, small.bias), expected)
    assert torch.allclose(x @ small.weight.T + small.bias, expected)
    assert torch.allclose(torch.cat([small.weight, small.weight]), torch.cat([small.weight + 0] * 2))
    nn.functional.linear(x, small.weight, small.bias).sum().backward()
    by_product = [parameter.grad.clone() for parameter in small.parameters()]
    small.zero_grad()
    small(x).sum().backward()
    assert all(
        torch.allclose(grad, parameter.grad) for grad, parameter in zip(by_product, small.parameters(), strict=True)
    )
