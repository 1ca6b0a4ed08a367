r"""Decompositions that are the best for what comes out of a model, rather than for its weights.

With the second moment $C = E[x x^\top]$ of a layer's inputs and its Cholesky factor, $C = A A^\top$, the mean squared
error of the outputs of another weight $V$ is $\|(W - V) A\|^2$. So the best $V$ of rank $r$ is the truncated singular
value decomposition of $W A$, times $A^{-1}$.

Not all outputs matter alike. With $G = E[g g^\top] = B B^\top$, the second moment of the gradients by the outputs of
the likelihood of answers that are drawn from the model itself, $\|B^\top (W - V) A\|^2$ is, but for a factor and with
inputs and gradients taken to be independent, how far the answers move: their divergence to second order, with the
Fisher information in the form of a Kronecker product. Its best $V$ comes from $B^\top W A$ in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn

from betabo.compress.layers import Factors, weight_of
from betabo.compress.plan import CompressionPlan

DAMPING = 0.01
"""Share of the mean of the diagonal that is added to it: inputs that hardly vary among the examples may vary later."""

GRADIENT_DAMPING = 0.1
"""The same for gradients, of which a few hundred examples say less."""


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
        vectors = _vectors(arguments[0], mask)
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


def gradient_moments(
    model: nn.Module,
    plan: CompressionPlan,
    batches: Iterable[Mapping[str, Tensor]],
    loss: Callable[[dict[str, Tensor]], Tensor],
) -> dict[str, Tensor]:
    """The second moment of the gradients of a loss by the outputs of each layer of a plan, added up batch by batch.

    Args:
        model: The model, uncompressed.
        plan: Its plan.
        batches: Examples, where the model is.
        loss: The loss of a batch, the sum over its examples.

    Returns:
        The mean of g g^T by name of the layer, outputs x outputs, float64, without layers that no gradient reached.
    """
    sums: dict[str, Tensor] = {}
    counts = dict.fromkeys((layer.name for layer in plan.layers), 0)
    mask: Tensor | None = None

    def add(name: str, gradient: Tensor) -> None:
        vectors = _vectors(gradient, mask)
        product = (vectors.T @ vectors).double()
        sums[name] = sums[name].add_(product) if name in sums else product
        counts[name] += len(vectors)

    def watch(name: str, _module: nn.Module, _arguments: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        if not torch.is_grad_enabled():
            return None
        tracked = output if output.requires_grad else output.detach().requires_grad_().clone()
        tracked.register_hook(partial(add, name))
        return tracked

    hooks = [model.get_submodule(name).register_forward_hook(partial(watch, name)) for name in counts]
    try:
        with _frozen(model):
            for batch in batches:
                mask = batch["attention_mask"].bool() if "attention_mask" in batch else None
                with torch.enable_grad():
                    torch.autograd.backward(loss(dict(batch)))
    finally:
        for hook in hooks:
            hook.remove()
    return {name: sums[name] / count for name, count in counts.items() if count}


@contextmanager
def _frozen(model: nn.Module) -> Iterator[None]:
    """Without gradients of the parameters, which would take as much memory again."""
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    try:
        for parameter in learned:
            parameter.requires_grad_(False)
        yield
    finally:
        for parameter in learned:
            parameter.requires_grad_(True)


def _vectors(x: Tensor, mask: Tensor | None) -> Tensor:
    """The vectors of a layer's inputs or outputs, without those of padding, in float32."""
    vectors = x[mask] if mask is not None and x.shape[:-1] == mask.shape else x.flatten(0, -2)
    return vectors.float()


def whitened_factors(
    weight: Tensor,
    moment: Tensor,
    gradients: Tensor | None = None,
    damping: float = DAMPING,
    gradient_damping: float = GRADIENT_DAMPING,
) -> Factors:
    """The factors of a weight whose first r columns and rows make the best outputs of rank r.

    Args:
        weight: outputs x inputs.
        moment: Second moment of its inputs, inputs x inputs.
        gradients: Second moment of the gradients by its outputs, outputs x outputs: directions of the output that the
            answers do not depend on count less. None where all count alike.
        damping: Share of the mean of the diagonal that is added to the diagonal, above 0.
        gradient_damping: The same of `gradients`.
    """
    root = _root(moment, damping)
    if root is None:
        return Factors.of(weight)
    left_root = None if gradients is None else _root(gradients, gradient_damping)
    exact = weight.detach().double()
    u, s, vh = torch.linalg.svd((exact if left_root is None else left_root.T @ exact) @ root, full_matrices=False)
    left = u * s
    if left_root is not None:
        left = torch.linalg.solve_triangular(left_root.T, left, upper=True)
    right = torch.linalg.solve_triangular(root, vh, upper=False, left=False)
    balance = (right.norm(dim=1) / left.norm(dim=0).clamp(min=torch.finfo(torch.float64).tiny)).sqrt()
    left, right = left * balance, right / balance.unsqueeze(-1)  # of equal length, which trains best
    return Factors(left.to(weight.dtype), right.to(weight.dtype), root.to(weight.dtype))


def _root(moment: Tensor, damping: float) -> Tensor | None:
    """The lower Cholesky factor of a damped moment; None if there is nothing in it."""
    scale = moment.diagonal().mean()
    if not scale > 0:
        return None
    eye = torch.eye(len(moment), dtype=torch.float64, device=moment.device)
    root: Tensor = torch.linalg.cholesky(moment.double() / scale + damping * eye) * scale.sqrt()
    return root


def factors_of(
    model: nn.Module,
    plan: CompressionPlan,
    batches: Iterable[Mapping[str, Tensor]] | None = None,
    gradients: Mapping[str, Tensor] | None = None,
) -> dict[str, Factors]:
    """The factors of each layer of a plan by name: whitened by examples, or plain without any.

    Args:
        model: The model.
        plan: Its plan.
        batches: See `input_moments`.
        gradients: What `gradient_moments` gave, to weigh directions of the outputs.
    """
    moments = {} if batches is None else input_moments(model, plan, batches)
    known = gradients or {}
    weights = {layer.name: weight_of(model.get_submodule(layer.name)) for layer in plan.layers}
    return {
        name: whitened_factors(weight, moments[name], known.get(name)) if name in moments else Factors.of(weight)
        for name, weight in weights.items()
    }
