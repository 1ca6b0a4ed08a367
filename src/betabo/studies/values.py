"""The numbers of an objective, checked: its time limit, and what it hands back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from betabo.problem import Problem
from betabo.studies.errors import EvaluationFailedError, ObjectiveError, StudyError

Numbers: TypeAlias = "float | tuple[float, ...] | Mapping[str, Any] | tuple[Any, Mapping[str, Any]]"
"""What an objective gives: a number, several, or numbers by name."""


def check_timeout(timeout: float | None) -> None:
    """Refuse what is no duration."""
    if timeout is not None and not (isinstance(timeout, int | float) and 0 < timeout < math.inf):
        raise StudyError(f"timeout is {timeout!r}, expected a number of seconds > 0.")


_UNNAMED = {"value", "values", "error", "errors"}


def is_named(result: Any) -> bool:
    """Whether an objective gave numbers by name: a dict, or values with a dict beside them."""
    if isinstance(result, Mapping):
        return not ({"value", "values"} & result.keys() and result.keys() <= _UNNAMED)
    return isinstance(result, tuple | list) and len(result) == 2 and isinstance(result[1], Mapping)


def named(result: Any, values: Any) -> Numbers:
    """Numbers by name, with the values that are among them under `"value"` or `"values"`, if any are."""
    if values is result:
        return cast("Numbers", result)
    return (values[0] if isinstance(values, list | tuple) and len(values) == 1 else values), result


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


def read_numbers(given: Numbers, problem: Problem, about: str) -> tuple[tuple[float, ...], Mapping[str, float]]:
    """The values of a trial and what was measured beside them.

    Args:
        given: What the objective gave.
        problem: Which numbers there have to be.
        about: The objective, for messages.

    Raises:
        ObjectiveError: Something is missing, or is no number.
        EvaluationFailedError: Something is not finite.
    """
    if not is_named(given):
        values = as_values(given, "the objective returned")
        if len(values) != len(problem.objectives):
            expected = f"{len(problem.objectives)}, one for each direction"
            raise ObjectiveError(f"{about} gave {len(values)} values, expected {expected}.")
        given = values if len(values) > 1 else values[0]
    try:
        found = problem.measure(given, f"{about} returned")
    except TypeError as error:
        raise ObjectiveError(str(error)) from error
    if found.trouble:
        raise EvaluationFailedError(found.trouble)
    return found.values, found.measured
