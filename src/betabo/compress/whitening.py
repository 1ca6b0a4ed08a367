r"""Decompositions that are the best for what comes out of a layer, rather than for its weight.

With the second moment $C = E[x x^\top]$ of a layer's inputs and its Cholesky factor, $C = A A^\top$, the mean squared
error of the outputs of another weight $V$ is $\|(W - V) A\|^2$. So the best $V$ of rank $r$ is the truncated singular
value decomposition of $W A$, times $A^{-1}$.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import torch
from torch import Tensor, nn

from betabo.compress.layers import Factors, weight_of
from betabo.compress.plan import CompressionPlan

DAMPING = 0.01
"""Share of the mean of the diagonal that is added to it: inputs that hardly vary among the examples may vary later."""


@torch.no_grad()
def input_moments(
    model: nn.Module, plan: CompressionPlan, batches: Iterable[Mapping[str, Tensor]]
) -> dict[str, Tensor]:
    """The second moment of the inputs of each layer of a plan, added up batch by batch.

    Products are in float32, their sums in float64. Where a batch has an `attention_mask`, the vectors of padding are
    left out. The model is used in the mode that it is in.

    Args:
        model: The model, uncompressed.
        plan: Its plan.
        batches: Arguments of its `forward`, where the model is.

    Returns:
        The mean of x x^T by name of the layer, inputs x inputs, float64. Layers that no vector reached are left out.
    """
    sums: dict[str, Tensor] = {}
    counts = dict.fromkeys((layer.name for layer in plan.layers), 0)
    mask: Tensor | None = None

    def add(name: str, _module: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        x = arguments[0]
        vectors = x[mask] if mask is not None and x.shape[:-1] == mask.shape else x.flatten(0, -2)
        vectors = vectors.float()
        product = (vectors.T @ vectors).double()
        sums[name] = sums[name].add_(product) if name in sums else product
        counts[name] += len(vectors)

    hooks = [model.get_submodule(name).register_forward_pre_hook(partial(add, name)) for name in counts]
    try:
        for batch in batches:
            mask = batch["attention_mask"].bool() if "attention_mask" in batch else None
            model(**batch)
    finally:
        for hook in hooks:
            hook.remove()
    return {name: sums[name] / count for name, count in counts.items() if count}


def whitened_factors(weight: Tensor, moment: Tensor, damping: float = DAMPING) -> Factors:
    """The factors of a weight whose first r columns and rows make the best outputs of rank r.

    Args:
        weight: outputs x inputs.
        moment: Second moment of its inputs, inputs x inputs.
        damping: Share of the mean of the diagonal that is added to the diagonal, above 0.
    """
    scale = moment.diagonal().mean()
    if not scale > 0:
        return Factors.of(weight)
    eye = torch.eye(len(moment), dtype=torch.float64, device=moment.device)
    root = torch.linalg.cholesky(moment.double() / scale + damping * eye)
    u, s, vh = torch.linalg.svd(weight.detach().double() @ root, full_matrices=False)
    left = u * s.sqrt()
    right = torch.linalg.solve_triangular(root, s.sqrt().unsqueeze(-1) * vh, upper=False, left=False)
    return Factors(left.to(weight.dtype), right.to(weight.dtype), (root * scale.sqrt()).to(weight.dtype))


def factors_of(
    model: nn.Module, plan: CompressionPlan, batches: Iterable[Mapping[str, Tensor]] | None = None
) -> dict[str, Factors]:
    """The factors of each layer of a plan by name: whitened by examples, or plain without any."""
    moments = {} if batches is None else input_moments(model, plan, batches)
    weights = {layer.name: weight_of(model.get_submodule(layer.name)) for layer in plan.layers}
    return {
        name: whitened_factors(weight, moments[name]) if name in moments else Factors.of(weight)
        for name, weight in weights.items()
    }
