"""How accurate the value of a trial is: an error beside it, as a program prints it or an objective returns it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from betabo.optuna.attributes import VARIANCE
from betabo.studies.errors import ObjectiveError
from betabo.studies.workspace import Workspace

_SIGN = "\N{PLUS-MINUS SIGN}"
_SIGNS = ("+/-", "+-", _SIGN)
_EXPECTED = "expected a standard error >= 0"


def parse_values(line: str) -> tuple[list[float], list[float | None]]:
    """The values on a line, and the error of each, None without one: `1.3 ± 0.2` or `1.3 +- 0.2, 4.1 +- 0.5`.

    Raises:
        ValueError: A word is no number, or a sign has nothing before or behind it.
    """
    for sign in _SIGNS:
        line = line.replace(sign, f" {_SIGN} ")
    values: list[float] = []
    errors: list[float | None] = []
    words = iter(line.replace(",", " ").split())
    for word in words:
        if word != _SIGN:
            values.append(float(word))
            errors.append(None)
        elif not values or errors[-1] is not None:
            raise ValueError(f"{word} stands behind no value")
        else:
            errors[-1] = float(next(words, ""))
    return values, errors


def split_result(result: Any) -> tuple[Any, Any]:
    """The values of an objective's result, and its errors, as in `{"value": 1.3, "error": 0.2}`, or None."""
    if isinstance(result, Mapping):
        for value, error in (("value", "error"), ("values", "errors")):
            if value in result:
                return result[value], result.get(error)
    return result, None


def note_errors(workspace: Workspace, errors: Any, count: int, source: str) -> None:
    """Note the errors of a trial's values, for the model to know.

    Args:
        workspace: Where the trial leaves its notes.
        errors: An error, or one for each value; None, and what is not finite, where it is not known.
        count: Number of values.
        source: Where they come from, for messages.

    Raises:
        ObjectiveError: An error is no number or negative, or some values have one and others have none.
    """
    several = isinstance(errors, Sequence) and not isinstance(errors, str | bytes)
    given = [_error(entry, source) for entry in (errors if several else [errors])]
    if all(error is None for error in given):
        return
    if len(given) != count or None in given:
        raise ObjectiveError(
            f"{source} {sum(e is not None for e in given)} errors for {count} values; expected one each."
        )
    variances = [error**2 for error in given if error is not None]
    workspace.note(VARIANCE, variances[0] if count == 1 else variances)


def _error(given: Any, source: str) -> float | None:
    if given is None:
        return None
    try:
        if isinstance(given, str | bytes | bool):
            raise TypeError("this is no number")
        error = float(given)
    except (TypeError, ValueError, OverflowError):
        raise ObjectiveError(f"{source} the error {given!r}; {_EXPECTED}.") from None
    if error < 0:
        raise ObjectiveError(f"{source} the error {error}; {_EXPECTED}.")
    return error if math.isfinite(error) else None
