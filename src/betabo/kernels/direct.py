"""The weighted sum of squared Beta distances by its definition: exact for every bandwidth, two log-gammas a pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from betabo.kernels.special import beta_sq_distance

# Elements of an (n x m x coordinates) block that are worked on at a time.
_BLOCK = 2**18


def direct_sum(x1: Tensor, x2: Tensor, bandwidth: Tensor, weight: Tensor) -> Tensor:
    """The sum over coordinates for all pairs, in float64.

    Args:
        x1: Points, `... x n x d`.
        x2: Points, `... x m x d`.
        bandwidth: `... x 1 x d`.
        weight: `... x 1 x d`.

    Returns:
        `... x n x m`, with O(n m d) memory.
    """
    pairwise = beta_sq_distance(x1.double().unsqueeze(-2), x2.double().unsqueeze(-3), bandwidth.unsqueeze(-2))
    return (pairwise * weight.unsqueeze(-2)).sum(dim=-1)


class DirectForm(Function):
    """`direct_sum`, a few coordinates at a time, forward and backward, so that memory stays at O(n m)."""

    @staticmethod
    def forward(ctx: Any, x1: Tensor, x2: Tensor, bandwidth: Tensor, weight: Tensor) -> Tensor:  # noqa: D102
        ctx.save_for_backward(x1, x2, bandwidth, weight)
        total = sum(direct_sum(*block) for block in _blocks(x1, x2, bandwidth, weight))
        assert isinstance(total, Tensor)
        return total.to(x1.dtype)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:  # noqa: D102
        inputs, needed = ctx.saved_tensors, ctx.needs_input_grad
        grad = grad_outputs[0].double()
        if torch.is_grad_enabled():  # the gradient itself will be differentiated
            return _gradients(inputs, needed, grad, create_graph=True)
        blocks = []
        with torch.enable_grad():
            for block in _blocks(*inputs):
                leaves = [t.detach().requires_grad_(need) for t, need in zip(block, needed, strict=True)]
                blocks.append(_gradients(leaves, needed, grad))
        by_input = zip(*blocks, strict=True)
        return tuple(torch.cat(parts, dim=-1) if parts[0] is not None else None for parts in by_input)


def _blocks(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Split the coordinates of the four arguments so that a block of pairs stays small."""
    x1, x2 = tensors[:2]
    pairs = torch.broadcast_shapes(*(t.shape[:-2] for t in tensors)).numel() * x1.shape[-2] * x2.shape[-2]
    width = max(1, _BLOCK // max(1, pairs))
    yield from zip(*(t.split(width, dim=-1) for t in tensors), strict=True)


def _gradients(
    inputs: Sequence[Tensor], needed: Sequence[bool], grad: Tensor, create_graph: bool = False
) -> tuple[Tensor | None, ...]:
    wanted = [t for t, need in zip(inputs, needed, strict=True) if need]
    gradients = iter(torch.autograd.grad(direct_sum(*inputs), wanted, grad, create_graph=create_graph))
    return tuple(next(gradients) if need else None for need in needed)
