"""The command line `betabo`: thin commands that parse, call and show."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        from betabo.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        sys.stderr.write(f"error: the command line needs {error.name}: pip install 'betabo[cli]'\n")
        sys.exit(2)
    app(prog_name="betabo")
