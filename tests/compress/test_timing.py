from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from betabo.compress import timing
from betabo.compress.int8 import Int8CompactLinear, Int8Linear
from betabo.compress.layers import CompactLinear
from betabo.compress.plan import CompressionPlan
from compress.models_case import make_llama
from tiny_models import make_bert

EXAMPLE = {"input_ids": torch.arange(7).view(1, 7)}


def test_layers_of_one_kind_are_timed_once_with_inputs_of_their_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_bert()
    seen: list[tuple[list[Any], torch.Size]] = []

    def latencies(models: list[Any], example: dict[str, Any], **_: Any) -> list[Any]:
        layers = [step.layer for step in models]
        seen.append((layers, example["x"].shape))
        assert all(step(**example).shape[:-1] == example["x"].shape[:-1] for step in models)
        seconds = [5.0, 4.0, 6.0, 7.0, 8.0, 6.5]  # the second is luck
        return [SimpleNamespace(median=value) for value in seconds]

    monkeypatch.setattr(timing, "measure_latencies", latencies)
    plan = CompressionPlan.of(model)
    cost = timing.layer_costs(model, plan, EXAMPLE, keep=0.1)
    assert [shape for _, shape in seen] == [(1, 7, 32), (1, 7, 32), (1, 7, 64)]  # attention, FC1, FC2
    for layers, _ in seen:
        assert all(isinstance(layer, CompactLinear) and layer.rows for layer in layers[:-1])
        assert type(layers[-1]) is nn.Linear
    layer = plan.layers[0]
    assert cost(layer, 0.05) == cost(layer, 0.15) == 5.0  # never less for more
    assert cost(layer, 0.225) == pytest.approx(5.5)
    assert cost(layer, 1.0) == 6.5
    assert cost(layer, 0.95) == 6.5  # which stays as it is


def test_eight_bits_are_timed_as_such_and_real_times_are_positive(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_llama()
    plan = CompressionPlan.of(model)
    cost = timing.layer_costs(model, plan, EXAMPLE, repeats=3)
    assert all(cost(layer, ratio) > 0 for layer in plan.layers for ratio in (0.05, 0.4, 1.0))
    kinds: set[type] = set()

    def latencies(models: list[Any], *_: Any, **__: Any) -> list[Any]:
        kinds.update(type(step.layer) for step in models)
        return [SimpleNamespace(median=1.0)] * len(models)

    monkeypatch.setattr(timing, "measure_latencies", latencies)
    timing.layer_costs(model, plan, EXAMPLE, int8=True)
    assert kinds == {Int8Linear, Int8CompactLinear}
