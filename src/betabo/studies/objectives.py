"""Objectives: what a worker calls with the parameters of a trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Protocol

from betabo.space import Space
from betabo.studies.command import CommandObjective
from betabo.studies.errors import EvaluationFailedError, ObjectiveError, StudyError
from betabo.studies.function import FunctionObjective
from betabo.studies.values import Numbers
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

    def __call__(self, parameters: dict[str, Any], workspace: Workspace) -> Numbers:
        """The value at `parameters`, the values of several objectives, or numbers by name.

        Raises:
            EvaluationFailedError: It failed at these parameters.
            ObjectiveError: It would fail at any.
        """

    def to_json(self) -> dict[str, Any]:
        """A description of plain JSON types, see `objective_from_json`."""

    def describe(self) -> str:
        """One line for people."""


_KINDS = {
    "function": ("betabo.studies.function", "FunctionObjective"),
    "command": ("betabo.studies.command", "CommandObjective"),
    "python": ("betabo.studies.python", "PythonObjective"),
    "betabo.compress.objective:CompressionObjective": ("betabo.compress.objective", "CompressionObjective"),
}
"""The class of each type of description, by the module that has it. No other module is imported, whatever is asked."""


def objective_from_json(data: Mapping[str, Any]) -> Objective:
    """The objective that `to_json` described.

    Args:
        data: `"type"`, which is `"function"`, `"command"`, `"python"` or that of a compression, and the arguments of
            that type.

    Raises:
        StudyError: There is no such type, or its arguments are others.
    """
    arguments = dict(data)
    kind = arguments.pop("type", None)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise StudyError(f"the objective's type is {kind!r}, expected one of {', '.join(map(repr, _KINDS))}.")
    module, name = _KINDS[kind]
    make: Callable[..., Objective] = getattr(import_module(module), name)
    try:
        return make(**arguments)
    except (TypeError, AttributeError) as error:
        raise StudyError(f"the objective's description {dict(data)!r} is wrong: {error}.") from error


def describe_stored(data: Any) -> str:
    """One line for people about a description that may be anything."""
    try:
        return objective_from_json(data).describe()
    except (ValueError, TypeError):
        kind = data.get("type") if isinstance(data, Mapping) else data
        return f"one of the type {kind!r} with a description that cannot be read"
