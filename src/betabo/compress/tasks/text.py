"""What tasks on text share: the tokenizer and the tensors it makes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from betabo.compress.pretrained import load_tokenizer, longest_input
from betabo.compress.tasks.task import Batch

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def tokenizer_of(task: str, tokenizer: Any) -> Any:
    """The tokenizer, if there is one that can pad.

    Raises:
        ValueError: There is none.
    """
    if tokenizer is None:
        raise ValueError(f"the task {task!r} has no tokenizer yet: use task.suited_to(folder of the model).")
    if tokenizer.pad_token is None:
        raise ValueError("the tokenizer has no padding token: set tokenizer.pad_token = tokenizer.eos_token.")
    return tokenizer


def suited_tokenizer(model: str | Path, length: int) -> tuple[Any, int]:
    """The tokenizer of a model, and `length` or the longest input of the model if that is less."""
    tokenizer = load_tokenizer(model)
    return tokenizer, min(length, longest_input(model), tokenizer.model_max_length)


def first_of_pair(text: str, tokenizer: Any) -> str:
    """The first text of a pair; a line break ends it where the tokenizer has no mark of its own between two texts."""
    return text if tokenizer.sep_token is not None else text + "\n"


def text_inputs(batch: Mapping[str, Tensor]) -> Batch:
    """The tensors of a batch that go into a model of text."""
    return {name: batch[name] for name in _INPUTS if name in batch}
