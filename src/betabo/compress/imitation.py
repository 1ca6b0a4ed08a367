"""How far a model's answers are from those of another: what is measured, and trained for, instead of labels.

A label says of a wrong answer that was wrong before that it costs nothing, and of a changed one that became right by
chance that it is a gain. The divergence from the answers of the original is never negative, and says of every example
how much a compression changed it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, kl_div, log_softmax

from betabo.compress.batches import short_batches, whole_batches

if TYPE_CHECKING:
    from betabo.compress.tasks import Batch, Split, Task

DIVERGENCE = "the divergence from the original's answers"
"""What the loss of an `Imitation` is, for reports."""

_REFERENCE = "reference"
_BATCH = 128


class Imitation:
    """A task whose loss is the divergence from the answers of another model, which its examples have beside them.

    Args:
        task: The task; examples come from `with_reference`.
    """

    def __init__(self, task: Task) -> None:
        self._task = task

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The mean divergence of the answers, those of an example that has several added up."""
        found = self._task.answers(model, batch)
        return sum(
            (
                kl_div(
                    log_softmax(logits.float(), -1).flatten(0, -2),
                    log_softmax(_reference(batch, number), -1).flatten(0, -2),
                    log_target=True,
                    reduction="batchmean",
                )
                for number, logits in enumerate(found)
            ),
            start=torch.zeros((), device=found[0].device),
        )

    def augment(self, batch: Batch) -> Batch:
        """The batch as it is, since the answers belong to it."""
        return batch


def drawn_loss(answers: Sequence[Tensor], generator: torch.Generator) -> Tensor:
    """The cross-entropy with answers that are drawn from a model's own, added up.

    The second moment of its gradient is the Fisher information: the curvature of the divergence from the model.

    Args:
        answers: Logits, the choices in the last dimension, see `Task.answers`.
        generator: Where chance comes from, on the CPU.
    """
    total = torch.zeros((), device=answers[0].device)
    for logits in answers:
        flat = logits.float().flatten(0, -2)
        chances = flat.detach().softmax(-1)
        drawn = torch.multinomial(chances.cpu(), 1, generator=generator).squeeze(-1).to(flat.device)
        total = total + cross_entropy(flat, drawn, reduction="sum")
    return total


@torch.no_grad()
def with_reference(model: nn.Module, task: Task, split: Split) -> Split:
    """Examples with the answers of a model beside them, where the model is, in the mode that it is in."""
    placed = split.to(next(model.parameters()).device)
    of_tokens = task.kind == "question-answering"  # as many logits as tokens, so that padding stays
    order, batches = whole_batches(placed, _BATCH) if of_tokens else short_batches(placed, _BATCH)
    found = [[logits.float() for logits in task.answers(model, batch)] for batch in batches]
    back = order.argsort().to(found[0][0].device)
    joined = {f"{_REFERENCE}{number}": torch.cat(parts)[back] for number, parts in enumerate(zip(*found, strict=True))}
    return replace(placed, tensors={**placed.tensors, **joined})


def _reference(batch: Mapping[str, Tensor], number: int) -> Tensor:
    return batch[f"{_REFERENCE}{number}"]
