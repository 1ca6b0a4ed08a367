"""`betabo studies`, `show`, `best` and `export`: look at what is stored."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Annotated, Any

import typer

from betabo.cli.errors import user_errors, warn
from betabo.cli.lines import say
from betabo.cli.names import file_name
from betabo.cli.options import DEFAULT_STORAGE, AsJson, Storage, StudyName, print_json, storage_option

if TYPE_CHECKING:
    from rich.table import Table

    from betabo.optuna.recommendation import Recommended
    from betabo.optuna.trials import TrialRecord

_MOST_PARAMETERS = 8  # with more, parameters share one column


class Format(StrEnum):
    """Formats of exported trials."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


@user_errors
def show_studies(storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False) -> None:
    """List the studies of a storage.

    Example: betabo studies --storage sqlite:///runs.db
    """
    from rich.text import Text

    from betabo.cli.tables import ago, console, number, print_table, table
    from betabo.studies import list_studies

    found = list_studies(storage)
    if as_json:
        print_json([asdict(info) for info in found])
        return
    if not found:
        say("no studies yet; `betabo minimize` makes one")
        return
    listing = table()
    for head in ("study", "direction", "trials", "best", "states", "last"):
        listing.add_column(head, justify="right" if head in ("trials", "best") else "left", no_wrap=head != "states")
    for info in found:
        if info.damage:
            listing.add_row(Text(info.name, style="bold"), "-", "-", "-", Text("damaged", style="red"), "-")
            continue
        listing.add_row(
            Text(info.name, style="bold"),
            ", ".join(info.directions),
            str(info.trials),
            "-" if info.best is None else number(float(info.best), 6),
            ", ".join(f"{count} {state}" for state, count in sorted(info.states.items())),
            ago(info.last),
        )
    print_table(console(), listing)
    for info in found:
        if info.damage:
            warn(f"study {info.name!r} is damaged: {info.damage}.")


