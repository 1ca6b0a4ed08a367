"""What a file or a database holds, checked against what it should hold, before anything else sees it.

A check is a function of a value of JSON and of the place where it was found; it returns nothing, or raises an error of
one line that says where, what was found, and what was expected. Larger checks are made of smaller ones:

    POINT = record({"unit": listing(number(0, 1)), "value": maybe(number())})
    POINT(stored, "history[3]")

This is all that betabo needs of a schema, in place of a dependency for it.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from betabo.suggestions import did_you_mean
from betabo.visible import visible

Check: TypeAlias = Callable[[Any, str], None]

_MOST_SHOWN = 60  # characters of a value in an error


class SchemaError(ValueError):
    """Something stored is not what it should be; the message says where, and what was expected."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


def number(low: float = -math.inf, high: float = math.inf) -> Check:
    """A finite number between two bounds, which are among what is allowed."""

    def check(value: Any, place: str) -> None:
        if not (isinstance(value, int | float) and not isinstance(value, bool)):
            raise _wrong(value, place, _bounded("a number", low, high))
        try:
            finite = math.isfinite(value)
        except OverflowError:
            finite = False
        if not finite or not low <= value <= high:
            raise _wrong(value, place, _bounded("a finite number" if not finite else "a number", low, high))

    return check


def whole(low: int | None = None) -> Check:
    """A whole number that is not less than `low`."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or (low is not None and value < low):
            raise _wrong(value, place, "a whole number" + ("" if low is None else f" of at least {low}"))

    return check


def text(value: Any, place: str) -> None:
    """Some text that can be written as UTF-8, or none."""
    if not isinstance(value, str):
        raise _wrong(value, place, "text")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _wrong(value, place, "text without lone surrogates") from None


def boolean(value: Any, place: str) -> None:
    """True or false."""
    if not isinstance(value, bool):
        raise _wrong(value, place, "true or false")


def anything(value: Any, place: str) -> None:
    """Whatever JSON has, which its reader has seen to; nothing of ours looks into it."""


def one_of(names: Iterable[str]) -> Check:
    """One of several words."""
    known = list(names)

    def check(value: Any, place: str) -> None:
        if not isinstance(value, str) or value not in known:
            raise _wrong(value, place, f"one of {', '.join(map(repr, known))}")

    return check


def maybe(check: Check) -> Check:
    """What another check allows, or null."""

    def check_if_there(value: Any, place: str) -> None:
        if value is not None:
            check(value, place)

    return check_if_there


def listing(check: Check, length: int | None = None) -> Check:
    """A list of which every entry passes, with as many of them as are said."""

    def check_all(value: Any, place: str) -> None:
        if not isinstance(value, list | tuple):
            raise _wrong(value, place, "a list")
        if length is not None and len(value) != length:
            raise SchemaError(f"{place} has the length {len(value)}, expected {length}.")
        for index, entry in enumerate(value):
            check(entry, f"{place}[{index}]")

    return check_all


def table(check: Check) -> Check:
    """An object of any keys, of which every value passes."""

    def check_all(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise _wrong(value, place, "an object")
        for key, entry in value.items():
            text(key, f"a name in {place}")
            check(entry, f"{place}.{key}")

    return check_all


def record(
    required: Mapping[str, Check], optional: Mapping[str, Check] | None = None, others: Check | None = None
) -> Check:
    """An object with certain keys.

    Args:
        required: The keys that it must have, and what their values must pass.
        optional: The keys that it may have.
        others: What values of all other keys must pass; None allows no other key.
    """
    known = {**required, **(optional or {})}

    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise _wrong(value, place, "an object")
        for key in required:
            if key not in value:
                raise SchemaError(f"{place} has no {key!r}.")
        for key, entry in value.items():
            if key in known:
                known[key](entry, f"{place}.{key}")
            elif others is None:
                raise SchemaError(f"{place} has an unknown key {_shown(key)}.{did_you_mean(str(key), known)}")
            else:
                text(key, f"a name in {place}")
                others(entry, f"{place}.{key}")

    return check


def shortened(message: str, most: int = 400) -> str:
    """What an error says, as one line without control characters, and no longer than `most` characters."""
    line = visible(" ".join(message.split()))
    return line if len(line) <= most else f"{line[: most - 3]}..."


def _wrong(value: Any, place: str, expected: str) -> SchemaError:
    return SchemaError(f"{place} is {_shown(value)}, expected {expected}.")


def _shown(value: Any) -> str:
    """A value as one short line without control characters."""
    short = reprlib.Repr()
    short.maxstring = short.maxlong = short.maxother = _MOST_SHOWN
    return shortened(short.repr(value), _MOST_SHOWN)


def _bounded(what: str, low: float, high: float) -> str:
    if math.isinf(low) and math.isinf(high):
        return what
    if math.isinf(high):
        return f"{what} >= {low:g}"
    return f"{what} <= {high:g}" if math.isinf(low) else f"{what} from {low:g} to {high:g}"
