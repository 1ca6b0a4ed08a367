"""One call of the objective: what it may return, and what an exception means."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable
from typing import Any, Literal, get_args

from betabo.space import Space
from betabo.suggestions import did_you_mean

OnError = Literal["raise", "record"]

_DOUBLE = 2.0  # seconds within which two Ctrl-C count as one wish

_last_interrupt = -math.inf


def check_on_error(on_error: str) -> None:
    """Refuse what is no way to treat an exception."""
    if on_error not in get_args(OnError):
        hint = did_you_mean(on_error, get_args(OnError)) if isinstance(on_error, str) else ""
        raise ValueError(f"on_error is {on_error!r}, expected 'raise' or 'record'.{hint}")


def check_objective(fun: Callable[..., Any], space: Space) -> None:
    """Refuse what cannot be called with one point.

    Raises:
        TypeError: It is no function, or its signature wants something else than one point.
    """
    if not callable(fun):
        raise TypeError(f"fun is {fun!r}, expected a function of a point.")
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):  # one of an extension module does not tell
        return
    try:
        signature.bind(None)
    except TypeError as error:
        point = f"an array of {space.dims} numbers" if space.is_box else f"a dict of {', '.join(space.names)}"
        text = f"fun{signature} cannot be called with one argument, expected a function of one point, {point}: {error}."
        if not space.is_box and set(signature.parameters) <= set(space.names):
            text += " Pass lambda point: fun(**point)."
        raise TypeError(text) from error


def call(fun: Callable[[Any], Any], point: Any) -> Any:
    """What the objective returns at a point, of which it gets a copy, as it may change it in place."""
    return fun(point.copy())


def explain_first(error: Exception) -> None:
    """Say beside the traceback of a first evaluation why it ended the search."""
    error.add_note(
        "No evaluation has succeeded yet, so the search ends here. "
        "With on_error='record' a failure is recorded and the search goes on elsewhere."
    )


def is_double_interrupt() -> bool:
    """Whether a Ctrl-C, which has just been caught, follows another one at once."""
    global _last_interrupt
    last, _last_interrupt = _last_interrupt, time.monotonic()
    return _last_interrupt - last < _DOUBLE
