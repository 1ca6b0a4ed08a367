"""What one evaluation gave: a value for each objective, and what was measured beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

VALUE = "value"
"""The name of an objective that has none."""

ERROR = "error"
"""Under which a dict has the standard error of the value."""

_MOST_SHOWN = 60  # characters of a value in an error


@dataclass(frozen=True)
class Measurement:
    """The numbers of an evaluation, which may be NaN or infinite.

    Attributes:
        values: A value for each objective, in its own direction.
        measured: What the constraints are about, by name.
        error: Standard error of the value of a single objective, None where it is not known.
    """

    values: tuple[float, ...]
    measured: Mapping[str, float] = field(default_factory=dict)
    error: float | None = None

    @property
    def trouble(self) -> str:
        """What is no finite number, and thus makes the evaluation a failed one; empty where all are."""
        for value in self.values:
            if not math.isfinite(value):
                return f"the value was {value!r}"
        for name, value in self.measured.items():
            if not math.isfinite(value):
                return f"{name} was {value!r}"
        return ""


def read_measurement(
    given: Any, objectives: Sequence[str], measured: Sequence[str], source: str = "the objective returned"
) -> Measurement:
    """The numbers that an objective returned.

    Args:
        given: A number; several in the order of the objectives; a dict with the name of each objective and of each
            thing that is measured; or a pair of the value (or the values) and a dict of what is measured. The dict may
            have the standard error of a single objective's value as `"error"`, unless this is the name of something.
        objectives: Names of the objectives.
        measured: Names of what the constraints are about.
        source: Where it comes from, for messages.

    Raises:
        TypeError: Something is missing, or no number.
    """
    beside: Mapping[str, Any] = {}
    if isinstance(given, tuple | list) and len(given) == 2 and isinstance(given[1], Mapping):
        given, beside = given
    if isinstance(given, Mapping):
        beside = {**given, **beside}
        missing = [name for name in objectives if name not in beside]
        if missing and (*objectives, *measured) == (VALUE,):
            as_number(given, source)  # says that it is a dict, where nobody asked for one
        if missing:
            raise TypeError(f"{source} a dict without {missing[0]!r}, expected {_expected(objectives, measured)}.")
        numbers = [beside[name] for name in objectives]
    elif len(objectives) > 1:
        numbers = _several(given, objectives, measured, source)
    else:
        numbers = [given]
    values = tuple(as_number(number, source) for number in numbers)
    named = {**dict(zip(objectives, values, strict=True)), **beside}
    for name in measured:
        if name not in named:
            raise TypeError(
                f"{source} nothing for the constraint {name!r}, expected {_expected(objectives, measured)}."
            )
    error = beside.get(ERROR) if len(objectives) == 1 and ERROR not in (*objectives, *measured) else None
    if error is not None:
        error = as_number(error, f"{source} for {ERROR}")
        if not 0 <= error < math.inf:
            raise TypeError(f"{source} the error {error}, expected a standard error >= 0.")
    return Measurement(values, {name: as_number(named[name], f"{source} for {name}") for name in measured}, error)


def as_number(value: Any, source: str) -> float:
    """A value as a float; NaN and infinity are values here.

    Raises:
        TypeError: It is not one number.
    """
    if value is None:
        raise TypeError(f"{source} None, expected a number; does it lack a return?")
    try:
        if isinstance(value, str | bytes):
            raise TypeError("text is no number")
        return float(value.item() if hasattr(value, "item") else value)
    except OverflowError:  # an integer beyond the largest float
        return math.inf
    except (TypeError, ValueError, RuntimeError) as error:  # the last one is torch's
        raise TypeError(f"{source} the {type(value).__name__} {_shown(value)}, expected a number.") from error


def _several(given: Any, objectives: Sequence[str], measured: Sequence[str], source: str) -> list[Any]:
    entries = given.tolist() if hasattr(given, "tolist") else given
    if not isinstance(entries, Sequence) or isinstance(entries, str | bytes):
        raise TypeError(f"{source} {_shown(given)}, expected {_expected(objectives, measured)}.")
    if len(entries) != len(objectives):
        raise TypeError(f"{source} {len(entries)} values, expected {_expected(objectives, measured)}.")
    return list(entries)


def _expected(objectives: Sequence[str], measured: Sequence[str]) -> str:
    names = dict.fromkeys((*objectives, *measured))
    example = f"a dict with {', '.join(map(repr, names))}"
    return example if measured else f"{example}, or their numbers in that order"


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _MOST_SHOWN else f"{shown[: _MOST_SHOWN - 3]}..."
