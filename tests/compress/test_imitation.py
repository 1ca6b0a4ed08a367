from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Categorical, kl_divergence

from betabo.compress.imitation import Imitation, drawn_loss, with_reference
from betabo.compress.tasks import QuestionAnswering, Split
from compress.size_case import trained_problem


class Spans(nn.Module):
    """A model that reads answers from a table, by the first token."""

    def __init__(self) -> None:
        super().__init__()
        self.starts, self.ends = (nn.Parameter(torch.randn(6, 4)) for _ in range(2))

    def forward(self, input_ids: Tensor, **_: Any) -> SimpleNamespace:
        first = input_ids[:, 0]
        return SimpleNamespace(start_logits=self.starts[first], end_logits=self.ends[first])


def spans() -> Split:
    torch.manual_seed(0)
    return Split({"input_ids": torch.randint(0, 6, (300, 4))})


def test_the_divergence_is_that_of_all_answers_of_an_example() -> None:
    torch.manual_seed(0)
    task, original, other = QuestionAnswering(), Spans(), Spans()
    split = with_reference(original, task, spans())
    found = Imitation(task).loss(other, split.tensors)
    first = split.tensors["input_ids"][:, 0]
    expected = sum(
        kl_divergence(Categorical(logits=before[first]), Categorical(logits=after[first])).mean()
        for before, after in ((original.starts, other.starts), (original.ends, other.ends))
    )
    torch.testing.assert_close(found, expected)
    assert Imitation(task).loss(original, split.tensors).item() == pytest.approx(0.0, abs=1e-6)
    found.backward()
    assert other.starts.grad is not None
    assert original.starts.grad is None


def test_references_stay_beside_their_examples() -> None:
    problem = trained_problem()
    goal = Imitation(problem.task)
    split = with_reference(problem.model, problem.task, problem.data.train)
    assert not any(tensor.requires_grad for tensor in split.tensors.values())
    label = problem.data.train.tensors["label"]
    some = split.subset([int(label.argmin()), 100, int(label.argmax())])  # the first and the last differ
    assert goal.loss(problem.model, some.tensors).item() == pytest.approx(0.0, abs=1e-6)
    mixed = {name: some.tensors[name].flip(0) for name in ("input_ids", "attention_mask")}
    assert goal.loss(problem.model, {**some.tensors, **mixed}).item() > 1.0


def test_answers_are_drawn_as_often_as_the_model_gives_them() -> None:
    """Its mean over many draws is the entropy of the answers, and the mean gradient is zero."""

    logits, count = torch.tensor([0.0, 1.0, -1.0], requires_grad=True), 200_000
    loss = drawn_loss([logits.expand(count, -1)], torch.Generator().manual_seed(0))
    entropy = Categorical(logits=logits).entropy().item()
    assert loss.item() / count == pytest.approx(entropy, abs=0.01)
    loss.backward()
    assert logits.grad is not None
    assert (logits.grad / count).abs().max().item() < 0.01
