"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

STORAGE_VARIABLE = "BETABO_STORAGE"

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
