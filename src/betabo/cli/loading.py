"""A sign of life while heavy packages are imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading(shown: bool = True) -> Iterator[None]:
    """A spinner on a terminal, nothing elsewhere."""
    from betabo.cli.tables import console

    screen = console(stderr=True)
    if not (shown and screen.is_terminal):
        yield
        return
    with screen.status("loading", spinner="dots"):
        yield
