from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from betabo.compress.tasks.text import first_of_pair, suited_tokenizer, text_inputs, tokenizer_of


def test_a_task_without_a_tokenizer_says_how_to_get_one(word_tokenizer: Any) -> None:
    assert tokenizer_of("mrpc", word_tokenizer) is word_tokenizer
    with pytest.raises(ValueError, match=r"the task 'mrpc' has no tokenizer yet: use task\.suited_to"):
        tokenizer_of("mrpc", None)
    with pytest.raises(ValueError, match="the tokenizer has no padding token"):
        tokenizer_of("mrpc", SimpleNamespace(pad_token=None))


def test_inputs_are_no_longer_than_the_model_takes(bert_folder: Path) -> None:
    assert suited_tokenizer(bert_folder, 128)[1] == 64  # both the model and its tokenizer take 64
    assert suited_tokenizer(bert_folder, 16)[1] == 16


def test_a_line_break_stands_between_texts_without_a_mark(word_tokenizer: Any, byte_tokenizer: Any) -> None:
    assert first_of_pair("a cat", word_tokenizer) == "a cat"
    assert first_of_pair("a cat", byte_tokenizer) == "a cat\n"


def test_only_what_a_model_reads_goes_in() -> None:
    batch = {name: torch.zeros(1) for name in ("label", "attention_mask", "input_ids")}
    assert list(text_inputs(batch)) == ["input_ids", "attention_mask"]
