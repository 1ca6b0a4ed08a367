"""Classification of a text, or of a pair of texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from betabo.compress.data import DataError, Rows, hold_out
from betabo.compress.tasks.labels import class_names, class_numbers, classification_metrics, most_frequent
from betabo.compress.tasks.split import Split
from betabo.compress.tasks.task import Batch, Kind, SplitRule, Task
from betabo.compress.tasks.text import first_of_pair, suited_tokenizer, text_inputs, tokenizer_of

_TEXTS = (
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("premise", "hypothesis"),
    ("sentence",),
    ("text",),
)


@dataclass(frozen=True)
class TextClassification(Task):
    """Which of some classes a text, or a pair of texts, belongs to.

    A split has `input_ids`, `attention_mask`, `token_type_ids` if the tokenizer makes them (examples x max_length,
    int64), and `label`, int64. Longer texts are cut.

    Attributes:
        name: Name of the task.
        dataset: Its dataset on the hub.
        rule: Which parts of the data serve for what.
        labels: Names of the classes, where they are known.
        max_length: Tokens of an example, padding included.
        columns: One or two columns of text; guessed if None.
        label_column: Column of labels.
        together: Whether rows with the same first text stay together when some are held out.
        tokenizer: A tokenizer of transformers, see `suited_to`.
    """

    kind: ClassVar[Kind] = "text-classification"
    metric: ClassVar[str] = "accuracy"

    name: str = "text-classification"
    dataset: str | None = None
    rule: SplitRule = field(default_factory=SplitRule)
    labels: tuple[str, ...] | None = None
    max_length: int = 128
    columns: tuple[str, ...] | None = None
    label_column: str = "label"
    together: bool = False
    tokenizer: Any = field(default=None, repr=False, compare=False)

    def suited_to(self, model: str | Path) -> Self:
        """This task with a model's tokenizer, and no longer texts than it takes."""
        tokenizer, length = suited_tokenizer(model, self.max_length)
        return replace(self, tokenizer=tokenizer, max_length=length)

    def with_length(self, most: int) -> Self:
        """This task with texts of at most some tokens."""
        return replace(self, max_length=most)

    def class_names(self, train: Rows) -> tuple[str, ...]:
        """Names of the classes in the order of their numbers."""
        return class_names(train[self.label_column], self.labels)

    def has_answers(self, rows: Rows) -> bool:
        """Whether the rows can be scored: secret labels are absent, or -1."""
        return self.label_column in rows.columns and not all(value == -1 for value in rows[self.label_column])

    def held_out(self, rows: Rows, share: float, seed: int) -> tuple[Rows, Rows]:
        """Divide rows into those that stay and a share held out."""
        kept, held = hold_out(len(rows), share, seed, rows[self._columns(rows)[0]] if self.together else None)
        return rows.take(kept), rows.take(held)

    def encode(self, rows: Rows, labels: tuple[str, ...] | None, *, training: bool) -> Split:  # noqa: ARG002
        """The texts as tokens, and the labels."""
        tokenizer = tokenizer_of(self.name, self.tokenizer)
        texts = [[str(value) for value in rows[column]] for column in self._columns(rows)]
        if len(texts) == 2:
            texts[0] = [first_of_pair(text, tokenizer) for text in texts[0]]
        encoded = tokenizer(*texts, padding="max_length", truncation=True, max_length=self.max_length)
        tensors = text_inputs({name: torch.tensor(value, dtype=torch.int64) for name, value in encoded.items()})
        label = class_numbers(rows[self.label_column], labels or self.class_names(rows))
        return Split({**tensors, "label": label}, {"classes": len(labels or self.class_names(rows))})

    def inputs(self, batch: Mapping[str, Tensor]) -> Batch:
        """The tokens."""
        return text_inputs(batch)

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The mean cross-entropy."""
        return nn.functional.cross_entropy(self.answers(model, batch)[0].float(), batch["label"])

    def answers(self, model: nn.Module, batch: Batch) -> tuple[Tensor, ...]:
        """The logits of the classes."""
        return (model(**self.inputs(batch)).logits,)

    def predictions(self, model: nn.Module, batch: Batch) -> Batch:
        """The number of the likeliest class, `label`."""
        return {"label": self.answers(model, batch)[0].argmax(-1)}

    def guessed(self, split: Split) -> float | None:
        """The share of the most frequent class."""
        return most_frequent(split.tensors["label"])

    def metrics(self, split: Split, predictions: Mapping[str, Tensor]) -> dict[str, float]:
        """The accuracy; with two classes also F1 of class 1."""
        return classification_metrics(split.tensors["label"], predictions["label"], split.details["classes"])

    def _columns(self, rows: Rows) -> tuple[str, ...]:
        if self.columns is not None:
            if not 1 <= len(self.columns) <= 2:
                raise ValueError(f"columns are {self.columns}, expected one column of text or two.")
            return self.columns
        for names in _TEXTS:
            if all(name in rows.columns for name in names):
                return names
        raise DataError(
            f"no known columns of text among {', '.join(map(repr, rows.columns))}: say which with the option columns."
        )
