"""Checks of what is stored: what each allows, and what its error says."""

from __future__ import annotations

import math
from typing import Any

import pytest

from betabo.schema import (
    Check,
    SchemaError,
    anything,
    boolean,
    listing,
    maybe,
    number,
    one_of,
    record,
    shortened,
    table,
    text,
    whole,
)

POINT = record({"unit": listing(number(0, 1), 2)}, {"error": maybe(text)})
OPEN = record({"name": text}, others=number())


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (number(), -1e308),
        (number(), 3),
        (number(0, 1), 0),
        (number(0, 1), 1.0),
        (whole(), -(10**30)),
        (whole(0), 0),
        (text, ""),
        (text, "été\n"),
        (boolean, False),
        (one_of(["a", "b"]), "b"),
        (maybe(number()), None),
        (maybe(number()), 2),
        (listing(number()), []),
        (listing(listing(whole(), 1), 2), [[1], (2,)]),
        (table(number()), {"a": 1, "": 2.0}),
        (POINT, {"unit": [0, 0.5]}),
        (POINT, {"unit": [0, 0.5], "error": None}),
        (OPEN, {"name": "x", "other": 1}),
        (anything, object()),
    ],
)
def test_what_is_as_it_should_be_passes(check: Check, value: Any) -> None:
    check(value, "it")


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (number(), "1", "it is '1', expected a number."),
        (number(), True, "it is True, expected a number."),
        (number(), math.nan, "it is nan, expected a finite number."),
        (number(0), -math.inf, "it is -inf, expected a finite number >= 0."),
        (number(0), -1, "it is -1, expected a number >= 0."),
        (number(0, 1), 1.5, "it is 1.5, expected a number from 0 to 1."),
        (number(-math.inf, 1), 2, "it is 2, expected a number <= 1."),
        (whole(), 1.0, "it is 1.0, expected a whole number."),
        (whole(0), -1, "it is -1, expected a whole number of at least 0."),
        (whole(), False, "it is False, expected a whole number."),
        (text, 1, "it is 1, expected text."),
        (text, "\ud800", "it is '\\ud800', expected text without lone surrogates."),
        (boolean, 0, "it is 0, expected true or false."),
        (one_of(["a", "b"]), ["a"], "it is ['a'], expected one of 'a', 'b'."),
        (maybe(number()), "x", "it is 'x', expected a number."),
        (listing(number()), "abc", "it is 'abc', expected a list."),
        (listing(number(), 2), [1], "it has the length 1, expected 2."),
        (listing(number()), [1, None], "it[1] is None, expected a number."),
        (table(number()), [], "it is [], expected an object."),
        (table(number()), {"a": "b"}, "it.a is 'b', expected a number."),
        (POINT, [], "it is [], expected an object."),
        (POINT, {}, "it has no 'unit'."),
        (POINT, {"unit": [0, 2]}, "it.unit[1] is 2, expected a number from 0 to 1."),
        (POINT, {"unit": [0, 1], "eror": ""}, "it has an unknown key 'eror'. Did you mean 'error'?"),
        (OPEN, {"name": "x", "other": "y"}, "it.other is 'y', expected a number."),
    ],
)
def test_what_is_not_is_named_with_what_was_expected(check: Check, value: Any, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        check(value, "it")
    assert str(caught.value) == message


@pytest.mark.parametrize("value", [10**400, ["x" * 10**6], "\x1b[2J\n" * 1000, [[[[[[[[[1]]]]]]]]], {"a" * 1000: 1}])
def test_an_error_is_one_short_line_whatever_was_found(value: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        number()(value, "it")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 120


def test_a_long_message_is_cut() -> None:
    assert shortened("a\nb\x1b  c") == "a b␛ c"
    assert shortened("x" * 1000, 10) == "xxxxxxx..."
