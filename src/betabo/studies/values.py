"""The numbers of an objective, checked: its time limit, and what it hands back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from betabo.studies.errors import EvaluationFailedError, ObjectiveError, StudyError


def check_timeout(timeout: float | None) -> None:
    """Refuse what is no duration."""
    if timeout is not None and not (isinstance(timeout, int | float) and 0 < timeout < math.inf):
        raise StudyError(f"timeout is {timeout!r}, expected a number of seconds > 0.")


def as_values(result: Any, source: str) -> tuple[float, ...]:
    """The values of a trial, one for each objective.

    Args:
        result: A number, or a tuple or list of them; NumPy's and torch's scalars are numbers too.
        source: Where it comes from, for messages, such as `"train.py:objective returned"`.

    Raises:
        ObjectiveError: It is not a number.
        EvaluationFailedError: It is not finite.
    """
    several = isinstance(result, Sequence) and not isinstance(result, str | bytes)
    values = tuple(_number(entry, source) for entry in (result if several else [result]))
    if not values:
        raise ObjectiveError(f"{source} an empty list; expected a number for each objective.")
    for value in values:
        if not math.isfinite(value):
            raise EvaluationFailedError(f"{source} {value}")
    return values


def _number(value: Any, source: str) -> float:
    if value is None:
        raise ObjectiveError(f"{source} None; expected a number, or an exception where the evaluation fails.")
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}..."
        raise ObjectiveError(f"{source} the {type(value).__name__} {shown}; expected a number.")
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError) as error:
        raise ObjectiveError(f"{source} a {type(value).__name__} that is no number: {error}.") from error
