from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from betabo.compress.plan import CompressionPlan, blocks_of
from betabo.compress.prefix import PrefixedLoss
from betabo.compress.tasks import LanguageModelling
from compress.models_case import make_llama, make_t5
from tiny_models import make_gpt2


class Copying(LanguageModelling):
    """A text that is to be written once more, for models of two stacks."""

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        return model(input_ids=batch["input_ids"], labels=batch["input_ids"]).loss


def batches_of(vocabulary: int) -> list[dict[str, Tensor]]:
    generator = torch.Generator().manual_seed(0)
    return [{"input_ids": torch.randint(0, vocabulary, (count, 9), generator=generator)} for count in (3, 2)]


@pytest.mark.parametrize(
    ("model", "task"),
    [(make_gpt2(), LanguageModelling()), (make_llama(), LanguageModelling()), (make_t5(), Copying())],
    ids=["gpt2", "llama", "t5"],
)
def test_blocks_that_are_skipped_are_not_computed_and_change_nothing(model: Any, task: LanguageModelling) -> None:
    blocks, batches = blocks_of(model), batches_of(64)
    loss = PrefixedLoss(model, task, blocks, batches)
    changed = CompressionPlan.of(model).layers[-1]
    layer = model.get_submodule(changed.name)
    computed: list[str] = []
    for layer_info in CompressionPlan.of(model).layers:
        module = model.get_submodule(layer_info.name)
        module.register_forward_pre_hook(lambda *_, name=layer_info.name: computed.append(name))
    last = len(blocks) - 1
    for count in (1, last):
        loss.skip(count)
        assert loss() == pytest.approx(loss.base, rel=1e-6)
    computed.clear()
    loss()
    assert {name.startswith(blocks[last]) for name in computed} == {True}
    with torch.no_grad():
        layer.weight.mul_(0.5)
    assert loss() == pytest.approx(PrefixedLoss(model, task, (), batches).base, rel=1e-6)
    assert loss() != pytest.approx(loss.base, rel=1e-6)
    assert all("forward" not in vars(module) for module in model.modules())


def test_a_model_that_reads_all_blocks_at_its_end_is_computed_as_a_whole() -> None:
    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.embedding = nn.Embedding(8, 4)
            self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(3))
            self.head = nn.Linear(4, 8)

        def forward(self, input_ids: Tensor, use_cache: bool) -> Any:
            states = [self.embedding(input_ids)]
            for block in self.blocks:
                states.append(block(states[-1]))
            self.logits = self.head(sum(states))
            return self

    model, batches = Reader(), batches_of(8)
    loss = PrefixedLoss(model, LanguageModelling(), blocks_of(model), batches)
    loss.skip(2)
    with torch.no_grad():
        model.blocks[0][0].weight.zero_()
    assert loss() == PrefixedLoss(model, LanguageModelling(), (), batches).base != loss.base
