"""What a command does about trouble: one line for people, and an exit code.

A mistake of the user's (a `ValueError`, of which `StudyError` is one, a file that cannot be read or written, an extra
that is not installed) is one line on the standard error and exit code 2. Anything else is a defect and keeps its
traceback. `BETABO_DEBUG=1`, or `betabo --debug`, shows every traceback.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, ParamSpec, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from betabo.cli.lines import say

P = ParamSpec("P")
R = TypeVar("R")

DEBUG_VARIABLE = "BETABO_DEBUG"

FAILURE = 1
USER_ERROR = 2
INTERRUPTED = 130


def user_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Decorate a command so that mistakes of the user's end in one line and exit code 2.

    Place it under `@app.command()`, so that it wraps the function itself.
    """

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except KeyboardInterrupt:
            fail("interrupted.", code=INTERRUPTED)
        except (ValueError, OSError, ImportError) as error:
            if debugging() or not _is_users(error):
                raise
            fail(describe(error))

    return guarded


class _PlainFlags:
    """What a command and a group share: beside a flag the help shows no type."""

    def get_params(self, context: Any) -> list[Any]:
        """The options and arguments of the command."""
        parameters: list[Any] = super().get_params(context)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_bool_flag", False) and parameter.metavar is None:
                parameter.metavar = ""
        return parameters


class PlainCommand(_PlainFlags, TyperCommand):
    """A command whose help shows flags as they are typed."""


class PlainGroup(_PlainFlags, TyperGroup):
    """A group of commands, the same."""


class OneLineErrors(PlainGroup):
    """A group of commands whose usage errors are one line, like all others."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command; exit with its code in standalone mode."""
        run = functools.partial(super().main, args, prog_name, complete_var, False, windows_expand_args, **extra)
        if not standalone_mode:
            return run()
        try:
            code = run()
        except typer.TyperException as error:
            message = error.format_message().rstrip()
            _say("error", f"{message}{'' if message.endswith(('.', '?')) else '.'} See `betabo --help`.")
            code = USER_ERROR
        except typer.Abort:
            code = INTERRUPTED
        except BrokenPipeError:
            # Whoever read our output has enough; without this, Python would complain at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = FAILURE
        sys.exit(code if isinstance(code, int) else 0)


def fail(message: str, code: int = USER_ERROR) -> NoReturn:
    """Print `error: message` on the standard error, as one line, and exit."""
    _say("error", message)
    raise typer.Exit(code)


def warn(message: str) -> None:
    """Print `warning: message` on the standard error, as one line."""
    _say("warning", message)


def debugging() -> bool:
    """Whether tracebacks are wanted."""
    return os.environ.get(DEBUG_VARIABLE, "") not in ("", "0")


def describe(error: BaseException) -> str:
    """What an exception says to people; a file's error names the file and what is wrong with it."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    return str(error) or type(error).__name__


def _say(kind: str, message: str) -> None:
    say(f"{kind}: {' '.join(message.split())}", err=True)


def _is_users(error: BaseException) -> bool:
    """Whether the user can do something about an error: a missing package counts when the extra is named."""
    if isinstance(error, ImportError):
        return "betabo[" in str(error)
    if isinstance(error, OSError):
        return error.filename is not None
    return True
