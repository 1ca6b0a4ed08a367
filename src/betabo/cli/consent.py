"""A question that is asked once, before something of somebody else's goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from betabo.cli.errors import fail


def consent(yes: bool) -> Callable[[str], bool]:
    """What asks the user after a line about what it is; `yes` is the answer beforehand.

    Without a terminal to ask on, the command ends and says what to add.
    """

    def ask(about: str) -> bool:
        if yes:
            return True
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            fail(f"{about} Add --yes to go on with it.")
        typer.echo(about, err=True)
        return typer.confirm("Go on with it?", err=True)

    return ask
