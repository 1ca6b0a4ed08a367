"""`betabo reproduce`: the paper's figures and tables, made anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from betabo.cli.errors import PlainCommand, PlainGroup, user_errors
from betabo.lab.reproduce.catalogue import REPRODUCTIONS
from betabo.lab.reproduce.entry import Reproduction, Scale

app = typer.Typer(
    cls=PlainGroup,
    help="Make figures and tables of the paper anew, and compare them with what was printed.",
    epilog="Example: betabo reproduce eigendecay --scale smoke --out out/reproduce",
    no_args_is_help=True,
)

_SETTINGS = "placements-settings"
_SCALE_HELP = "smoke: under a minute; standard: at most about twenty minutes on two cores; paper: its own numbers."


@app.command("list", cls=PlainCommand)
@user_errors
def show_list() -> None:
    """List what can be reproduced.

    Example: betabo reproduce list
    """
    from betabo.cli.tables import console, print_table, table

    listing = table()
    listing.add_column("name", style="bold", no_wrap=True)
    listing.add_column("what it is")
    for entry in REPRODUCTIONS.values():
        listing.add_row(entry.name, entry.description)
    print_table(console(), listing)


_Scale = Annotated[Scale, typer.Option(help=_SCALE_HELP)]
_Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder; files go to DIR/NAME.")]
_Workers = Annotated[int, typer.Option(min=1, help="Processes, where several can be used.")]
_Finished = Annotated[bool, typer.Option("--finished", help="Draw the searches that are finished, and start none.")]
_Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
_FOLDER = Path("out/reproduce")


def _add_command(entry: Reproduction) -> None:
    @user_errors
    def command(
        scale: _Scale = "standard",
        out: _Out = _FOLDER,
        workers: _Workers = 1,
        finished: _Finished = False,
        quiet: _Quiet = False,
    ) -> None:
        _reproduce(entry, scale, out, workers, finished, quiet)

    @user_errors
    def with_settings(
        scale: _Scale = "standard",
        out: _Out = _FOLDER,
        workers: _Workers = 1,
        finished: _Finished = False,
        quiet: _Quiet = False,
        settings: Annotated[
            bool, typer.Option("--settings", help="Look for the paper's settings instead: placements-settings.")
        ] = False,
    ) -> None:
        _reproduce(REPRODUCTIONS[_SETTINGS] if settings else entry, scale, out, workers, finished, quiet)

    example = f"Example: betabo reproduce {entry.name} --scale smoke"
    chosen = with_settings if f"{entry.name}-settings" == _SETTINGS else command
    app.command(entry.name, cls=PlainCommand, help=f"{entry.description}.\n\n{example}")(chosen)


def _reproduce(entry: Reproduction, scale: Scale, out: Path, workers: int, finished: bool, quiet: bool) -> None:
    import sys

    from betabo.cli.tables import console, duration
    from betabo.lab.reproduce import reproduce

    screen = console()
    if not finished:
        screen.print(f"{entry.name}, scale {scale}: about {duration(entry.estimate(scale))} on two cores")
    progress = not quiet and sys.stdout.isatty()
    summary = reproduce(entry.name, scale=scale, out=out, workers=workers, progress=progress, finished=finished)
    if summary.settings:
        screen.print(f"under {summary.settings}:", soft_wrap=True)
    for claim in summary.claims:
        screen.print(f"- {claim.text}: {claim.verdict} ({claim.evidence})", soft_wrap=True)
    screen.print(f"files: {out / entry.name}", soft_wrap=True)


for _entry in REPRODUCTIONS.values():
    _add_command(_entry)
