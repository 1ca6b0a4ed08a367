"""The name that the user may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """A question to end a message about an unknown name with, such as ``" Did you mean 'matern'?"``.

    Args:
        name: What the user wrote.
        known: The names that there are.
        most: How many of them to mention.

    Returns:
        The closest ones, or those that contain what the user wrote, whatever the case of the letters; empty if there
        are none.
    """
    written, names = name.lower(), list(known)
    close = get_close_matches(written, [n.lower() for n in names], n=most)
    meant = sorted((n for n in names if n.lower() in close), key=lambda n: close.index(n.lower()))
    if not meant and written:
        meant = [n for n in names if written in n.lower()]
    return f" Did you mean {' or '.join(map(repr, meant[:most]))}?" if meant else ""