@user_errors
def show(
    name: StudyName,
    storage: Storage = DEFAULT_STORAGE,
    last: Annotated[int, typer.Option(metavar="N", min=1, help="How many of the last trials.")] = 20,
    everything: Annotated[bool, typer.Option("--all", help="All trials.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the trials of a study.

    Example: betabo show train-objective --last 10
    """
    from rich.text import Text

    from betabo.cli.tables import console, print_table
    from betabo.cli.trials import TrialReader
    from betabo.optuna.best import best_trials, directions_of, objective_names
    from betabo.optuna.recommendation import recommended_with_noise
    from betabo.studies import load_study, trial_rows

    study = load_study(name, storage)
    if as_json:
        rows = trial_rows(study)
        print_json(rows if everything else rows[-last:])
        return
    directions, trials = directions_of(study), TrialReader(study).read()
    shown = trials if everything else trials[-last:]
    screen = console()
    names = objective_names(study)
    goals = directions if names is None else [f"{d} {name}" for d, name in zip(directions, names, strict=True)]
    head = f"{study.study_name}: {', '.join(goals)}, {sum(trial.counts for trial in trials)} trials"
    if len(shown) < len(trials):
        head += f", the last {len(shown)} of {len(trials)} rows (--all shows all)"
    best = {trial.number for trial in best_trials(trials, directions)}
    recommended = recommended_with_noise(study, trials)
    if recommended is not None and recommended.trial is not None:
        head += f"; with noise, trial {recommended.trial} is believed best"
        best = {recommended.trial}
    screen.print(Text(head), soft_wrap=True)
    if shown:
        print_table(screen, _trial_table(shown, best, ", ".join(names or ["value"])))


@user_errors
def best(
    context: typer.Context,
    name: StudyName,
    storage: Storage = DEFAULT_STORAGE,
    as_json: AsJson = False,
) -> None:
    """Show the best trial of a study, or the Pareto front if it has several objectives.

    Example: betabo best train-objective --json
    """
    from betabo.cli.summary import print_best, print_bound_hint
    from betabo.cli.tables import console
    from betabo.cli.trials import TrialReader
    from betabo.optuna.best import best_trials, directions_of, objective_names
    from betabo.optuna.recommendation import recommended_with_noise
    from betabo.studies import load_study

    study = load_study(name, storage)
    directions, trials = directions_of(study), TrialReader(study).read()
    found, recommended = best_trials(trials, directions), recommended_with_noise(study, trials)
    names = objective_names(study)
    if as_json:
        print_json(best_as_json(name, directions, found, recommended, trials, names))
        return
    screen = console()
    print_best(screen, trials, directions, recommended=recommended, names=names)
    if len(directions) == 1 and found:
        number = found[0].number if recommended is None else recommended.trial
        faces = next(trial.faces for trial in trials if trial.number == number)
        print_bound_hint(screen, faces, name, storage_option=storage_option(context, storage))


@user_errors
def export_study(
    name: StudyName,
    to: Annotated[
        Format | None, typer.Option(help="Format.", show_default="from the name of --out, else parquet")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file to write; - is the standard output.", show_default="NAME.FORMAT"),
    ] = None,
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Write the trials of a study to a file, one row a trial.

    Example: betabo export train-objective --to csv --out trials.csv
    """
    from betabo.studies import export, load_study

    study = load_study(name, storage)
    if out == Path("-"):
        sys.stdout.flush()
        with NamedTemporaryFile() as file:
            export(study, file.name, format=(to or Format.CSV).value)
            sys.stdout.buffer.write(Path(file.name).read_bytes())
        return
    form = to or _format_of(out)
    path = Path(file_name(name, f".{form}")) if out is None else out
    export(study, path, format=form.value)
    say(f"trials: {path}")


def _format_of(path: Path | None) -> Format:
    if path is None:
        return Format.PARQUET
    try:
        return Format(path.suffix.lstrip(".").lower())
    except ValueError:
        raise ValueError(
            f"--out is {path}, whose ending names no format; expected {', '.join(Format)}, or say it with --to."
        ) from None


def best_as_json(
    name: str,
    directions: Sequence[str],
    best: Sequence[TrialRecord],
    recommended: Recommended | None = None,
    trials: Sequence[TrialRecord] = (),
    names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """What was found, for another program: the best trial, or the front of several objectives.

    Args:
        name: The study.
        directions: Direction of each objective.
        best: The best trials.
        recommended: What the model believes best where it sees noise; it then takes the place of the best trial, which
            is there as `"observed"`.
        trials: All trials, to look the recommended one up.
        names: Names of the objectives, where they have some.
    """
    several = len(directions) > 1
    found = [
        {
            "trial": trial.number,
            **({"values": list(trial.values)} if several else {"value": trial.values[0]}),
            "parameters": dict(trial.parameters),
            "on_bound": trial.faces,
        }
        for trial in best
    ]
    head = {"study": name, "directions": list(directions), **({} if names is None else {"objectives": list(names)})}
    if several:
        return {**head, "front": found}
    chosen = None if recommended is None else next((t for t in trials if t.number == recommended.trial), None)
    if recommended is not None and chosen is not None:
        estimate = None if recommended.estimate is None else asdict(recommended.estimate)
        about = {"trial": chosen.number, "value": recommended.value, "parameters": dict(chosen.parameters)}
        noisy = {"on_bound": chosen.faces, "sees_noise": True, "estimate": estimate, "observed": found[0]}
        return {**head, **about, **noisy}
    return {**head, **(found[0] if found else {"trial": None, "value": None, "parameters": {}, "on_bound": {}})}


def _trial_table(trials: list[TrialRecord], best: set[int], value_head: str = "value") -> Table:
    """One row a trial; the best are green, and the reason of a failure stands where the value would."""
    from rich.text import Text

    from betabo.cli.tables import assignments, duration, number, table, values_text

    names = list(dict.fromkeys(name for trial in trials for name in trial.parameters))
    apart = len(names) <= _MOST_PARAMETERS
    listing = table()
    listing.add_column("trial", justify="right", no_wrap=True)
    listing.add_column(Text(value_head), no_wrap=True)
    listing.add_column("time", justify="right", no_wrap=True)
    noted = any(trial.remarks for trial in trials)
    if noted:
        listing.add_column("notes", overflow="fold")
    for name in names if apart else ["parameters"]:
        listing.add_column(Text(name), overflow="fold")
    if any(trial.reason for trial in trials):
        listing.add_column("reason", overflow="fold")
    for trial in trials:
        cells = [number(trial.parameters[name]) if name in trial.parameters else "" for name in names]
        value = values_text(trial.values, errors=trial.errors) if trial.state == "complete" else trial.state
        listing.add_row(
            Text(str(trial.number)),
            Text(value, style="bold green" if trial.number in best else ""),
            duration(trial.seconds),
            *([Text(assignments(trial.remarks))] if noted else []),
            *map(Text, cells if apart else [assignments(trial.parameters)]),
            Text(trial.reason),
        )
    return listing
