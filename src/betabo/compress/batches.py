"""Examples in batches: as they are, or texts of similar length together, without the padding that all of them have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import Tensor

if TYPE_CHECKING:
    from betabo.compress.tasks import Split

Batches: TypeAlias = Iterator[dict[str, Tensor]]


def whole_batches(split: Split, size: int) -> tuple[Tensor, Batches]:
    """The numbers of the examples in the order of the batches, and the batches."""
    order = torch.arange(len(split))
    return order, (
        {name: tensor[start : start + size] for name, tensor in split.tensors.items()}
        for start in range(0, len(split), size)
    )


def short_batches(split: Split, size: int) -> tuple[Tensor, Batches]:
    """As `whole_batches`, but sorted by length, and each as long as its longest text.

    Padding must be on the right, as it is in all tasks here. Examples without an `attention_mask` stay as they are.
    """
    mask = split.tensors.get("attention_mask")
    if mask is None:
        return whole_batches(split, size)
    lengths = mask.sum(1).cpu()
    order = lengths.argsort(stable=True)
    return order, (_shortened(split, rows, int(lengths[rows].max()), mask.shape[1]) for rows in order.split(size))


def _shortened(split: Split, rows: Tensor, length: int, longest: int) -> dict[str, Tensor]:
    """Some examples, of which everything that has a place for each token is cut."""
    return {
        name: tensor[:, :length] if tensor.ndim > 1 and tensor.shape[1] == longest else tensor
        for name, tensor in split.subset(rows).tensors.items()
    }
