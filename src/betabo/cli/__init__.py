"""The command line `betabo`: thin commands that parse, call and show."""

from __future__ import annotations

import sys

from betabo.extras import install_extra


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        from betabo.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        sys.stderr.write(f"error: {install_extra('cli', f'the command line needs {error.name}')}\n")
        sys.exit(2)
    app(prog_name="betabo")
