"""What a task is: data as tensors, a loss to train with, a metric to compare models by."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self, TypeAlias

from torch import Tensor, nn

from betabo.compress.data import DataError, Dataset, Rows, choose, hold_out, open_dataset
from betabo.compress.tasks.split import Split, TaskData

Batch: TypeAlias = dict[str, Tensor]
"""Some examples of a split: the same names as its tensors, first dimension examples."""

Kind: TypeAlias = Literal["image-classification", "text-classification", "question-answering", "language-modelling"]

_CACHE_FORMAT = 1


@dataclass(frozen=True)
class SplitRule:
    """Which parts of a dataset serve for what, and how much is held out of train where a part is missing.

    Validation data choose between compressed models. Test data are for the final number only. Where the labels of a
    public test set are secret, the public development set is the test set here, and validation data come from train.

    Attributes:
        train: Names of the part to train on, the first one found is taken.
        validation: Names of the part to choose by; without any, `validation_share` of train is held out.
        test: Names of the part for the final number; without any, `test_share` of train is held out.
        validation_share: Share of train in [0, 1).
        test_share: Share of train in [0, 1). With 0 there are no test data.
    """

    train: tuple[str, ...] = ("train",)
    validation: tuple[str, ...] = ("validation", "valid", "dev", "val")
    test: tuple[str, ...] = ("test",)
    validation_share: float = 0.1
    test_share: float = 0.0

    def __post_init__(self) -> None:
        for name in ("validation_share", "test_share"):
            value = getattr(self, name)
            if not 0 <= value < 1:
                raise ValueError(f"{name} is {value}, expected a share of train in [0, 1).")
        if self.validation_share + self.test_share >= 1:
            raise ValueError(
                f"validation_share + test_share is {self.validation_share + self.test_share}, expected less than 1."
            )


DEVELOPMENT_IS_TEST = SplitRule(
    validation=(), test=("validation_matched", "dev_matched", "validation", "valid", "dev", "val")
)
"""For datasets whose test labels are secret."""


class Criterion(Protocol):
    """What a model is trained for, and measured by: a task, or another model's answers to it."""

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The mean loss over a batch, a scalar."""

    def augment(self, batch: Batch) -> Batch:
        """A random variation of a batch, for training."""


class Task(ABC):
    """A kind of data with a loss and a metric.

    Subclasses are frozen dataclasses. `loss`, `predictions` and `augment` may be recorded in a CUDA graph: they never
    wait for the device, and their shapes do not depend on values.

    Attributes:
        kind: The kind of model it needs.
        metric: Name of the main metric, in [0, 1], larger is better; the error of a model is 1 - metric.
        has_few_answers: Whether the logits of some thousand examples take little memory.
        name: Name of the task, also the prefix of its files in a folder.
        dataset: Where its data are when nothing else is said: a dataset on the hub, or None.
        rule: Which parts of the data serve for what.
    """

    kind: ClassVar[Kind]
    metric: ClassVar[str]
    has_few_answers: ClassVar[bool] = True
    name: str
    dataset: str | None
    rule: SplitRule

    @abstractmethod
    def suited_to(self, model: str | Path) -> Self:
        """This task with what a model expects: tokenizer and longest input, or size and normalisation of images.

        Args:
            model: Folder of the model, or its name on the hub.

        Raises:
            betabo.compress.pretrained.ModelError: There is no such model.
        """

    @abstractmethod
    def encode(self, rows: Rows, labels: tuple[str, ...] | None, *, training: bool) -> Split:
        """The rows as tensors.

        Args:
            rows: One part of the data.
            labels: What `class_names` found.
            training: Whether to train on them.
        """

    @abstractmethod
    def inputs(self, batch: Mapping[str, Tensor]) -> Batch:
        """The keyword arguments of the model for a batch."""

    @abstractmethod
    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The mean loss over a batch, a scalar."""

    @abstractmethod
    def answers(self, model: nn.Module, batch: Batch) -> tuple[Tensor, ...]:
        """What a model chooses between: logits, the choices in the last dimension, for each choice that it makes."""

    @abstractmethod
    def predictions(self, model: nn.Module, batch: Batch) -> Batch:
        """What `metrics` needs of the model's outputs, first dimension examples."""

    @abstractmethod
    def metrics(self, split: Split, predictions: Mapping[str, Tensor]) -> dict[str, float]:
        """The metrics over a whole split.

        Args:
            split: The examples.
            predictions: What `predictions` gave for them, concatenated in the same order.
        """

    def drop(self, before: Mapping[str, float], after: Mapping[str, float]) -> float:
        """How much worse a model is than another, by their metrics: what the main one has fallen by."""
        return before[self.metric] - after[self.metric]

    def badness(self, metrics: Mapping[str, float]) -> tuple[str, float]:
        """What falls as a model gets better, for figures: its name, and its value."""
        return f"1 - {self.metric}", 1 - metrics[self.metric]

    def guessed(self, split: Split) -> float | None:  # noqa: ARG002
        """The main metric of a model that always gives the most frequent answer; None if there is no such thing."""
        return None

    def augment(self, batch: Batch) -> Batch:
        """A random variation of a batch, for training. Drawn from the default generator of the batch's device."""
        return batch

    def example(self, data: TaskData) -> Batch:
        """The keyword arguments of the model for one example, to count operations and measure latency with."""
        split = data.validation
        return self.inputs({name: tensor[:1] for name, tensor in split.tensors.items()})

    def class_names(self, train: Rows) -> tuple[str, ...] | None:  # noqa: ARG002
        """Names of the classes in the order of their numbers; None for tasks without classes."""
        return None

    def load(
        self,
        source: str | Path | None = None,
        *,
        seed: int = 0,
        max_train: int | None = None,
        max_validation: int | None = None,
        cache: str | Path | None = None,
    ) -> TaskData:
        """Read, split and encode the data.

        What is held out of train depends on `seed` alone, not on `max_train`.

        Args:
            source: A folder, a file or a dataset on the hub, see `betabo.compress.data.open_dataset`; None for
                `dataset`.
            seed: Seed of what is held out and of the limits.
            max_train: Most examples to train on (questions, or blocks of text), a random subset; all if None.
            max_validation: Most examples to validate on, likewise.
            cache: Folder where encoded data are kept, so that the next call, with the same arguments, only reads them.

        Raises:
            DataError: The data are missing or not what the task needs.
        """
        for name, most in (("max_train", max_train), ("max_validation", max_validation)):
            if most is not None and most < 1:
                raise ValueError(f"{name} is {most}, expected at least 1, or None for all.")
        source = source if source is not None else self.dataset
        if source is None:
            raise DataError(f"the task {self.name!r} has no dataset on the hub; give a folder or file of data.")
        dataset = open_dataset(source, self.name)
        folder = None
        if cache is not None:
            folder = Path(cache) / f"{self.name}-{self._key(dataset, seed, max_train, max_validation)}"
            if folder.is_dir():
                return TaskData.from_disk(folder)
        train, validation, test = self._parts(dataset, seed)
        labels = self.class_names(train)
        data = TaskData(
            self.limited(train, labels, max_train, seed, training=True),
            self.limited(validation, labels, max_validation, seed, training=False),
            None if test is None else self.limited(test, labels, None, seed, training=False),
            labels,
        )
        for part, split in data.splits.items():
            if not len(split):
                raise DataError(f"the {part} data of {dataset.source!r} have no example, expected at least one.")
        if folder is not None:
            data.to_disk(folder)
        return data

    def limited(
        self, rows: Rows, labels: tuple[str, ...] | None, most: int | None, seed: int, *, training: bool
    ) -> Split:
        """Encode at most `most` examples, a random subset in the order of the data."""
        return self.encode(rows.take(choose(len(rows), most, seed)), labels, training=training)

    def has_answers(self, rows: Rows) -> bool:  # noqa: ARG002
        """Whether the rows can be scored: the answers of some public test sets are secret."""
        return True

    def held_out(self, rows: Rows, share: float, seed: int) -> tuple[Rows, Rows]:
        """Divide rows into those that stay and a share held out."""
        kept, held = hold_out(len(rows), share, seed)
        return rows.take(kept), rows.take(held)

    def with_length(self, most: int) -> Self:
        """This task with texts of at most some tokens.

        Raises:
            ValueError: It has no texts.
        """
        raise ValueError(f"the longest text is {most} tokens, but the task {self.name!r} ({self.kind}) has no texts.")

    def with_options(self, **options: Any) -> Self:
        """This task with other values of some fields.

        Raises:
            ValueError: It has no such field.
        """
        known = {field.name for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        for name in options:
            if name not in known:
                raise ValueError(f"{name!r} is no option of the task {self.name!r}, expected some of {sorted(known)}.")
        return replace(self, **options)  # type: ignore[type-var]

    def _parts(self, dataset: Dataset, seed: int) -> tuple[Rows, Rows, Rows | None]:
        """Train, validation and test rows."""
        train = dataset.read(self.rule.train)
        if train is None:
            raise DataError(
                f"{dataset.source!r} has no part {self.rule.train[0]!r} for the task {self.name!r}, only "
                f"{', '.join(map(repr, dataset.parts))}. To split one file, give the file itself."
            )
        validation, test = dataset.read(self.rule.validation), dataset.read(self.rule.test)
        if test is not None and not self.has_answers(test):
            test = None
        test_share = self.rule.test_share if test is None else 0.0
        if test_share:
            train, test = self.held_out(train, test_share, seed)
        if validation is None:
            if not self.rule.validation_share:
                raise DataError(f"{dataset.source!r} has no validation data, and validation_share is 0.")
            train, validation = self.held_out(train, self.rule.validation_share / (1 - test_share), seed + 1)
        return train, validation, test

    def _key(self, dataset: Dataset, seed: int, max_train: int | None, max_validation: int | None) -> str:
        """A short hash of all that the encoded data depend on."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        tokenizer = fields.pop("tokenizer", None)
        described = {
            "format": _CACHE_FORMAT,
            "kind": self.kind,
            "task": {name: repr(value) for name, value in fields.items()},
            "tokenizer": None if tokenizer is None else tokenizer_key(tokenizer),
            "dataset": dataset.fingerprint,
            "limits": [seed, max_train, max_validation],
        }
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:16]


def tokenizer_key(tokenizer: Any) -> str:
    """A hash of what a tokenizer does."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    does = json.loads(backend.to_str()) if backend is not None else tokenizer.get_vocab()
    for name in ("padding", "truncation"):  # left behind by the last call
        does.pop(name, None)
    text = json.dumps(does, sort_keys=True)
    special = json.dumps({name: str(token) for name, token in tokenizer.special_tokens_map.items()}, sort_keys=True)
    return hashlib.sha256(f"{type(tokenizer).__name__}{special}{text}".encode()).hexdigest()
