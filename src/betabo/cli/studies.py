"""`betabo studies`, `show`, `best` and `export`: look at what is stored."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from betabo.cli.errors import user_errors
from betabo.cli.names import file_name
from betabo.cli.options import DEFAULT_STORAGE, Storage, StudyName

if TYPE_CHECKING:
    import optuna
    from rich.table import Table

    from betabo.cli.trials import Trial

_MOST_PARAMETERS = 8  # with more, parameters share one column


class Format(StrEnum):
    """Formats of exported trials."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


@user_errors
def show_studies(storage: Storage = DEFAULT_STORAGE) -> None:
    """List the studies of a storage.

    Example: betabo studies --storage sqlite:///runs.db
    """
    from rich.text import Text

    from betabo.cli.tables import ago, console, number, print_table, table
    from betabo.studies import list_studies

    found = list_studies(storage)
    if not found:
        typer.echo("no studies yet; `betabo minimize` makes one")
        return
    listing = table()
    for head in ("study", "direction", "trials", "best", "states", "last"):
        listing.add_column(head, justify="right" if head in ("trials", "best") else "left", no_wrap=head != "states")
    for info in found:
        listing.add_row(
            Text(info.name, style="bold"),
            ", ".join(info.directions),
            str(info.trials),
            "-" if info.best is None else number(float(info.best), 6),
            ", ".join(f"{count} {state}" for state, count in sorted(info.states.items())),
            ago(info.last),
        )
    print_table(console(), listing)


@user_errors
def show(
    name: StudyName,
    storage: Storage = DEFAULT_STORAGE,
    last: Annotated[int, typer.Option(metavar="N", min=1, help="How many of the last trials.")] = 20,
    everything: Annotated[bool, typer.Option("--all", help="All trials.")] = False,
) -> None:
    """Show the trials of a study.

    Example: betabo show train-objective --last 10
    """
    from rich.text import Text

    from betabo.cli.tables import console, print_table
    from betabo.cli.trials import TrialReader
    from betabo.studies import load_study

    study = load_study(name, storage)
    trials = TrialReader(study).read()
    shown = trials if everything else trials[-last:]
    screen = console()
    head = f"{study.study_name}: {', '.join(_directions(study))}, {sum(trial.counts for trial in trials)} trials"
    if len(shown) < len(trials):
        head += f", the last {len(shown)} of {len(trials)} rows (--all shows all)"
    screen.print(Text(head), soft_wrap=True)
    if shown:
        print_table(screen, _trial_table(shown, best=_best_numbers(trials, study)))


@user_errors
def best(
    name: StudyName,
    storage: Storage = DEFAULT_STORAGE,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for another program.")] = False,
) -> None:
    """Show the best trial of a study, or the Pareto front if it has several objectives.

    Example: betabo best train-objective --json
    """
    from betabo.cli.summary import print_best, print_bound_hint
    from betabo.cli.tables import console
    from betabo.cli.trials import TrialReader, best_of
    from betabo.studies import load_study

    study = load_study(name, storage)
    trials = TrialReader(study).read()
    if as_json:
        typer.echo(json.dumps(_best_json(study, trials), indent=2))
        return
    screen = console()
    print_best(screen, trials, _directions(study))
    if len(study.directions) == 1 and (found := best_of(trials, _directions(study)[0])) is not None:
        print_bound_hint(screen, found.on_bound)


@user_errors
def export_study(
    name: StudyName,
    to: Annotated[
        Format | None, typer.Option(help="Format.", show_default="from the name of --out, else parquet")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file to write.", show_default="NAME.FORMAT")
    ] = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Write the trials of a study to a file, one row a trial.

    Example: betabo export train-objective --to csv --out trials.csv
    """
    from betabo.studies import export, load_study

    study = load_study(name, storage)
    form = to or _format_of(out)
    path = Path(file_name(name, f".{form}")) if out is None else out
    export(study, path, format=form.value)
    typer.echo(f"trials: {path}")


def _format_of(path: Path | None) -> Format:
    if path is None:
        return Format.PARQUET
    try:
        return Format(path.suffix.lstrip(".").lower())
    except ValueError:
        raise ValueError(
            f"--out is {path}, whose ending names no format; expected {', '.join(Format)}, or say it with --to."
        ) from None


def _directions(study: optuna.Study) -> list[str]:
    return [direction.name.lower() for direction in study.directions]


def _best_trials(trials: list[Trial], study: optuna.Study) -> list[Trial]:
    """The best trial, or those of the front."""
    from betabo.cli.trials import best_of, front_of

    directions = _directions(study)
    if len(directions) > 1:
        return front_of(trials, directions)
    found = best_of(trials, directions[0])
    return [] if found is None else [found]


def _best_numbers(trials: list[Trial], study: optuna.Study) -> set[int]:
    return {trial.number for trial in _best_trials(trials, study)}


def _best_json(study: optuna.Study, trials: list[Trial]) -> dict[str, Any]:
    found = [
        {
            "trial": trial.number,
            **({"value": trial.values[0]} if len(study.directions) == 1 else {"values": list(trial.values)}),
            "parameters": dict(trial.parameters),
            "on_bound": dict(trial.on_bound),
        }
        for trial in _best_trials(trials, study)
    ]
    head = {"study": study.study_name, "directions": _directions(study)}
    if len(study.directions) > 1:
        return {**head, "front": found}
    return {**head, **(found[0] if found else {"trial": None, "value": None, "parameters": {}, "on_bound": {}})}


def _trial_table(trials: list[Trial], best: set[int]) -> Table:
    """One row a trial; the best are green, and the reason of a failure stands where the value would."""
    from rich.text import Text

    from betabo.cli.tables import assignments, duration, number, table, values_text

    names = list(dict.fromkeys(name for trial in trials for name in trial.parameters))
    apart = len(names) <= _MOST_PARAMETERS
    listing = table()
    listing.add_column("trial", justify="right", no_wrap=True)
    listing.add_column("value", no_wrap=True)
    listing.add_column("time", justify="right", no_wrap=True)
    noted = any(trial.notes for trial in trials)
    if noted:
        listing.add_column("notes", overflow="fold")
    for name in names if apart else ["parameters"]:
        listing.add_column(Text(name), overflow="fold")
    if any(trial.reason for trial in trials):
        listing.add_column("reason", overflow="fold")
    for trial in trials:
        cells = [number(trial.parameters[name]) if name in trial.parameters else "" for name in names]
        value = values_text(trial.values) if trial.state == "complete" else trial.state
        listing.add_row(
            Text(str(trial.number)),
            Text(value, style="bold green" if trial.number in best else ""),
            duration(trial.seconds),
            *([Text(assignments(trial.notes))] if noted else []),
            *map(Text, cells if apart else [assignments(trial.parameters)]),
            Text(trial.reason),
        )
    return listing
