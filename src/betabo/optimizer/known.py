"""Results that are known before a search begins: a table, a file or a list of them, as points and values."""

from __future__ import annotations

import csv
import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from betabo.extras import needs_extra
from betabo.optimizer.variance import as_variance
from betabo.problem import ERROR, Problem
from betabo.space import Categorical, Fixed, Float, Int, Parameter, Space
from betabo.suggestions import did_you_mean

if TYPE_CHECKING:
    import pandas

KnownPoints: TypeAlias = (
    "str | os.PathLike[str] | pandas.DataFrame | Iterable[Mapping[str, Any]] | Iterable[tuple[Any, float | None]]"
)
"""A file of CSV, Parquet or JSON, a table, rows with a `value`, or pairs of a point and its value."""

_VARIANCE = "variance"  # column
_ENDED = ("complete", "failed", "")  # states of exported trials that say what a point is worth


@dataclass(frozen=True)
class KnownPoint:
    """A point of a space with what came of it.

    Attributes:
        unit: The point in the unit cube.
        value: What its evaluation gave; None, NaN or infinity where it failed.
    """

    unit: tuple[float, ...]
    value: Any


def read_known(known: KnownPoints, problem: Problem | Space, name: str = "known_points") -> list[KnownPoint]:
    """The known points that lie in a space.

    Those outside are left out, and a warning says how many.

    Args:
        known: Pairs of a point, in the user's units, and its value; or rows: a DataFrame, dictionaries, or a file of
            CSV, Parquet or JSON. Rows have a column for each parameter (`x0`, `x1`, ... of a box) and `value`, or one
            for each objective and constraint that has a name, and may have the `variance` of the value's noise; other
            columns are ignored. A point without a value, or
            with NaN or infinity, is a failed evaluation. Of exported trials only those that ended count.
        problem: The space, with the names of objectives and constraints.
        name: What they are called, for messages.

    Raises:
        TypeError: It is none of these, or a value is no number.
        ValueError: A column is missing, or a file cannot be understood.
    """
    found: list[KnownPoint] = []
    outside: list[str] = []
    problem = Problem.of(problem)
    space = problem.space
    pairs = _pairs(known, problem, name)
    for number, (point, value) in enumerate(pairs):
        try:
            found.append(KnownPoint(tuple(space.to_unit(point).tolist()), _given(value, problem)))
        except ValueError as error:
            outside.append(f"the first, in row {number}, because {error}" if not outside else "")
        except TypeError as error:
            raise TypeError(f"known point {number}: {error}") from error
    if outside:
        warnings.warn(
            f"{len(outside)} of {len(pairs)} known points do not lie in the space and are left out; {outside[0]}",
            stacklevel=3,
        )
    return found


def _pairs(known: Any, problem: Problem, name: str) -> list[tuple[Any, Any]]:
    """Points, in the user's units as far as they can be, with their values."""
    if isinstance(known, str | os.PathLike):
        return _from_rows(_read_file(Path(known)), problem, str(known))
    if hasattr(known, "to_dict") and hasattr(known, "columns"):
        return _from_rows(known.to_dict("records"), problem, name)
    if not isinstance(known, Iterable) or isinstance(known, Mapping | bytes):
        raise TypeError(
            f"{name} is {known!r}, expected pairs (point, value), a DataFrame, rows with a 'value', or a file."
        )
    entries = list(known)
    if entries and all(isinstance(entry, Mapping) for entry in entries):
        return _from_rows(entries, problem, name)
    for number, entry in enumerate(entries):
        if not isinstance(entry, Sequence) or isinstance(entry, str) or len(entry) != 2:
            raise TypeError(f"{name}[{number}] is {entry!r}, expected a pair (point, value) such as ([0.5, 2.0], 1.3).")
    return [(point, value) for point, value in entries]


