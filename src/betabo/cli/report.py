"""`betabo report`: a study as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from betabo.cli.errors import user_errors
from betabo.cli.lines import say
from betabo.cli.names import file_name
from betabo.cli.options import DEFAULT_STORAGE, Storage, StudyName


@user_errors
def report(
    name: StudyName,
    storage: Storage = DEFAULT_STORAGE,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page to write.", show_default="NAME.html")
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Write a study as one HTML page that needs no network: convergence, importance, slices, bounds, all trials.

    Example: betabo report train-objective --out report.html --open
    """
    from betabo.report import write_report
    from betabo.studies.storage import load_study

    path = Path(file_name(name, ".html")) if out is None else out
    write_report(load_study(name, storage), path)
    say(f"report: {path}")
    if open_page:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
