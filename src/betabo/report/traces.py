"""How the model's hyperparameters changed over a study, from what the sampler recorded with each trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from betabo.report.facts import StudyFacts, number

QUANTITIES = ("bandwidth", "lengthscale", "boundary_weight", "noise")
"""The recorded hyperparameters that are drawn, in this order."""

_MOST_LINES = 12  # of a figure, so that they can be told apart


@dataclass(frozen=True)
class Trace:
    """One hyperparameter over the trials that a model proposed.

    Attributes:
        quantity: One of `QUANTITIES`.
        numbers: Numbers of the trials.
        lines: Values by trial for each label, None where there is none; one label where the quantity is one number.
        left_out: How many further lines there are; those with the smallest final values are kept.
    """

    quantity: str
    numbers: list[int]
    lines: dict[str, list[float | None]]
    left_out: int = 0

    @property
    def first(self) -> float | None:
        """The first recorded value."""
        return next((value for line in self.lines.values() for value in line if value is not None), None)

    @property
    def is_constant(self) -> bool:
        """Whether it has the same value for all labels and trials."""
        return all(value in (None, self.first) for line in self.lines.values() for value in line)


def traces(facts: StudyFacts, coordinates: Sequence[str]) -> list[Trace]:
    """The hyperparameters that were recorded.

    Args:
        facts: The study.
        coordinates: A label for each coordinate of the unit cube; used for quantities that have as many numbers.
    """
    found = []
    for quantity in QUANTITIES:
        records = [(t.number, _rows(t.diagnostics, quantity, len(facts.objectives))) for t in facts.trials]
        recorded = [(trial, rows) for trial, rows in records if rows]
        if recorded:
            found.append(_trace(quantity, recorded, coordinates, facts.objectives))
    return found


def _trace(
    quantity: str,
    recorded: Sequence[tuple[int, list[list[float | None]]]],
    coordinates: Sequence[str],
    objectives: Sequence[str],
) -> Trace:
    lines: dict[str, list[float | None]] = {}
    for index, (_, rows) in enumerate(recorded):
        for label, value in _labelled(rows, coordinates, objectives):
            line = lines.setdefault(label, [])
            line += [None] * (index - len(line)) + [value]
    for line in lines.values():
        line += [None] * (len(recorded) - len(line))
    kept = sorted(lines, key=lambda label: _last(lines[label]))[:_MOST_LINES]
    shown = {label: line for label, line in lines.items() if label in kept}
    return Trace(quantity, [trial for trial, _ in recorded], shown, len(lines) - len(shown))


def _labelled(
    rows: list[list[float | None]], coordinates: Sequence[str], objectives: Sequence[str]
) -> list[tuple[str, float | None]]:
    found = []
    for index, row in enumerate(rows):
        labels = [""] if len(row) == 1 else [f"coordinate {i}" for i in range(len(row))]
        labels = list(coordinates) if len(row) == len(coordinates) > 1 else labels
        prefix = objectives[index] if len(rows) > 1 else ""
        found += [(": ".join(filter(None, (prefix, label))), value) for label, value in zip(labels, row, strict=True)]
    return found


def _rows(diagnostics: Mapping[str, Any], quantity: str, count: int) -> list[list[float | None]]:
    """A quantity of the model of each of `count` objectives; empty if none was recorded."""
    models = diagnostics.get("models") or [diagnostics]
    rows = []
    for model in models[:count]:
        value = model.get(quantity)
        rows.append([number(item) for item in value] if isinstance(value, list) else [number(value)])
    return rows if any(item is not None for row in rows for item in row) else []


def _last(line: Sequence[float | None]) -> float:
    return next((value for value in reversed(line) if value is not None), float("inf"))
