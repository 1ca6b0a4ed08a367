from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from betabo.compress.data import DataError, Rows
from betabo.compress.tasks import LanguageModelling, Split, SplitRule, task_by_name

TEXT = "".join(f"Line {number} is ä little ☃ odd 😀.\n" for number in range(40))


def make_split(tokenizer: Any, text: str = TEXT, block: int = 16) -> Split:
    return LanguageModelling(block_size=block, tokenizer=tokenizer).encode(Rows({"text": [text]}), None, training=True)


def test_every_token_but_the_first_is_predicted_once(byte_tokenizer: Any) -> None:
    split = make_split(byte_tokenizer)
    tokens = byte_tokenizer(TEXT)["input_ids"]
    predicted = split.tensors["input_ids"][:, 1:].flatten().tolist()
    assert predicted == tokens[1 : 1 + len(predicted)]
    assert 0 <= len(tokens) - 1 - len(predicted) < 15
    assert split.tensors["input_ids"][1:, 0].tolist() == split.tensors["input_ids"][:-1, -1].tolist()


def test_bytes_are_those_of_the_predicted_text(byte_tokenizer: Any) -> None:
    plain = make_split(byte_tokenizer, "abc def " * 20)
    assert (plain.tensors["bytes"] == 15).all()
    split = make_split(byte_tokenizer)
    covered = split.tensors["input_ids"][:, 1:].numel()  # each token is a byte; the last letter may be cut
    assert abs(int(split.tensors["bytes"].sum()) - covered) <= 3


def test_bytes_include_what_the_tokenizer_drops(word_tokenizer: Any) -> None:
    split = make_split(word_tokenizer, "cat  dog " * 8, block=4)  # five blocks predict all sixteen words but the first
    assert int(split.tensors["bytes"].sum()) == len("cat  dog " * 8) - len("cat") - len(" ")


def test_loss_is_that_of_transformers(byte_tokenizer: Any, tiny_gpt2: Any) -> None:
    task, split = LanguageModelling(), make_split(byte_tokenizer)
    with torch.no_grad():
        expected = tiny_gpt2(**task.inputs(split.tensors), labels=split.tensors["input_ids"]).loss
        torch.testing.assert_close(task.loss(tiny_gpt2, split.tensors), expected)


def test_metrics_follow_from_the_mean_loss(byte_tokenizer: Any, tiny_gpt2: Any) -> None:
    task, split = LanguageModelling(), make_split(byte_tokenizer, "abc def " * 40)
    with torch.no_grad():
        predictions = task.predictions(tiny_gpt2, split.tensors)
        output = tiny_gpt2(split.tensors["input_ids"], labels=split.tensors["input_ids"])
    metrics = task.metrics(split, predictions)
    guesses = output.logits[:, :-1].argmax(-1)
    assert metrics["accuracy"] == pytest.approx((guesses == split.tensors["input_ids"][:, 1:]).double().mean().item())
    assert metrics["perplexity"] == pytest.approx(math.exp(output.loss.item()), rel=1e-5)
    assert metrics["bits_per_byte"] == pytest.approx(output.loss.item() / math.log(2), rel=1e-5)


def test_the_end_of_the_text_is_held_out_from_a_line_on() -> None:
    task = LanguageModelling()
    kept, held = task.held_out(Rows({"text": [TEXT]}), 0.2, 0)
    assert kept["text"][0] + held["text"][0] == TEXT
    assert kept["text"][0].endswith("\n")
    assert len(held["text"][0]) == pytest.approx(0.2 * len(TEXT), abs=40)
    kept, held = task.held_out(Rows({"text": ["x" * 100]}), 0.2, 0)
    assert (len(kept["text"][0]), len(held["text"][0])) == (80, 20)


def test_rows_are_lines() -> None:
    kept, held = LanguageModelling().held_out(Rows({"text": ["a", "b\n", "", "c", "d"]}), 0.5, 0)
    assert kept["text"][0] + held["text"][0] == "a\nb\n\nc\nd\n"


def test_one_file_gives_all_three_parts(tmp_path: Path, gpt2_folder: Path) -> None:
    (tmp_path / "tinyshakespeare.txt").write_text(TEXT * 5, encoding="utf-8")
    task = task_by_name("tinyshakespeare", gpt2_folder)
    assert isinstance(task, LanguageModelling)
    assert task.block_size == 64
    data = task.load(tmp_path)
    assert data.test is not None
    total = sum(map(len, data.splits.values()))
    assert len(data.train) / total == pytest.approx(0.9, abs=0.03)
    assert len(data.test) / total == pytest.approx(0.05, abs=0.03)
    assert len(task.load(tmp_path, max_train=7, max_validation=2).train) == 7
    assert task.example(data)["input_ids"].shape == (1, 64)


def test_too_little_text_is_refused(byte_tokenizer: Any) -> None:
    with pytest.raises(DataError, match="a text has 3 tokens"):
        make_split(byte_tokenizer, "abc")
    with pytest.raises(ValueError, match="suited_to"):
        make_split(None)
    with pytest.raises(ValueError, match="block_size is 1"):
        LanguageModelling(block_size=1, rule=SplitRule())
