"""The commands in one place. Nothing heavy is imported here, so that every `--help` is instant."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from betabo import __version__
from betabo.cli import bench, catalogues, compress, dashboard, manage, minimize, report, reproduce, studies
from betabo.cli.errors import DEBUG_VARIABLE, OneLineErrors, PlainCommand

app = typer.Typer(
    cls=OneLineErrors,
    help="Bayesian optimization that knows its box.",
    epilog="Example: betabo minimize train.py:objective --param lr=1e-5..1e-1:log --param layers=1..8:int",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"betabo {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of every error, as BETABO_DEBUG=1 does.")
    ] = False,
) -> None:
    """Bayesian optimization that knows its box."""
    del version  # its callback has answered
    if debug:
        os.environ[DEBUG_VARIABLE] = "1"
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


_RUN = "Run"
_LOOK = "Look at studies"
_CHANGE = "Change studies"
_KNOW = "Know"

app.command(cls=PlainCommand, rich_help_panel=_RUN)(minimize.minimize)
app.command(cls=PlainCommand, rich_help_panel=_RUN)(compress.compress)
app.command(cls=PlainCommand, rich_help_panel=_LOOK, name="studies")(studies.show_studies)
app.command(cls=PlainCommand, rich_help_panel=_LOOK)(studies.show)
app.command(cls=PlainCommand, rich_help_panel=_LOOK)(studies.best)
app.command(cls=PlainCommand, rich_help_panel=_LOOK, name="export")(studies.export_study)
app.command(cls=PlainCommand, rich_help_panel=_LOOK)(report.report)
app.command(cls=PlainCommand, rich_help_panel=_LOOK)(dashboard.dashboard)
app.command(cls=PlainCommand, rich_help_panel=_CHANGE)(manage.rename)
app.command(cls=PlainCommand, rich_help_panel=_CHANGE)(manage.widen)
app.command(cls=PlainCommand, rich_help_panel=_CHANGE)(manage.delete)
app.command(cls=PlainCommand, rich_help_panel=_KNOW)(catalogues.kernels)
app.command(cls=PlainCommand, rich_help_panel=_KNOW)(catalogues.acquisitions)
app.add_typer(bench.app, name="bench", rich_help_panel=_RUN)
app.add_typer(reproduce.app, name="reproduce", rich_help_panel=_RUN)
