"""Lines that commands print, whoever wrote the text in them."""

from __future__ import annotations

import typer

from betabo.visible import visible


def say(text: object, *, err: bool = False, newline: bool = True) -> None:
    """Print text with its control characters to be seen, on the standard error if `err`."""
    typer.echo(visible(str(text)), err=err, nl=newline)
