"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

STORAGE_VARIABLE = "BETABO_STORAGE"

STUDY_PANEL = "Study"
SEARCH_PANEL = "Search"
SHOWN_PANEL = "What is shown"

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
