"""A problem in a TOML file: what `betabo minimize --problem` reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from betabo.problem.problem import Problem
from betabo.space.text import read_toml, space_of_table
from betabo.suggestions import did_you_mean

_ENTRIES = (
    *("parameters", "objectives", "constraints", "known", "initial", "known_points", "earlier"),
    *("objective", "command", "result"),
)


@dataclass(frozen=True)
class ProblemFile:
    """What a file says.

    Attributes:
        problem: The problem.
        objective: The function to call, as `FILE.py:FUNCTION`; empty where the file names none.
        command: The program to run; empty where the file names none.
        result: Where the program leaves its value; empty where the file does not say.
    """

    problem: Problem
    objective: str = ""
    command: str = ""
    result: str = ""


def read_problem(path: str | PathLike[str]) -> ProblemFile:
    """Read a problem from a TOML file.

    Args:
        path: The file, with a table `[parameters]`, and perhaps `[objectives]` and `[constraints]`, lists `known` and
            `initial`, `known_points` and `earlier`, which are files seen from this one's folder, and `objective` or
            `command`.

    Raises:
        ValueError: The file cannot be read, or something in it is wrong.
    """
    data = read_toml(path)
    for name in data:
        if name not in _ENTRIES:
            hint = did_you_mean(name, _ENTRIES)
            raise ValueError(f"{path} has the unknown entry {name!r}; expected some of {', '.join(_ENTRIES)}.{hint}")
    known_points, earlier = (_table(data.get(name, ()), path) for name in ("known_points", "earlier"))
    try:
        problem = Problem(
            space_of_table(data.get("parameters"), path),
            objectives=data.get("objectives", "minimize"),
            constraints=data.get("constraints", ()),
            known=_texts(data, "known"),
            initial=_points(data),
            known_points=known_points,
            earlier=earlier,
        )
    except TypeError as error:
        raise ValueError(f"{path}: {error}") from error
    return ProblemFile(problem, *(_text(data, name) for name in ("objective", "command", "result")))


def _table(given: Any, path: str | PathLike[str]) -> Any:
    """Results in the file itself, or the place of a file with them, which is seen from the problem's folder."""
    return Path(path).parent / given if isinstance(given, str) else given


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name, "")
    if not isinstance(value, str):
        raise ValueError(f"{name} is {value!r}, expected text.")
    return value


def _texts(data: Mapping[str, Any], name: str) -> list[str]:
    value = data.get(name, [])
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise ValueError(f"{name} is {value!r}, expected a list of texts such as ['x + y <= 1'].")
    return value


def _points(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    value = data.get("initial", [])
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise ValueError(f"initial is {value!r}, expected a list of points such as [{{lr = 0.1, layers = 3}}].")
    return value
