r"""Pruning the rows of $S$ while a model is trained.

The sensitivity of an entry is $|S_{ij} \, \partial \mathrm{loss} / \partial S_{ij}|$, and that of a row the mean of its
entries. It is averaged over the steps since the last look, smoothed over the looks, and the rows of the lowest scores
are set to zero. They are not frozen: their gradients go on, and a row may come back until the end.

The share of rows that is kept falls from one to its final value $p$ on a cubic schedule,

$$ p(t) = p + (1 - p) \left(1 - \frac{t - t_0}{T - t_0 - t_1}\right)^3, $$

with nothing pruned in the first $t_0$ steps and the final share throughout the last $t_1$.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from betabo.compress.layers import LoSparseLinear, rows_of
from betabo.compress.settings import Pruning


class RowPruner:
    """Scores and masks of the rows of all layers.

    `observe` is called after each step of the optimizer and does the same work on the device each time, so that it can
    be recorded with the step. `renew` is called where `Pruning.looks` says so, `finish` once at the end.

    Args:
        layers: The layers.
        settings: How to prune.
        steps: Number of steps of the training.
    """

    def __init__(self, layers: Sequence[LoSparseLinear], settings: Pruning, steps: int) -> None:
        self.settings, self.steps = settings, steps
        self._families = [_Family(same) for same in _by_outputs(layers)]

    @torch.no_grad()
    def observe(self) -> None:
        """Add the sensitivities of a step, and zero the rows that are pruned."""
        for family in self._families:
            family.observe()

    @torch.no_grad()
    def renew(self, step: int) -> None:
        """Choose the rows that are kept after `step` steps."""
        share = self.settings.share(step, self.steps)
        for family in self._families:
            family.smooth(self.settings.smoothing)
        if self.settings.scope == "layer":
            for family in self._families:
                family.keep_best(rows_of(share, family.outputs))
        else:
            scores = torch.cat([family.score.flatten() for family in self._families])
            kept = _best(scores, rows_of(share, len(scores)))
            for family, part in zip(
                self._families, kept.split([family.score.numel() for family in self._families]), strict=True
            ):
                family.mask.copy_(part.view_as(family.mask))

    @torch.no_grad()
    def finish(self) -> None:
        """Write the masks into the layers and zero what is pruned."""
        for family in self._families:
            family.finish()


def keep_largest(layers: Sequence[LoSparseLinear], pruning: Pruning) -> None:
    """Prune by the norms of the rows, for layers that are not trained."""
    if pruning.scope == "layer":
        for layer in layers:
            layer.keep_largest(rows_of(pruning.keep, len(layer.sparse)))
        return
    norms = torch.cat([layer.sparse.detach().norm(dim=1) for layer in layers])
    kept = torch.zeros_like(norms, dtype=torch.bool)
    kept[norms.topk(rows_of(pruning.keep, len(norms))).indices] = True
    with torch.no_grad():
        for layer, part in zip(layers, kept.split([len(layer.sparse) for layer in layers]), strict=True):
            layer.kept.copy_(part)
            layer.sparse[~part] = 0


class _Family:
    """The layers with the same number of outputs, whose scores and masks are rows of one matrix."""

    def __init__(self, layers: Sequence[LoSparseLinear]) -> None:
        self.layers = layers
        self.outputs = len(layers[0].sparse)
        like = layers[0].sparse
        self.window = torch.zeros(len(layers), self.outputs, device=like.device)
        self.count = torch.zeros((), device=like.device)
        self.score = torch.zeros_like(self.window)
        self.mask = torch.ones_like(self.window)

    def observe(self) -> None:
        for layer, window, mask in zip(self.layers, self.window, self.mask, strict=True):
            if layer.sparse.grad is not None:
                window += (layer.sparse * layer.sparse.grad).abs_().mean(1)
            layer.sparse.mul_(mask.unsqueeze(-1))
        self.count += 1

    def smooth(self, past: float) -> None:
        self.score.mul_(past).add_(self.window / self.count.clamp(min=1), alpha=1 - past)
        self.window.zero_()
        self.count.zero_()

    def keep_best(self, rows: int) -> None:
        self.mask.copy_(_best(self.score, rows))

    def finish(self) -> None:
        for layer, mask in zip(self.layers, self.mask, strict=True):
            layer.kept.copy_(mask.bool())
            layer.sparse.mul_(mask.unsqueeze(-1))


def _best(scores: Tensor, count: int) -> Tensor:
    """Ones at the `count` largest of the last dimension, zeros elsewhere."""
    return torch.zeros_like(scores).scatter_(-1, scores.topk(count, dim=-1).indices, 1.0)


def _by_outputs(layers: Sequence[LoSparseLinear]) -> list[list[LoSparseLinear]]:
    found: dict[int, list[LoSparseLinear]] = {}
    for layer in layers:
        found.setdefault(len(layer.sparse), []).append(layer)
    return list(found.values())
