"""`betabo delete`, `rename` and `widen`: studies as a whole."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from betabo.cli.consent import consent
from betabo.cli.errors import user_errors
from betabo.cli.lines import say
from betabo.cli.options import DEFAULT_LOGS, DEFAULT_STORAGE, Logs, Storage, StudyName


@user_errors
def delete(
    name: StudyName,
    storage: Storage = DEFAULT_STORAGE,
    yes: Annotated[bool, typer.Option("--yes", help="Delete it without a question.")] = False,
) -> None:
    """Delete a study with all its trials; asks first. The logs of its trials stay.

    Example: betabo delete train-objective
    """
    from betabo.studies import delete_study

    about = _about(name, storage)
    if not consent(yes, question="Delete it for good?", advice="Add --yes to delete it.")(about):
        say("nothing was deleted")
        return
    delete_study(name, storage)
    say(f"deleted: {name}")


def _about(name: str, storage: str) -> str:
    """What is to be deleted, on one line."""
    from betabo.optuna.best import directions_of
    from betabo.optuna.trials import read_trials
    from betabo.studies import DamagedStudyError, load_study

    try:
        study = load_study(name, storage)
        trials = read_trials(study)
    except DamagedStudyError as error:
        return f"study {name!r} is damaged: {error.what}."
    valued = sum(trial.is_complete for trial in trials)
    count = f"{len(trials)} trial{'' if len(trials) == 1 else 's'}"
    return f"study {name!r}: {', '.join(directions_of(study))}, {count}, {valued} of them with a value."


@user_errors
def rename(
    name: StudyName,
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
    storage: Storage = DEFAULT_STORAGE,
    logs: Logs = DEFAULT_LOGS,
) -> None:
    """Give a study another name; the logs of its trials move with it.

    Example: betabo rename train-objective first-try
    """
    from betabo.studies import rename_study

    rename_study(name, new, storage, Path(logs))
    say(f"renamed: {name} is {new}")


@user_errors
def widen(
    name: StudyName,
    ranges: Annotated[
        list[str], typer.Argument(metavar="NAME=LOW..HIGH...", help="The new range of a number, such as lr=1e-5..1.")
    ],
    storage: Storage = DEFAULT_STORAGE,
) -> None:
    """Give numbers of a study a wider range, or a narrower one; all trials are kept.

    The model goes on with the trials that lie in the new box. Run the study again with the new ranges.

    Example: betabo widen train-objective lr=1e-5..1
    """
    from betabo.studies import move_box, parse_parameters
    from betabo.studies.widening import describe_ranges

    moved = dict(parse_parameters(ranges).parameters)
    space, inside = move_box(name, moved, storage)
    now = describe_ranges(space, moved)
    say(f"moved: {name} has {', '.join(now)} now; {inside} trials with a value lie in its box")
    options = " ".join(f"--param {shlex.quote(described)}" for described in now)
    lines = ", ".join(
        f"{name} = {json.dumps(text)}" for name, _, text in (described.partition("=") for described in now)
    )
    say(f"go on with the command of the study and {options}; where it has a --problem file, write there: {lines}")