def _from_rows(rows: Sequence[Mapping[str, Any]], problem: Problem, where: str) -> list[tuple[Any, Any]]:
    space, results = problem.space, dict.fromkeys((*problem.names, *problem.measured))
    columns = dict.fromkeys(str(name) for row in rows for name in row)
    needed = {name: _column(name, columns) for name, p in space.parameters.items() if not isinstance(p, Fixed)}
    always = [column for name, column in needed.items() if not getattr(space.parameters[name], "when", ())]
    for name in (*always, *results):
        if rows and name not in columns:
            raise ValueError(
                f"{where} lacks the column {name!r}; it has {', '.join(columns)}, expected one for each parameter "
                f"and {', '.join(map(repr, results))}.{did_you_mean(name, columns)}"
            )
    pairs = []
    for row in rows:
        if "state" not in needed.values() and str(row.get("state", "")) not in _ENDED:
            continue
        given = {name: key for name, key in needed.items() if not _is_absent(space.parameters[name], row.get(key))}
        values = {name: _as_parameter(space.parameters[name], row.get(key)) for name, key in given.items()}
        constants = {name: p.value for name, p in space.parameters.items() if isinstance(p, Fixed)}
        for name, constant in constants.items():
            key = _column(name, columns)
            values[name] = _as_choice((constant,), row[key]) if key in row else constant
        pairs.append((list(values.values()) if space.is_box else values, _result_of(row, list(results), needed)))
    return pairs


def _is_absent(parameter: Parameter, given: Any) -> bool:
    """Whether a table says nothing of a parameter that exists only under a choice."""
    return bool(getattr(parameter, "when", ())) and (given is None or given == "" or given != given)


def _column(name: str, columns: Iterable[str]) -> str:
    """The column of a parameter; where another one has its name already, tables write `param_` before it."""
    return f"param_{name}" if f"param_{name}" in columns else name


def _as_parameter(parameter: Parameter, given: Any) -> Any:
    """A value of a table as the parameter takes it: files hold text, and DataFrames floats in place of integers."""
    given = given.item() if hasattr(given, "item") else given
    if isinstance(parameter, Categorical):
        return _as_choice(parameter.choices, given)
    if not isinstance(parameter, Float | Int):
        return given
    try:
        number = float(given)
    except (TypeError, ValueError):
        return given
    return int(number) if isinstance(parameter, Int) and number.is_integer() else number


def _as_choice(choices: Sequence[Any], given: Any) -> Any:
    """The choice that is meant, which may be written as text."""
    if isinstance(given, str) and given not in choices:
        return next((choice for choice in choices if str(choice) == given), given)
    return given


def _result_of(row: Mapping[str, Any], names: Sequence[str], parameters: Iterable[str]) -> Any:
    """What a row says of its point: a number, or one for each name, with its accuracy; None where one is missing."""
    numbers = [_number(row.get(name)) for name in names]
    if any(number is None for number in numbers):
        return None
    variance = _number(row.get(_VARIANCE))
    if variance is not None and variance == variance and not {_VARIANCE, ERROR} & {*names, *parameters}:
        return {**dict(zip(names, numbers, strict=True)), ERROR: sqrt(as_variance(variance, "the variance is"))}
    return dict(zip(names, numbers, strict=True)) if len(names) > 1 else numbers[0]


def _number(given: Any) -> Any:
    """A number that may be written as text; None for nothing."""
    if given is None or (isinstance(given, str) and not given.strip()):
        return None
    try:
        return float(given)
    except (TypeError, ValueError):
        return given


def _given(given: Any, problem: Problem) -> Any:
    """What a point is known to have given, once it is seen to be a value."""
    if given is not None:
        problem.measure(given, "the value is")
    return given


def _read_file(path: Path) -> list[dict[str, Any]]:
    """The rows of a file."""
    kind = path.suffix.lower()
    if kind == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))
    if kind == ".parquet":
        with needs_extra("tables", "Parquet files need pyarrow"):
            import pyarrow.parquet
        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
        return rows
    if kind == ".json":
        try:
            rows = json.loads(path.read_text(encoding="utf-8"))
        except RecursionError:
            raise ValueError(f"{path} is nested too deeply to be a list of rows, expected [{{...}}, ...].") from None
        if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
            return rows
        raise ValueError(f"{path} holds no list of rows, expected [{{...}}, ...].")
    raise ValueError(f"{path} ends in {kind or 'nothing'}, expected .csv, .parquet or .json.")
