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
    order = mask.sum(1).cpu().argsort(stable=True)
    return order, (shortened(split.subset(rows).tensors) for rows in order.split(size))


def shortened(batch: dict[str, Tensor]) -> dict[str, Tensor]:
    """A batch without the padding that all of its texts have on the right; one without `attention_mask` as it is."""
    mask = batch.get("attention_mask")
    if mask is None:
        return batch
    length = max(1, int(mask.sum(1).max()))
    return {
        name: tensor[:, :length] if tensor.ndim > 1 and tensor.shape[1] == mask.shape[1] else tensor
        for name, tensor in batch.items()
    }
