"""What a layer costs in seconds on the machine at hand, whole and at any ratio.

Two thin products are not always quicker than one: by the seconds a layer that is not stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from betabo.compress.allocation import Cost
from betabo.compress.counting import measure_latencies
from betabo.compress.int8 import int8_layer
from betabo.compress.layers import CompactLinear, rank_of, rows_of
from betabo.compress.plan import CompressionPlan, LayerInfo

RATIOS = (0.05, 0.15, 0.3, 0.5, 0.75)
"""Ratios at which a layer is timed; between them seconds are interpolated."""
_REPEATS = 40  # passes, each far shorter than one of the model


def layer_costs(
    model: nn.Module,
    plan: CompressionPlan,
    example: Mapping[str, Tensor],
    *,
    keep: float = 0.0,
    int8: bool = False,
    repeats: int = _REPEATS,
) -> Cost:
    """Time each kind of layer with inputs of the shape that it has in the model.

    Args:
        model: The model, uncompressed.
        plan: Its plan.
        example: Arguments of its `forward`.
        keep: Share of the rows that each layer keeps.
        int8: Whether the layers have eight bits.
        repeats: Passes of each.

    Returns:
        The seconds of a layer at a ratio; they never fall as the ratio rises.
    """
    shapes = _input_shapes(model, plan, example)
    like = next(model.parameters())
    known: dict[tuple[Any, ...], tuple[list[float], float]] = {}

    def kind(layer: LayerInfo) -> tuple[Any, ...]:
        return layer.outputs, layer.inputs, layer.bias, shapes[layer.name]

    for layer in plan.layers:
        if kind(layer) not in known:
            rows = rows_of(keep, layer.outputs)
            made: list[nn.Module] = [
                CompactLinear(
                    layer.inputs, layer.outputs, rank_of(ratio, layer.outputs, layer.inputs), rows, bias=layer.bias
                )
                for ratio in RATIOS
            ]
            made.append(nn.Linear(layer.inputs, layer.outputs, bias=layer.bias))
            steps = [_OneInput(int8_layer(module) if int8 else module).to(like.device, like.dtype) for module in made]
            x = torch.randn(shapes[layer.name], device=like.device, dtype=like.dtype)
            *compact, whole = (found.median for found in measure_latencies(steps, {"x": x}, repeats=repeats))
            known[kind(layer)] = np.maximum.accumulate(compact).tolist(), whole

    def seconds(layer: LayerInfo, ratio: float) -> float:
        compact, whole = known[kind(layer)]
        return whole if layer.stays(ratio, keep) else float(np.interp(ratio, RATIOS, compact))

    return seconds


class _OneInput(nn.Module):
    """A layer whose argument has a name that all have."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Any:
        return self.layer(x)


def _input_shapes(model: nn.Module, plan: CompressionPlan, example: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    """The shape of what comes into each layer; layers that nothing reaches get one vector."""
    found: dict[str, tuple[int, ...]] = {layer.name: (1, layer.inputs) for layer in plan.layers}

    def note(name: str, _module: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        found[name] = tuple(arguments[0].shape)

    hooks = [model.get_submodule(name).register_forward_pre_hook(partial(note, name)) for name in found]
    device = next(model.parameters()).device
    try:
        with torch.inference_mode():
            model(**{name: tensor.to(device) for name, tensor in example.items()})
    finally:
        for hook in hooks:
            hook.remove()
    return found
