"""The tasks by name. To add one: register a function that makes it, in one line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from betabo.compress.tasks.answering import QuestionAnswering
from betabo.compress.tasks.classification import TextClassification
from betabo.compress.tasks.images import ImageClassification
from betabo.compress.tasks.language import LanguageModelling
from betabo.compress.tasks.task import DEVELOPMENT_IS_TEST, SplitRule, Task
from betabo.suggestions import did_you_mean


@dataclass(frozen=True)
class TaskEntry:
    """A task of the catalogue.

    Attributes:
        name: Name in `TASKS`: small letters, digits, hyphens and underscores, first a letter.
        description: What it asks, in one line.
        make: Makes the task.
    """

    name: str
    description: str
    make: Callable[[], Task]


TASKS: dict[str, TaskEntry] = {}
"""The catalogue: each entry under its name."""


def register_task(entry: TaskEntry) -> None:
    """Add a task to the catalogue.

    Raises:
        ValueError: The name is taken or no name.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", entry.name):
        raise ValueError(
            f"name is {entry.name!r}, expected small letters, digits, hyphens and underscores, first a letter."
        )
    if entry.name in TASKS:
        raise ValueError(f"name is {entry.name!r}, which is taken by: {TASKS[entry.name].description}")
    TASKS[entry.name] = entry


def task_by_name(name: str, model: str | Path | None = None, **options: Any) -> Task:
    """A task of the catalogue.

    Args:
        name: Its name.
        model: Folder or name of the model it is for, see `Task.suited_to`; without it, data of text cannot be loaded.
        options: Other values of the task's fields, such as `max_length`.

    Raises:
        ValueError: There is no such task or option.
    """
    if name not in TASKS:
        hint = did_you_mean(name, TASKS)
        raise ValueError(f"the task is {name!r}, expected one of {', '.join(TASKS)}.{hint}")
    task = TASKS[name].make().with_options(**options)
    return task if model is None else task.suited_to(model)


_CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_ENTAILMENT = ("entailment", "not_entailment")
_ONE_FILE = SplitRule(train=("train", "test"), validation=(), test=(), test_share=0.1)


def _glue(
    name: str, labels: tuple[str, ...], rule: SplitRule = DEVELOPMENT_IS_TEST, **options: Any
) -> Callable[[], Task]:
    return lambda: TextClassification(name, f"nyu-mll/glue:{name}", rule, labels, **options)


for _entry in (
    TaskEntry(
        "cifar10",
        "CIFAR-10: what one of ten things a small image shows.",
        lambda: ImageClassification("cifar10", "uoft-cs/cifar10", labels=_CIFAR10),
    ),
    TaskEntry(
        "imagenet-1k",
        "ImageNet: what one of a thousand things a photograph shows.",
        lambda: ImageClassification("imagenet-1k", "ILSVRC/imagenet-1k", DEVELOPMENT_IS_TEST),
    ),
    TaskEntry(
        "mrpc",
        "MRPC: whether two sentences say the same.",
        _glue("mrpc", ("not_equivalent", "equivalent"), SplitRule(validation_share=0.2)),
    ),
    TaskEntry(
        "rte",
        "RTE: whether one text follows from another.",
        _glue("rte", _ENTAILMENT, replace(DEVELOPMENT_IS_TEST, validation_share=0.2)),
    ),
    TaskEntry(
        "qnli",
        "QNLI: whether a sentence answers a question.",
        _glue("qnli", _ENTAILMENT, together=True),
    ),
    TaskEntry("sst2", "SST-2: whether a phrase of a film review is positive.", _glue("sst2", ("negative", "positive"))),
    TaskEntry(
        "mnli",
        "MNLI: whether a text follows from another, contradicts it, or neither.",
        _glue("mnli", ("entailment", "neutral", "contradiction"), together=True),
    ),
    TaskEntry(
        "squad",
        "SQuAD 1.1: where in a paragraph of Wikipedia the answer to a question stands.",
        lambda: QuestionAnswering("squad", "rajpurkar/squad", DEVELOPMENT_IS_TEST),
    ),
    TaskEntry(
        "squadshifts",
        "SQuADShifts: questions like SQuAD's on three kinds of text, divided by examples/compression/squadshifts.py.",
        lambda: QuestionAnswering("squadshifts", None, max_length=256, overlap=64),
    ),
    TaskEntry(
        "squadshifts_new_wiki",
        "SQuADShifts, Wikipedia: questions like SQuAD's; one file, divided here by context.",
        lambda: QuestionAnswering("squadshifts_new_wiki", None, _ONE_FILE),
    ),
    TaskEntry(
        "squadshifts_amazon",
        "SQuADShifts, reviews: questions like SQuAD's on product reviews; one file, divided here by context.",
        lambda: QuestionAnswering("squadshifts_amazon", None, _ONE_FILE),
    ),
    TaskEntry(
        "squadshifts_reddit",
        "SQuADShifts, Reddit: questions like SQuAD's on posts; one file, divided here by context.",
        lambda: QuestionAnswering("squadshifts_reddit", None, _ONE_FILE),
    ),
    TaskEntry(
        "wikitext2",
        "WikiText-2: the next token of articles of Wikipedia.",
        lambda: LanguageModelling("wikitext2", "Salesforce/wikitext:wikitext-2-raw-v1"),
    ),
    TaskEntry(
        "tinyshakespeare",
        "Tiny Shakespeare: the next token of plays; one file, of which the last tenth is held out.",
        lambda: LanguageModelling("tinyshakespeare", None, SplitRule(validation_share=0.05, test_share=0.05)),
    ),
    TaskEntry("image-classification", "Your own images in classes.", ImageClassification),
    TaskEntry("text-classification", "Your own texts, or pairs of texts, in classes.", TextClassification),
    TaskEntry("question-answering", "Your own questions with answers in a context.", QuestionAnswering),
    TaskEntry("language-modelling", "Your own text.", LanguageModelling),
):
    register_task(_entry)
