from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from betabo.compress.layers import CompactLinear
from betabo.compress.plan import CompressionPlan
from betabo.compress.without_training import compress_model
from compress.size_case import trained_problem

ARCHITECTURES = ["tiny_vit", "tiny_bert", "tiny_gpt2", "tiny_deberta"]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(12, 20), nn.Linear(20, 12, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(self.up(x).relu())


class Plain(nn.Module):
    """A model of PyTorch alone."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(12, 3)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        output: Tensor = self.head(x)
        return output


def outputs_of(model: Any) -> Tensor:
    """Logits for an input that depends on the configuration alone."""
    if isinstance(model, Plain):
        return model(torch.linspace(-1, 1, 48).reshape(4, 12))
    config = model.config
    with torch.no_grad():
        if hasattr(config, "image_size"):
            shape = (2, config.num_channels, config.image_size, config.image_size)
            return model(pixel_values=torch.linspace(-1, 1, int(np.prod(shape))).reshape(shape)).logits
        return model(input_ids=torch.arange(1, 13).reshape(2, 6)).logits


def test_low_rank_part_is_the_best_there_is() -> None:
    model = nn.Sequential(nn.Linear(20, 12), nn.Linear(12, 2)).double()
    small = compress_model(model, 0.4, keep=0.0)
    rank = int(np.ceil(0.4 * 240 / 32))
    weight = model[0].weight.detach().numpy()
    tail = np.linalg.svd(weight, compute_uv=False)[rank:]
    error = np.linalg.norm(weight - small[0].weight.detach().numpy())
    assert small[0].rank == rank == 3
    np.testing.assert_allclose(error, np.sqrt((tail**2).sum()), rtol=1e-10)


def test_rows_that_deviate_most_are_kept_exactly() -> None:
    model = nn.Sequential(nn.Linear(20, 12), nn.Linear(12, 2)).double()
    small = compress_model(model, 0.1, keep=0.25)
    weight = model[0].weight.detach().numpy()
    u, s, vt = np.linalg.svd(weight)
    rest = weight - s[0] * np.outer(u[:, 0], vt[0])
    largest = np.argsort(-np.linalg.norm(rest, axis=1))[:3]
    others = np.setdiff1d(np.arange(12), largest)
    made = small[0].weight.detach().numpy()
    assert set(small[0].index.tolist()) == set(largest.tolist())
    np.testing.assert_allclose(made[largest], weight[largest], atol=1e-12)
    np.testing.assert_allclose(weight[others] - made[others], rest[others], atol=1e-12)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_ratio_of_one_changes_nothing(architecture: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(architecture)
    same = compress_model(model, 1.0)
    assert torch.equal(outputs_of(same), outputs_of(model))
    assert same.compression.parameters == CompressionPlan.of(model).parameters


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("group", ["layer", "block"])
def test_size_is_what_the_plan_says(architecture: str, group: Any, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(architecture)
    plan = CompressionPlan.of(model, group)
    ratios = np.linspace(0.05, 0.95, plan.dims)
    small = compress_model(model, ratios, keep=0.2, group=group)
    saved = sum(p.numel() for p in model.parameters()) - sum(p.numel() for p in small.parameters())
    assert saved == plan.parameters - plan.size(ratios, 0.2)
    assert small.compression.parameters == plan.size(ratios, 0.2)
    assert small.compression.group == group
    assert outputs_of(small).isfinite().all()
    assert not torch.allclose(outputs_of(small), outputs_of(model))


def test_size_counted_by_hand() -> None:
    small = compress_model(Plain(), 0.3, keep=0.1)
    # up: rank ceil(0.3 * 240 / 32) = 3, 2 of 20 rows of 12, bias 20; down: rank 3, 1 of 12 rows of 20
    assert small.compression.parameters == 2 * ((3 * 32 + 2 * 12 + 20) + (3 * 32 + 1 * 20))
    assert sum(p.numel() for p in small.parameters()) == small.compression.parameters + 39


def test_only_what_is_named_is_compressed() -> None:
    model = Plain()
    small = compress_model(model, {"blocks.1.up": 0.2})
    assert isinstance(small.blocks[1].up, CompactLinear)
    assert type(small.blocks[0].up) is type(small.blocks[1].down) is nn.Linear
    assert small.compression.layers["blocks.1.up"].ratio == 0.2


def test_argument_is_left_alone() -> None:
    model = Plain().train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    small = compress_model(model, 0.2)
    after = model.state_dict()
    assert type(model) is Plain
    assert list(after) == list(before)
    assert all(torch.equal(after[name], before[name]) for name in before)
    assert not {p.data_ptr() for p in model.parameters()} & {p.data_ptr() for p in small.parameters()}
    assert all(module.training for module in small.modules())


def test_compressed_model_is_one_of_its_class() -> None:
    one, two = compress_model(Plain(), 0.2), compress_model(Plain(), 0.5)
    assert isinstance(one, Plain)
    assert type(one) is type(two)
    assert type(one).__name__ == "Plain"


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_precision_is_kept(dtype: torch.dtype) -> None:
    small = compress_model(Plain().to(dtype), 0.2)
    assert {p.dtype for p in small.parameters()} == {dtype}


def test_compressed_model_can_be_copied_and_pickled() -> None:
    small = compress_model(Plain(), 0.2)
    for twin in (copy.deepcopy(small), pickle.loads(pickle.dumps(small))):
        assert type(twin) is type(small)
        assert twin.compression == small.compression
        assert torch.equal(outputs_of(twin), outputs_of(small))
        assert twin.head.weight.data_ptr() != small.head.weight.data_ptr()


def test_compressed_model_can_be_trained() -> None:
    small = compress_model(Plain(), 0.2)
    outputs_of(small).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in small.parameters())


def test_compressed_gpt2_generates_and_keeps_its_tie(tiny_gpt2: Any) -> None:
    small = compress_model(tiny_gpt2, 0.3)
    assert small.lm_head.weight is small.transformer.wte.weight
    prompt = torch.tensor([[1, 2, 3]])
    made = small.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=4, min_new_tokens=4)
    assert made.shape == (1, 7)
    with torch.no_grad():  # greedy, so that the last word follows from the logits; the end is not allowed before
        logits = small(made[:, :-1]).logits[0, -1]
    logits[tiny_gpt2.config.eos_token_id] = -torch.inf
    assert made[0, -1] == logits.argmax()


def test_bad_input_is_named() -> None:
    model = Plain()
    with pytest.raises(ValueError, match=r"keep is 1.5, expected a share"):
        compress_model(model, 0.2, keep=1.5)
    with pytest.raises(ValueError, match=r"the ratio of blocks\.0\.up is 0\.0"):
        compress_model(model, 0.0)
    with pytest.raises(ValueError, match="there are 3 ratios, expected 4"):
        compress_model(model, [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="this Plain is compressed already"):
        compress_model(compress_model(model, 0.2), 0.2)
    with pytest.raises(ValueError, match="ReLU has no linear layer"):
        compress_model(nn.ReLU(), 0.2)


def test_with_logits_the_answers_change_less() -> None:
    problem = trained_problem()
    train, validation = (problem.task.inputs(split.tensors) for split in (problem.data.train, problem.data.validation))

    def divergence(**options: Any) -> float:
        small = compress_model(problem.model, 0.1, keep=0.0, calibration=[train], **options)
        with torch.no_grad():
            before, after = (model(**validation).logits.log_softmax(-1) for model in (problem.model, small))
        return float((before.exp() * (before - after)).sum(-1).mean())

    assert divergence(logits=lambda output: output.logits) < 0.1 * divergence()
    with pytest.raises(ValueError, match="logits are given without examples"):
        compress_model(problem.model, 0.1, logits=lambda output: output.logits)
