from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from betabo.compress import counting
from betabo.compress.counting import (
    Latency,
    SizeComparison,
    Sizes,
    compare,
    count_flops,
    count_parameters,
    measure_latencies,
    measure_latency,
)
from betabo.compress.layers import CompactLinear, LoSparseLinear
from betabo.compress.plan import CompressionPlan
from betabo.compress.without_training import compress_model
from compress.models_case import make_t5

ARCHITECTURES = ["tiny_vit", "tiny_bert", "tiny_gpt2", "tiny_deberta"]


class _OfOne(nn.Module):
    """One layer, with a named argument."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.layer(x)
        return output


def example_of(model: Any, batch: int = 2, length: int = 6) -> dict[str, Tensor]:
    config = model.config
    if hasattr(config, "image_size"):
        return {"pixel_values": torch.randn(batch, config.num_channels, config.image_size, config.image_size)}
    ids = torch.randint(1, config.vocab_size, (batch, length))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def _conv1d(outputs: int, inputs: int) -> nn.Module:
    from transformers.pytorch_utils import Conv1D

    return Conv1D(outputs, inputs)


@pytest.mark.parametrize(
    ("make", "multiplications"),
    [
        pytest.param(lambda: nn.Linear(12, 8), 12 * 8, id="linear"),
        pytest.param(lambda: nn.Linear(12, 8, bias=False), 12 * 8, id="no-bias"),
        pytest.param(lambda: _conv1d(8, 12), 12 * 8, id="conv1d"),
        pytest.param(lambda: CompactLinear(12, 8, 2, 3), 2 * 20 + 3 * 12, id="compact"),
        pytest.param(lambda: CompactLinear(12, 8, 2, 0), 2 * 20, id="compact-no-rows"),
    ],
)
def test_flops_of_a_layer_are_two_for_each_weight_and_vector(
    make: Callable[[], nn.Module], multiplications: int
) -> None:
    assert count_flops(_OfOne(make()), {"x": torch.randn(5, 7, 12)}) == 2 * 35 * multiplications


def test_flops_of_a_layer_in_training_include_the_product_of_its_factors() -> None:
    layer = LoSparseLinear.from_linear(nn.Linear(12, 8), 0.5)  # of 96 weights at 20 a rank: rank 3
    factors, weights = 8 * 3 * 12, 12 * 8
    assert count_flops(_OfOne(layer), {"x": torch.randn(5, 7, 12)}) == 2 * factors + 2 * 35 * weights


def test_flops_of_gpt2_include_attention(tiny_gpt2: Any) -> None:
    width, blocks, words, length = 32, tiny_gpt2.config.n_layer, tiny_gpt2.config.vocab_size, 6
    linears = length * (3 + 1 + 4 + 4) * width * width
    attention = 2 * length * length * width
    expected = 2 * (blocks * (linears + attention) + length * width * words)
    assert count_flops(tiny_gpt2, example_of(tiny_gpt2, batch=1, length=length)) == expected


def test_flops_of_an_encoder_of_pytorch_are_not_lost_in_its_fused_kernel() -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 24, batch_first=True)
    length, products = 5, 4 * 16 * 16 + 2 * 16 * 24
    expected = 2 * (length * products + 2 * length * length * 16)
    assert count_flops(layer.eval(), {"src": torch.randn(1, length, 16)}) == expected
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_flops_fall_by_what_the_layers_lose_for_each_vector(architecture: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(architecture)
    plan, example = CompressionPlan.of(model), example_of(model)
    small = compress_model(model, np.linspace(0.05, 0.95, plan.dims), keep=0.2)
    vectors: dict[str, int] = dict.fromkeys((layer.name for layer in plan.layers), 0)
    for name in vectors:

        def count(_module: nn.Module, inputs: tuple[Tensor, ...], name: str = name) -> None:
            vectors[name] += inputs[0].numel() // inputs[0].shape[-1]

        model.get_submodule(name).register_forward_pre_hook(count)
    before = count_flops(model, example)
    forms = small.compression.layers
    lost = sum(2 * vectors[layer.name] * (layer.parameters - forms[layer.name].parameters) for layer in plan.layers)
    assert count_flops(small, example) == before - lost


def test_flops_of_a_model_that_asks_a_layer_for_its_dtype_are_no_more() -> None:
    model = make_t5()
    tokens = torch.arange(12).view(1, 12)
    example = {"input_ids": tokens, "decoder_input_ids": tokens}
    plan = CompressionPlan.of(model)
    small = compress_model(model, 0.2, keep=0.0)
    lost = sum(2 * 12 * (layer.parameters - small.compression.layers[layer.name].parameters) for layer in plan.layers)
    assert count_flops(small, example) == count_flops(model, example) - lost


def test_counting_leaves_no_trace(tiny_bert: Any) -> None:
    tiny_bert.train()
    tiny_bert.classifier.eval()
    modes = [module.training for module in tiny_bert.modules()]
    example = example_of(tiny_bert)
    count_flops(tiny_bert, example)
    with pytest.raises(ValueError, match="input_ids"):
        count_flops(tiny_bert, {"nonsense": torch.ones(1)})
    assert [module.training for module in tiny_bert.modules()] == modes
    assert not any(module._forward_pre_hooks for module in tiny_bert.modules())
    assert torch.is_grad_enabled()


def test_shared_parameters_count_once(tiny_gpt2: Any) -> None:
    separate = sum(p.numel() for _, p in tiny_gpt2.named_parameters(remove_duplicate=False))
    head = tiny_gpt2.lm_head.weight.numel()
    assert count_parameters(tiny_gpt2) == separate - head
    assert count_parameters(tiny_gpt2, ["lm_head", "transformer.wte"]) == head


def test_latency_is_summed_up_by_its_deciles(monkeypatch: pytest.MonkeyPatch) -> None:
    durations = [9.0, 9.0, *[0.5, 0.1, 0.4, 0.2, 0.3, 0.8]]  # the first two are the warm-up
    clock = {"now": 0.0}

    class Slow(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            assert torch.is_inference_mode_enabled()
            assert not self.training
            clock["now"] += durations.pop(0)
            return x

    monkeypatch.setattr(counting, "perf_counter", lambda: clock["now"])
    model = Slow().train()
    latency = measure_latency(model, {"x": torch.ones(1)}, repeats=6, warmup=2)
    timed = [0.5, 0.1, 0.4, 0.2, 0.3, 0.8]
    np.testing.assert_allclose([latency.low, latency.median, latency.high], np.quantile(timed, [0.1, 0.5, 0.9]))
    assert durations == []
    assert model.training


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_gpu_is_timed_and_counts_the_same(tiny_bert: Any) -> None:
    example = example_of(tiny_bert)
    flops = count_flops(tiny_bert, example)
    tiny_bert.cuda()
    latency = measure_latency(tiny_bert, example, repeats=5, device="cuda")
    assert 0 < latency.low <= latency.median <= latency.high < 10
    assert count_flops(tiny_bert, example) == flops


def test_bad_settings_of_a_measurement_are_named() -> None:
    model, example = _OfOne(nn.Linear(2, 2)), {"x": torch.ones(1, 2)}
    with pytest.raises(ValueError, match="repeats is 1"):
        measure_latency(model, example, repeats=1)
    with pytest.raises(ValueError, match="warmup is -1"):
        measure_latency(model, example, warmup=-1)
    with pytest.raises(ValueError, match="the model is on cpu, not on cuda"):
        measure_latency(model, example, device="cuda")


def test_comparison_is_a_table_of_what_is_left() -> None:
    comparison = SizeComparison(
        Sizes(100, 200, 1000, Latency(2.0, 1.0, 3.0)),
        Sizes(20, 120, 250, Latency(1.0, 0.5, 1.5)),
    )
    assert comparison.rows() == [
        ("parameters of the compressed layers", 100, 20, 0.2),
        ("parameters of the model", 200, 120, 0.6),
        ("FLOPs", 1000, 250, 0.25),
        ("latency", 2.0, 1.0, 0.5),
    ]
    assert len(SizeComparison(Sizes(1, 1, 1), Sizes(1, 1, 1)).rows()) == 3


def test_compare_measures_both_models(tiny_vit: Any) -> None:
    plan = CompressionPlan.of(tiny_vit)
    small = compress_model(tiny_vit, 0.2, keep=0.1)
    comparison = compare(tiny_vit, small, plan, example_of(tiny_vit), repeats=2)
    assert comparison.before.layer_parameters == plan.parameters
    assert comparison.after.layer_parameters == plan.size(0.2, 0.1)
    saved = plan.parameters - plan.size(0.2, 0.1)
    assert comparison.before.parameters - comparison.after.parameters == saved
    assert comparison.after.flops < comparison.before.flops
    assert comparison.after.latency is not None
    assert 0 < comparison.after.latency.low <= comparison.after.latency.median <= comparison.after.latency.high


def test_models_take_turns_and_leave_no_trace() -> None:
    order: list[str] = []

    class Named(nn.Module):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name, self.weight = name, nn.Parameter(torch.zeros(1))

        def forward(self, x: Tensor) -> Tensor:
            order.append(self.name)
            assert not torch.is_grad_enabled()
            return x

    models = [Named("a"), Named("b").train()]
    found = measure_latencies(models, {"x": torch.ones(1)}, repeats=3, warmup=1)
    assert order == ["a", "b"] * 4
    assert len(found) == 2
    assert torch.is_grad_enabled()
    assert [model.training for model in models] == [True, True]
