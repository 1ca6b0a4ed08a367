"""The trials of a study as rows, and as files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from optuna.study import Study
from optuna.trial import FrozenTrial

from betabo.attributes import INTERRUPTED, REASON, RETRY_OF, SECONDS, STEP, WORKER
from betabo.extras import needs_extra
from betabo.files import whole_file
from betabo.space import Float, Int, Space
from betabo.studies.errors import StudyError
from betabo.studies.ledger import Ledger
from betabo.studies.process import is_alive
from betabo.studies.stored_plan import study_space

Format = Literal["parquet", "csv", "json"]

_FIGURES = ("bandwidth", "boundary_weight", "lengthscale", "noise", "fit", "fit_seconds", "acquisition_seconds")


def trial_rows(study: Study) -> list[dict[str, Any]]:
    """One dict a trial, in the order of their numbers, all with the same keys.

    Returns:
        `number`; `state`, which is `"complete"`, `"pruned"`, `"failed"`, `"interrupted"`, `"running"` or `"waiting"`;
        `value`, or `values_0`, `values_1`, ... of several objectives; the parameters by name, with `param_` before a
        name that another column has; `seconds` that the objective took; `started` and `finished`; `worker`, as
        `host:pid`; `reason` of a failure; `retry_of`, the number of the trial that it repeats; `origin`, `"start"` or
        `"model"`; `on_face`, whether a number is on a bound; `boundary_distance`, 1 at the centre of the box and 0 on
        its boundary; figures of the model's fit; what the objective noted (Optuna's user attributes) by name, with
        `note_` before a name that another column has, and lists and dicts as JSON. What does not apply is None.
    """
    space = study_space(study)
    ledger = Ledger(study.get_trials(deepcopy=False))
    shown = [trial for trial in ledger.trials if ledger.state(trial) != "withdrawn"]
    names = list(space.names) if space is not None else []
    names += sorted({name for trial in shown for name in trial.params} - set(names))
    objectives = len(study.directions)
    values = ["value"] if objectives == 1 else [f"values_{index}" for index in range(objectives)]
    columns = {"number", "state", *values, *_DETAILS}
    keys = {name: f"param_{name}" if name in columns else name for name in names}
    taken = columns | set(keys.values())
    noted = list(dict.fromkeys(name for trial in shown for name in trial.user_attrs))
    notes = {name: f"note_{name}" if name in taken else name for name in noted}
    rows = []
    for trial in shown:
        row: dict[str, Any] = {"number": trial.number, "state": _state(trial, ledger)}
        row.update(dict.fromkeys(values) if trial.values is None else zip(values, trial.values, strict=True))
        row.update({keys[name]: trial.params.get(name) for name in names})
        row.update(_details(trial, space))
        row.update({notes[name]: _scalar(trial.user_attrs.get(name)) for name in noted})
        rows.append(row)
    return rows


def bounds_hit(space: Space, parameters: Mapping[str, Any]) -> dict[str, Literal["lower", "upper"]]:
    """The numeric parameters that sit exactly on a bound, and which one it is.

    Args:
        space: The search space.
        parameters: A value for each name; missing ones are left out.
    """
    hits: dict[str, Literal["lower", "upper"]] = {}
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Float | Int) and name in parameters:
            position = _positions(space, {name: parameters[name]})
            if position and position[0] in (0.0, 1.0):
                hits[name] = "lower" if position[0] == 0.0 else "upper"
    return hits


def export(study: Study, path: str | PathLike[str], format: Format = "parquet") -> None:  # noqa: A002
    """Write the rows of `trial_rows` to a file, all of it or nothing.

    Args:
        study: The study.
        path: The file, which is replaced if it is there.
        format: `"parquet"`, `"csv"` or `"json"`. Times are ISO 8601 in local time; lists in CSV are JSON.

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


def _state(trial: FrozenTrial, ledger: Ledger) -> str:
    """The state of a trial, where one whose worker is known to be dead counts as interrupted already."""
    state = ledger.state(trial)
    if state == "running" and is_alive(trial.system_attrs.get(WORKER, {})) is False:
        return "interrupted"
    return state


def _details(trial: FrozenTrial, space: Space | None) -> dict[str, Any]:
    notes = trial.system_attrs
    step = notes.get(STEP, {})
    worker = notes.get(WORKER)
    positions = _positions(space, trial.params) if space is not None else []
    return {
        "seconds": _seconds(trial),
        "started": trial.datetime_start,
        "finished": trial.datetime_complete,
        "worker": None if worker is None else f"{worker['host']}:{worker['pid']}",
        "reason": notes.get(REASON, notes.get(INTERRUPTED)),
        "retry_of": notes.get(RETRY_OF),
        "origin": step.get("origin"),
        "on_face": any(u in (0.0, 1.0) for u in positions) if positions else None,
        "boundary_distance": 1 - 2 * max(abs(u - 0.5) for u in positions) if positions else None,
        **{name: step.get("diagnostics", {}).get(name) for name in _FIGURES},
    }


def _scalar(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value


def _seconds(trial: FrozenTrial) -> float | None:
    seconds = trial.system_attrs.get(SECONDS)
    if seconds is None and trial.duration is not None:
        return trial.duration.total_seconds()
    return seconds


def _positions(space: Space, parameters: Mapping[str, Any]) -> list[float]:
    """Coordinates of the numeric parameters in the unit cube; those that do not fit the space are left out."""
    positions = []
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Float | Int) and name in parameters:
            with suppress(TypeError, ValueError):
                positions.append(float(parameter.to_unit(parameters[name])[0]))
    return positions


def _write_json(rows: list[dict[str, Any]], path: Path) -> None:
    path.write_text(json.dumps(rows, indent=1, default=_iso) + "\n", encoding="utf-8")


def _write_csv(rows: list[dict[str, Any]], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else ["number", "state"])
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    return (
        json.dumps(value) if isinstance(value, list | bool) else _iso(value) if hasattr(value, "isoformat") else value
    )


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
