"""The trials of a study as rows, and as files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from optuna.study import Study

from betabo.extras import needs_extra
from betabo.files import whole_file
from betabo.optuna.best import objective_names
from betabo.optuna.trials import TrialRecord, read_trials
from betabo.studies.errors import StudyError
from betabo.studies.stored_plan import study_space
from betabo.visible import visible

Format = Literal["parquet", "csv", "json"]

_FIGURES = ("bandwidth", "boundary_weight", "lengthscale", "noise", "fit", "fit_seconds", "acquisition_seconds")


def trial_rows(study: Study) -> list[dict[str, Any]]:
    """One dict a trial, in the order of their numbers, all with the same keys.

    Returns:
        `number`; `state`, which is `"complete"`, `"pruned"`, `"failed"`, `"interrupted"`, `"running"` or `"waiting"`;
        `value`, or `values_0`, `values_1`, ... of several objectives, or the names of objectives that have some, with
        `value_` before a name that another column has; the parameters by name, with `param_` before a
        name that another column has; `seconds` that the objective took; `started` and `finished`; `worker`, as
        `host:pid`; `reason` of a failure; `retry_of`, the number of the trial that it repeats; `origin`, `"start"`,
        `"model"`, `"local"` or `"enqueued"`; `on_face`, whether a number is on a bound; `boundary_distance`, 1 at the
        centre of the box and 0 on its boundary; figures of the model's fit; what the objective noted (Optuna's user
        attributes) by name, with `note_` before a name that another column has, and lists and dicts as JSON. What does
        not apply is None.
    """
    space = study_space(study)
    trials = read_trials(study)
    names = list(space.names) if space is not None else []
    names += sorted({name for trial in trials for name in trial.distributions} - set(names))
    objectives = len(study.directions)
    values = ["value"] if objectives == 1 else [f"values_{index}" for index in range(objectives)]
    fixed = {"number", "state", *_DETAILS}
    values = [f"value_{name}" if name in fixed else name for name in objective_names(study) or values]
    columns = {*fixed, *values}
    keys = {name: f"param_{name}" if name in columns else name for name in names}
    taken = columns | set(keys.values())
    noted = list(dict.fromkeys(name for trial in trials for name in trial.notes))
    notes = {name: f"note_{name}" if name in taken else name for name in noted}
    rows = []
    for trial in trials:
        row: dict[str, Any] = {"number": trial.number, "state": trial.state}
        row.update(zip(values, trial.values, strict=True) if trial.values else dict.fromkeys(values))
        # What is only proposed, or in the queue, may be anything and would change the type of a column.
        row.update({keys[name]: trial.parameters[name] if name in trial.distributions else None for name in names})
        row.update(_details(trial))
        row.update({notes[name]: _scalar(trial.notes.get(name)) for name in noted})
        rows.append(row)
    return rows


def export(study: Study, path: str | PathLike[str], format: Format = "parquet") -> None:  # noqa: A002
    """Write the rows of `trial_rows` to a file, all of it or nothing.

    Args:
        study: The study.
        path: The file, which is replaced if it is there.
        format: `"parquet"`, `"csv"` or `"json"`. Times are ISO 8601 in local time. In CSV lists are JSON, and text
            that a spreadsheet would take for a formula has an apostrophe before it.

    Raises:
        StudyError: The format is unknown, or the file cannot be written.
        ImportError: Parquet without pyarrow.
    """
    if format not in _WRITERS:
        raise StudyError(f"format is {format!r}, expected one of {', '.join(_WRITERS)}.")
    rows = trial_rows(study)
    try:
        with whole_file(path) as temporary:
            _WRITERS[format](rows, temporary)
    except OSError as error:
        raise StudyError(f"cannot write {path}: {error.strerror}; choose another file.") from error


_DETAILS = (
    "seconds",
    "started",
    "finished",
    "worker",
    "reason",
    "retry_of",
    "origin",
    "on_face",
    "boundary_distance",
    *_FIGURES,
)


def _details(trial: TrialRecord) -> dict[str, Any]:
    return {
        "seconds": trial.seconds,
        "started": trial.started,
        "finished": trial.finished,
        "worker": trial.worker or None,
        "reason": trial.reason or None,
        "retry_of": trial.retry_of,
        "origin": trial.origin or None,
        "on_face": bool(trial.faces) if trial.positions else None,
        "boundary_distance": trial.boundary_distance,
        **{name: trial.diagnostics.get(name) for name in _FIGURES},
    }


def _scalar(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value


def _write_json(rows: list[dict[str, Any]], path: Path) -> None:
    path.write_text(json.dumps(rows, indent=1, default=_iso) + "\n", encoding="utf-8")


def _write_csv(rows: list[dict[str, Any]], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        columns = list(rows[0]) if rows else ["number", "state"]
        csv.writer(file).writerow(map(_inert, columns))
        writer = csv.DictWriter(file, columns)
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)


_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001
"""How text begins that some spreadsheet takes for a formula, those of Japanese ones among them."""


def _cell(value: Any) -> Any:
    if isinstance(value, list | bool):
        return json.dumps(value)
    if isinstance(value, str):
        return _inert(value)
    return _iso(value) if hasattr(value, "isoformat") else value


def _inert(text: str) -> str:
    """Text that no spreadsheet takes for a formula, by an apostrophe before it, and that no terminal obeys."""
    return ("'" if text.startswith(_FORMULAS) else "") + visible(text)


def _iso(value: Any) -> str:
    text: str = value.isoformat()
    return text


def _write_parquet(rows: list[dict[str, Any]], path: Path) -> None:
    with needs_extra("tables", "Parquet files need pyarrow"):
        import pyarrow
        import pyarrow.parquet
    columns = list(rows[0]) if rows else ["number", "state"]
    arrays = {name: _uniform([row[name] for row in rows]) for name in columns}
    pyarrow.parquet.write_table(pyarrow.table(arrays), path)


def _uniform(column: list[Any]) -> list[Any]:
    """A column of one type: choices of several types become text."""
    kinds = {type(value) for value in column if value is not None}
    return column if len(kinds) <= 1 or kinds <= {int, float} else [None if v is None else str(v) for v in column]


_WRITERS: dict[Format, Callable[[list[dict[str, Any]], Path], None]] = {
    "parquet": _write_parquet,
    "csv": _write_csv,
    "json": _write_json,
}
