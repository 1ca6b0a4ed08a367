"""Language modelling: the next token of a text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from betabo.compress.data import DataError, Rows, choose
from betabo.compress.tasks.labels import most_frequent
from betabo.compress.tasks.split import Split
from betabo.compress.tasks.task import Batch, Kind, SplitRule, Task
from betabo.compress.tasks.text import suited_tokenizer


@dataclass(frozen=True)
class LanguageModelling(Task):
    """The next token of a text.

    A split has `input_ids`, blocks of `block_size` tokens (int64). A block begins with the last token of the one
    before, so that every token but the first of all is predicted once; what is left at the end and fills no block is
    dropped. `bytes` has the bytes (UTF-8) of the predicted tokens of a block. Where data are held out, they are the end
    of the text.

    Attributes:
        name: Name of the task.
        dataset: Its dataset on the hub.
        rule: Which parts of the data serve for what.
        block_size: Tokens of an example.
        text_column: Column of text; the rows are put together, each ending with a line break.
        tokenizer: A tokenizer of transformers, see `suited_to`.
    """

    kind: ClassVar[Kind] = "language-modelling"
    metric: ClassVar[str] = "accuracy"
    has_few_answers: ClassVar[bool] = False

    name: str = "language-modelling"
    dataset: str | None = None
    rule: SplitRule = field(default_factory=SplitRule)
    block_size: int = 128
    text_column: str = "text"
    tokenizer: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.block_size < 2:
            raise ValueError(f"block_size is {self.block_size}, expected at least 2 tokens.")

    def suited_to(self, model: str | Path) -> Self:
        """This task with a model's tokenizer, and no longer blocks than it takes."""
        tokenizer, length = suited_tokenizer(model, self.block_size)
        return replace(self, tokenizer=tokenizer, block_size=length)

    def with_length(self, most: int) -> Self:
        """This task with blocks of some tokens."""
        return replace(self, block_size=most)

    def held_out(self, rows: Rows, share: float, seed: int) -> tuple[Rows, Rows]:  # noqa: ARG002
        """Divide the text: about a share of it at the end is held out, from the beginning of a line."""
        text = self._text(rows)
        end = text.find("\n", round(len(text) * (1 - share))) + 1
        if not 0 < end < len(text):
            end = round(len(text) * (1 - share))
        return Rows({self.text_column: [text[:end]]}), Rows({self.text_column: [text[end:]]})

    def limited(
        self, rows: Rows, labels: tuple[str, ...] | None, most: int | None, seed: int, *, training: bool
    ) -> Split:
        """Encode at most `most` blocks, a random subset in the order of the text."""
        split = self.encode(rows, labels, training=training)
        return split.subset(choose(len(split), most, seed))

    def encode(self, rows: Rows, labels: tuple[str, ...] | None, *, training: bool) -> Split:  # noqa: ARG002
        """The text as blocks of tokens."""
        if self.tokenizer is None:
            raise ValueError(f"the task {self.name!r} has no tokenizer yet: use task.suited_to(folder of the model).")
        text = self._text(rows)
        fast = bool(self.tokenizer.is_fast)
        encoded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=fast, verbose=False)
        tokens = torch.tensor(encoded["input_ids"], dtype=torch.int64)
        step = self.block_size - 1
        if len(tokens) < self.block_size:
            raise DataError(f"a text has {len(tokens)} tokens, expected at least a block of {self.block_size}.")
        tensors = {"input_ids": tokens.unfold(0, self.block_size, step).contiguous()}
        if fast:
            ends = _byte_positions(text)[np.asarray(encoded["offset_mapping"], dtype=np.int64)[:, 1]]
            first = np.arange(len(tensors["input_ids"])) * step
            tensors["bytes"] = torch.from_numpy(ends[first + step] - ends[first])
        return Split(tensors)

    def inputs(self, batch: Mapping[str, Tensor]) -> Batch:
        """The tokens."""
        return {"input_ids": batch["input_ids"]}

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The mean cross-entropy of the next token, in nats."""
        logits, target = self._next(model, batch)
        return nn.functional.cross_entropy(logits.flatten(0, 1).float(), target.flatten())

    def answers(self, model: nn.Module, batch: Batch) -> tuple[Tensor, ...]:
        """The logits of each token but the first."""
        return (self._next(model, batch)[0],)

    def predictions(self, model: nn.Module, batch: Batch) -> Batch:
        """For each block the sum of the cross-entropies in nats, `nats`, and how many tokens were right, `correct`."""
        logits, target = self._next(model, batch)
        nats = nn.functional.cross_entropy(logits.transpose(1, 2).float(), target, reduction="none")
        return {"nats": nats.sum(-1), "correct": (logits.argmax(-1) == target).sum(-1)}

    def metrics(self, split: Split, predictions: Mapping[str, Tensor]) -> dict[str, float]:
        """The accuracy of the next token, the perplexity of a token, and the bits for each byte of text."""
        count = split.tensors["input_ids"][:, 1:].numel()
        nats = predictions["nats"].double().sum().item()
        metrics = {
            "accuracy": predictions["correct"].double().sum().item() / count,
            "perplexity": math.exp(min(nats / count, 700.0)),  # the largest power that is a number
        }
        if "bytes" in split.tensors:
            metrics["bits_per_byte"] = nats / math.log(2) / max(1, split.tensors["bytes"].sum().item())
        return metrics

    def drop(self, before: Mapping[str, float], after: Mapping[str, float]) -> float:
        """What the perplexity has risen by, as a share: it says more than how often the next token is right."""
        return after["perplexity"] / before["perplexity"] - 1

    def badness(self, metrics: Mapping[str, float]) -> tuple[str, float]:
        """The perplexity."""
        return "perplexity", metrics["perplexity"]

    def guessed(self, split: Split) -> float | None:
        """The share of the most frequent token."""
        return most_frequent(split.tensors["input_ids"][:, 1:].flatten())

    def _next(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Logits for each token but the first, and these tokens."""
        logits: Tensor = model(**self.inputs(batch), use_cache=False).logits
        return logits[:, :-1], batch["input_ids"][:, 1:]

    def _text(self, rows: Rows) -> str:
        texts = [str(text) for text in rows[self.text_column]]
        if len(texts) == 1:
            return texts[0]
        return "".join(text if text.endswith("\n") else text + "\n" for text in texts)


def _byte_positions(text: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where each character, and the end, would begin if the text were UTF-8."""
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    sizes = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
    return np.concatenate([[0], np.cumsum(sizes)])
