from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.nn.functional import linear

from betabo.compress.int8 import Int8CompactLinear, Int8Linear, evened, int8_layer
from betabo.compress.layers import CompactLinear


def compact(rows: int = 2, *, bias: bool = True) -> CompactLinear:
    torch.manual_seed(0)
    layer = CompactLinear(12, 10, 4, rows, bias=bias)
    for parameter in layer.parameters():
        parameter.data.normal_()
    layer.index = torch.tensor([7, 3])[:rows]
    return layer


def test_a_weight_is_off_by_at_most_half_a_step_of_its_row() -> None:
    weight = torch.randn(6, 9, generator=torch.Generator().manual_seed(0)) * torch.logspace(-3, 3, 6).unsqueeze(-1)
    layer = Int8Linear.of(weight)
    step = weight.abs().amax(1, keepdim=True) / 127
    assert bool(((layer.weight - weight).abs() <= 0.5001 * step).all())
    assert layer.whole.abs().amax(1).tolist() == [127] * 6
    assert torch.equal(Int8Linear.of(torch.zeros(2, 3)).weight + 0, torch.zeros(2, 3))


@pytest.mark.parametrize("bias", [True, False])
def test_outputs_are_those_of_the_weight_but_for_the_rounding_of_the_inputs(bias: bool) -> None:
    torch.manual_seed(1)
    layer = int8_layer(nn.Linear(64, 32, bias=bias))
    x = torch.randn(2, 5, 64)
    exact = linear(x, layer.weight + 0, layer.bias)  # type: ignore[arg-type]
    y = layer(x)
    assert y.shape == (2, 5, 32)
    assert 0 < (y - exact).abs().max() < 0.05 * exact.abs().max()
    half = layer(x.bfloat16())  # not what a CPU has eight-bit products for
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), exact, rtol=0.1, atol=0.05)


@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize("bias", [True, False])
def test_a_compact_layer_keeps_its_parts(rows: int, bias: bool) -> None:
    layer = compact(rows, bias=bias).eval()
    small = int8_layer(layer)
    assert isinstance(small, Int8CompactLinear)
    assert not small.training
    x = torch.randn(3, 12)
    assert (small(x) - layer(x)).abs().max() < 0.08 * layer(x).abs().max()
    torch.testing.assert_close(small.weight + 0, layer.weight + 0, rtol=0, atol=0.1)
    assert small.weight.shape == (10, 12)


def test_copies_and_new_weights_are_not_answered_from_memory() -> None:
    layer, x = Int8Linear.of(torch.eye(4)), torch.randn(2, 4)
    before = layer(x)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(other(x), before)
    layer.load_state_dict(Int8Linear.of(2 * torch.eye(4)).state_dict(), assign=True)
    torch.testing.assert_close(layer(x), 2 * before)


def test_evening_out_changes_nothing_but_what_is_rounded() -> None:
    torch.manual_seed(0)
    layer = CompactLinear(12, 10, 6, 2)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    with torch.no_grad():
        layer.right *= torch.logspace(2, -2, 6).unsqueeze(1)
        layer.left *= torch.logspace(-2, 2, 6)
    model = nn.Sequential(layer)
    x = torch.randn(200, 12)
    even = evened(model, [{"input": x}])
    exact = model(x).detach()
    torch.testing.assert_close(even(x).detach(), exact, rtol=1e-4, atol=1e-3)
    assert (x @ even[0].right.T).abs().amax(0).tolist() == pytest.approx([1.0] * 6)

    def error(found: nn.Module) -> float:
        return float((int8_layer(found)(x).detach() - exact).norm() / exact.norm())

    assert error(even[0]) < 0.2 * error(layer)
    assert not layer._forward_pre_hooks
    assert not even[0]._forward_pre_hooks
