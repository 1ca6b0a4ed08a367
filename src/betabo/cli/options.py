"""Options that several commands share."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

STORAGE_VARIABLE = "BETABO_STORAGE"

STUDY_PANEL = "Study"
SEARCH_PANEL = "Search"
SHOWN_PANEL = "What is shown"


def at_least_one(value: int) -> int:
    """Check an option that counts something."""
    if value < 1:
        raise typer.BadParameter(f"{value} is given, expected at least 1.")
    return value


Storage: TypeAlias = Annotated[
    str,
    typer.Option(
        envvar=STORAGE_VARIABLE,
        metavar="URL",
        show_envvar=True,
        help="Database of the studies: sqlite:///FILE or postgresql://USER@HOST/NAME.",
    ),
]
"""Where the studies are."""

DEFAULT_STORAGE = "sqlite:///betabo.db"
"""The storage when none is named; `betabo.studies.storage` says the same, but is slow to import for a `--help`."""

StudyName: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="Name of the study; see `betabo studies`.")]
"""The study a command is about."""

Logs: TypeAlias = Annotated[
    Path, typer.Option(metavar="DIR", help="Folder of the output of the trials.", rich_help_panel=STUDY_PANEL)
]
"""Where the trials' output goes."""

DEFAULT_LOGS = Path("betabo-logs")


def study_option(shown: str) -> Any:
    """The name of a study to begin or to go on with; what it is when none is given differs."""
    return typer.Option(
        metavar="NAME",
        help="Name of the study, which goes on if it exists.",
        show_default=shown,
        rich_help_panel=STUDY_PANEL,
    )


def trials_option(**more: Any) -> Any:
    """How many trials a study is to have."""
    return typer.Option(
        metavar="N", help="How many trials the study should reach in total.", rich_help_panel=STUDY_PANEL, **more
    )


Timeout: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Time after which no trial of this run begins: 90s, 15m, 2h, 1h30m.",
        rich_help_panel=STUDY_PANEL,
    ),
]
"""How long a run may take."""

Target: TypeAlias = Annotated[
    float | None,
    typer.Option(metavar="VALUE", help="Value that is good enough to stop.", rich_help_panel=STUDY_PANEL),
]
"""When a study is good enough."""

StopRules: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="plateau[=N]|regret[=GAIN]",
        help="Stop when the best value has not improved for N trials, or when no more than GAIN is left to be gained.",
        rich_help_panel=STUDY_PANEL,
    ),
]
"""Further reasons to stop."""

Workers: TypeAlias = Annotated[
    int,
    typer.Option(
        metavar="N",
        callback=at_least_one,
        help="Trials at the same time, each in its process.",
        rich_help_panel=STUDY_PANEL,
    ),
]
"""How many processes run trials."""

KernelName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Kernel of the model; see `betabo kernels`.",
        show_default="beta-additive",
        rich_help_panel=SEARCH_PANEL,
    ),
]
"""The kernel of a search."""


def acquisition_option(shown: str) -> Any:
    """The acquisition function of a search."""
    return typer.Option(
        metavar="NAME",
        help="Acquisition function; see `betabo acquisitions`.",
        show_default=shown,
        rich_help_panel=SEARCH_PANEL,
    )


def starting_points_option(shown: str) -> Any:
    """How many trials come before the model."""
    return typer.Option(
        metavar="N", help="Trials before the model is asked.", show_default=shown, rich_help_panel=SEARCH_PANEL
    )


Yes: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--yes", help="Go on with a study that somebody else made with another objective.", rich_help_panel=STUDY_PANEL
    ),
]
"""Whether to go on without being asked."""

Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", help="Only the result at the end.", rich_help_panel=SHOWN_PANEL)
]
"""Whether a search says nothing before its end."""

Plain: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--plain", help="A line for each finished trial in place of the live table.", rich_help_panel=SHOWN_PANEL
    ),
]
"""Whether a search prints lines rather than a live table."""


AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON for another program.", rich_help_panel=SHOWN_PANEL)
]
"""Whether the result is for another program."""


def print_json(data: object) -> None:
    """Print a result for another program: JSON, times as ISO 8601, what is no number as null."""
    typer.echo(json.dumps(_plain(data), indent=2))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.isoformat() if isinstance(value, datetime) else value


def storage_option(context: typer.Context, storage: str) -> str:
    """What other commands need to find the same storage: nothing if it is the default or in the environment."""
    source = context.get_parameter_source("storage")
    if source is None or source.name != "COMMANDLINE":
        return ""
    return f" --storage {shlex.quote(storage)}" if "@" not in storage else " --storage ..."
