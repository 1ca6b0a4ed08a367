"""Classes: from the labels in data to numbers, and the metrics of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from betabo.compress.data import DataError


def class_names(values: Sequence[Any], known: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """Names of the classes that occur in the training data.

    Args:
        values: Labels: texts, or numbers from 0.
        known: The names, where they are known. Otherwise texts in alphabetical order, or the numbers as text.

    Raises:
        DataError: The labels are neither, or there are fewer than two classes.
    """
    if known is not None:
        return known
    if all(isinstance(value, str) for value in values):
        names = tuple(sorted(set(values)))
    elif all(isinstance(value, int) for value in values):
        names = tuple(map(str, range(max(values, default=-1) + 1)))
    else:
        odd = next(value for value in values if not isinstance(value, int))
        raise DataError(f"a label is {odd!r}, expected texts, or whole numbers from 0.")
    if len(names) < 2:
        raise DataError(f"the classes are {names}, expected at least two.")
    return names


def class_numbers(values: Sequence[Any], names: tuple[str, ...]) -> Tensor:
    """Labels as the numbers of their classes, int64.

    Raises:
        DataError: A label is none of the classes.
    """
    numbers = {name: number for number, name in enumerate(names)}
    found = [numbers.get(value, -1) if isinstance(value, str) else int(value) for value in values]
    for value, number in zip(values, found, strict=True):
        if not 0 <= number < len(names):
            raise DataError(
                f"a label is {value!r}, expected one of the {len(names)} classes {', '.join(names[:8])}"
                f"{' and so on' if len(names) > 8 else ''}, by name or as a number from 0."
            )
    return torch.tensor(found, dtype=torch.int64)


def classification_metrics(labels: Tensor, predicted: Tensor, classes: int) -> dict[str, float]:
    """The share of right answers; with two classes also F1 of class 1, 0 if that is neither there nor predicted."""
    labels, predicted = labels.cpu(), predicted.cpu()
    metrics = {"accuracy": (labels == predicted).double().mean().item()}
    if classes == 2:
        true = ((labels == 1) & (predicted == 1)).sum().item()
        total = ((labels == 1).sum() + (predicted == 1).sum()).item()
        metrics["f1"] = 2 * true / total if total else 0.0
    return metrics


def most_frequent(labels: Tensor) -> float:
    """The share of the most frequent of some whole numbers."""
    return float(labels.bincount().max()) / len(labels)
