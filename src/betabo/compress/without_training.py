"""Compression in one step, without training."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn

from betabo.compress.imitation import drawn_loss
from betabo.compress.int8 import int8_layer
from betabo.compress.layers import Factors, LoSparseLinear, rows_of
from betabo.compress.plan import CompressionPlan, LayerInfo, Ratios
from betabo.compress.settings import Group
from betabo.compress.store import CompressedModel, as_compressed
from betabo.compress.structure import Structure
from betabo.compress.whitening import factors_of, gradient_moments

Model = TypeVar("Model", bound=nn.Module)


def compress_model(
    model: Model,
    ranks: Ratios,
    *,
    keep: float = 0.1,
    group: Group = "layer",
    plan: CompressionPlan | None = None,
    calibration: Iterable[Mapping[str, Tensor]] | None = None,
    logits: Callable[[Any], Tensor] | None = None,
) -> Model:
    """A compressed copy of a model: low rank plus a few rows in each layer, nothing masked, nothing trained.

    The low-rank part of a layer is the best one in the sense of least squares: of the weight, or, with examples to
    calibrate on, of what comes out of the layer for them. Of what it leaves out, the rows of the largest norm are kept,
    or those that give the largest outputs.
    A layer that would not become smaller stays as it is, as does one of ratio 1.

    Args:
        model: Any Hugging Face or PyTorch model; it is not changed.
        ranks: Parameter ratios of the low-rank parts, in (0, 1]: one for all layers, one for each coordinate, or by
            name of coordinates or layers; what is not named stays as it is.
        keep: Share of the rows that is kept beside the low-rank part, in [0, 1].
        group: What a coordinate stands for: each layer, or each block.
        plan: The plan of the model where it is known; `group` is the plan's then.
        calibration: Batches of some hundred examples, each the arguments of the model's `forward`, where the model is.
            They make a great difference.
        logits: Takes the logits out of what the model returns, such as `lambda output: output.logits`, the choices in
            the last dimension. With it, outputs of layers count by how much the answers for the examples depend on
            them, which makes as great a difference again. The model is used in the mode that it is in.

    Returns:
        A model of the same class, with `save_pretrained(folder)`, which `load_compressed` reads, and with its
        `Structure` as `compression`.

    Raises:
        ValueError: A ratio or `keep` is out of range, there is nothing to compress, or `logits` comes without
            examples.

    Example:
        >>> blocks = [nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(3)]
        >>> small = compress_model(nn.Sequential(*blocks), 0.2, keep=0.0)
        >>> small.compression.parameters
        2880
    """
    if isinstance(model, CompressedModel):
        raise ValueError(f"this {type(model).__name__} is compressed already; compress the original instead.")
    if not 0 <= keep <= 1:
        raise ValueError(f"keep is {keep!r}, expected a share of the rows from 0 to 1.")
    if logits is not None and calibration is None:
        raise ValueError("logits are given without examples; give some as calibration.")
    plan = CompressionPlan.of(model, group) if plan is None else plan
    batches = None if calibration is None else list(calibration)
    gradients = None if logits is None or batches is None else _gradients(model, plan, batches, logits)
    return truncate(model, plan, plan.ratios(ranks), keep, factors_of(model, plan, batches, gradients))


def _gradients(
    model: nn.Module,
    plan: CompressionPlan,
    batches: Iterable[Mapping[str, Tensor]],
    logits: Callable[[Any], Tensor],
) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)

    def loss(batch: dict[str, Tensor]) -> Tensor:
        return drawn_loss([logits(model(**batch))], generator)

    return gradient_moments(model, plan, batches, loss)


def truncate(
    model: Model, plan: CompressionPlan, ratios: Mapping[str, float], keep: float, factors: Mapping[str, Factors]
) -> Model:
    """A compressed copy of a model, from the ratio and the factors of each layer by its name."""
    made = copy.deepcopy(model)
    for layer in plan.layers:
        module = made.get_submodule(layer.name)
        made.set_submodule(layer.name, truncated_layer(module, layer, ratios[layer.name], keep, factors[layer.name]))
    return as_compressed(made, Structure.of(made, plan, ratios, keep))


def truncated_layer(module: nn.Module, layer: LayerInfo, ratio: float, keep: float, factors: Factors) -> nn.Module:
    """A layer of low rank and a few rows; the layer itself where that would be no smaller."""
    if layer.stays(ratio, keep):
        return module
    parts = LoSparseLinear.from_linear(module, ratio, factors)
    parts.keep_largest(rows_of(keep, layer.outputs), factors.root)
    return parts.materialise().train(module.training)


def eight_bits(model: CompressedModel) -> CompressedModel:
    """A copy of a compressed model in which the layers of its plan have weights of eight bits.

    Raises:
        ValueError: They have eight bits already.
    """
    if model.compression.bits != 32:
        raise ValueError(f"the layers of this {type(model).__name__} have {model.compression.bits} bits already.")
    made: nn.Module = copy.deepcopy(model)
    for name in model.compression.layers:
        made.set_submodule(name, int8_layer(made.get_submodule(name)))
    return cast(CompressedModel, as_compressed(made, replace(model.compression, bits=8)))
