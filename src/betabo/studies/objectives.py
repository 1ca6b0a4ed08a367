"""Objectives: what a worker calls with the parameters of a trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Protocol

from betabo.space import Space
from betabo.studies.command import CommandObjective
from betabo.studies.errors import EvaluationFailedError, ObjectiveError, StudyError
from betabo.studies.function import FunctionObjective
from betabo.studies.workspace import Workspace

__all__ = [
    "CommandObjective",
    "EvaluationFailedError",
    "FunctionObjective",
    "Objective",
    "ObjectiveError",
    "Workspace",
    "objective_from_json",
]


class Objective(Protocol):
    """What a study minimizes or maximizes.

    It is described by plain JSON, so that a worker in another process, or on another day, can have the same one.
    """

    def check(self, space: Space) -> None:
        """Refuse at once what can be seen to be wrong without running anything.

        Raises:
            StudyError: It is wrong, with the reason.
        """

    def prepare(self, space: Space) -> None:
        """Get ready in the worker, before the first trial.

        Raises:
            StudyError: It cannot be called with the parameters of `space`, with the reason.
        """

    def __call__(self, parameters: dict[str, Any], workspace: Workspace) -> float | tuple[float, ...]:
        """The value at `parameters`, or the values of several objectives.

        Raises:
            EvaluationFailedError: It failed at these parameters.
            ObjectiveError: It would fail at any.
        """

    def to_json(self) -> dict[str, Any]:
        """A description of plain JSON types, see `objective_from_json`."""

    def describe(self) -> str:
        """One line for people."""


_KINDS: dict[str, type[FunctionObjective] | type[CommandObjective]] = {
    "function": FunctionObjective,
    "command": CommandObjective,
}
_METHODS = ("check", "prepare", "__call__", "to_json", "describe")


def objective_from_json(data: Mapping[str, Any]) -> Objective:
    """The objective that `to_json` described.

    Args:
        data: `"type"` and the arguments of that type: `"function"`, `"command"`, or `"MODULE:CLASS"` for a class of an
            installed package that has the methods of an `Objective`.

    Raises:
        StudyError: There is no such type, or its arguments are others.
    """
    arguments = dict(data)
    kind = arguments.pop("type", None)
    make = _KINDS[kind] if isinstance(kind, str) and kind in _KINDS else _imported(kind)
    try:
        return make(**arguments)
    except TypeError as error:
        raise StudyError(f"the objective's description {dict(data)!r} is wrong: {error}.") from error


def _imported(kind: Any) -> Callable[..., Objective]:
    """The class `"MODULE:CLASS"`; one without the methods of an objective is never called."""
    module, colon, name = kind.partition(":") if isinstance(kind, str) else ("", "", "")
    if not (colon and name.isidentifier() and all(part.isidentifier() for part in module.split("."))):
        known = ", ".join(map(repr, _KINDS))
        raise StudyError(f"the objective's type is {kind!r}, expected one of {known}, or 'MODULE:CLASS'.")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise StudyError(f"the objective's type {kind!r} cannot be imported: {error}; install what has it.") from error
    missing = [method for method in _METHODS if not callable(getattr(found, method, None))]
    if not isinstance(found, type) or missing:
        lacks = f"lacks {', '.join(missing)}" if missing else "is no class"
        raise StudyError(f"the objective's type {kind!r} {lacks}; expected a class with {', '.join(_METHODS)}.")
    return found
