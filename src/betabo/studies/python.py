"""An objective that a program of Python passed to `betabo.minimize`, of which a study knows the name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from betabo.space import Space
from betabo.studies.errors import ObjectiveError
from betabo.studies.values import Numbers
from betabo.studies.workspace import Workspace


@dataclass(frozen=True)
class PythonObjective:
    """A function in the memory of the program that called `betabo.minimize`, which no other process has.

    Args:
        name: What it is called there.
    """

    name: str

    @classmethod
    def of(cls, function: Any) -> PythonObjective:
        """What a study knows of a function."""
        kind = type(function)
        module = getattr(function, "__module__", kind.__module__)
        return cls(f"{module}.{getattr(function, '__qualname__', kind.__qualname__)}")

    def check(self, space: Space) -> None:
        """Nothing: whoever has the function sees to it."""

    def prepare(self, space: Space) -> None:  # noqa: ARG002
        """Refuse to work without the function."""
        raise ObjectiveError(
            f"the objective is {self.name}, a function that a program passed to betabo.minimize; run that program "
            "again, or name a file: FILE.py:FUNCTION."
        )

    def __call__(self, parameters: dict[str, Any], workspace: Workspace) -> Numbers:  # noqa: ARG002
        """Nothing can be called here."""
        raise ObjectiveError(f"the objective {self.name} is not in this process.")

    def to_json(self) -> dict[str, Any]:
        """A description of plain JSON types."""
        return {"type": "python", "name": self.name}

    def describe(self) -> str:
        """The name."""
        return f"{self.name}, passed to betabo.minimize"
