"""A question that is asked once, before something is done that the user may not want."""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from betabo.cli.errors import fail
from betabo.cli.lines import say


def consent(
    yes: bool, question: str = "Go on with it?", advice: str = "Add --yes to go on with it."
) -> Callable[[str], bool]:
    """What asks the user after a line about what it is; `yes` is the answer beforehand.

    Without a terminal to ask on, the command ends with the `advice`, which says what to add.
    """

    def ask(about: str) -> bool:
        if yes:
            return True
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            fail(f"{about} {advice}")
        say(about, err=True)
        return typer.confirm(question, err=True)

    return ask
