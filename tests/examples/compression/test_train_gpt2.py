"""The script that trains a GPT-2 from scratch."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from betabo.compress.plan import CompressionPlan
from betabo.compress.pretrained import load_model
from betabo.compress.tasks import Split, task_by_name
from betabo.compress.training import evaluate
from examples.compression.training_case import SMALL, record_of


def test_stored_gpt2_scores_what_its_record_says(gpt2: ModuleType, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "gpt2"
    gpt2.main(["--data", str(text), "--out", str(out), *SMALL, "--context", "32"])
    task = task_by_name("tinyshakespeare", out)
    assert task.block_size == 32
    data = task.load(text)
    model = load_model(out, task, data).model
    assert CompressionPlan.of(model).dims == 8
    record = record_of(out)
    assert evaluate(model, task, data.test) == pytest.approx(record["test"])
    assert record["test"]["bits_per_byte"] == pytest.approx(np.log2(record["test"]["perplexity"]))


def test_training_follows_from_the_seed(gpt2: ModuleType, text: Path, tmp_path: Path) -> None:
    records = []
    for name, seed in (("first", "1"), ("second", "1"), ("third", "2")):
        out = tmp_path / name
        gpt2.main(["--data", str(text), "--out", str(out), *SMALL, "--context", "16", "--seed", seed])
        records.append(record_of(out)["test"])
    assert records[0] == records[1] != records[2]


@pytest.mark.parametrize("sentence", ["To be, or not.", "naïve café\n\n\tβ → ∞ 日本 🙂", " two  spaces ", ""])
def test_tokens_are_the_bytes_of_utf8(gpt2: ModuleType, sentence: str) -> None:
    tokenizer = gpt2.byte_tokenizer(64)
    assert tokenizer(sentence)["input_ids"] == list(sentence.encode())
    assert tokenizer.decode(list(sentence.encode())) == sentence
    assert len(tokenizer) == 256


def test_overlapping_blocks_are_pieces_of_the_text(gpt2: ModuleType) -> None:
    tokens = torch.arange(5 * 7 + 1)
    blocks = gpt2.overlapping(Split({"input_ids": tokens.unfold(0, 8, 7)}), stride=3).tensors["input_ids"]
    assert blocks[:, 0].tolist() == list(range(0, 29, 3))
    assert torch.equal(blocks, blocks[:, :1] + torch.arange(8))
