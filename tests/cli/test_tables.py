from __future__ import annotations

import io
from datetime import datetime, timedelta

import pytest
from rich.console import Console
from rich.live import Live
from rich.text import Text

from betabo.cli.tables import ago, assignments, console, duration, number, print_table, table, values_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, ""), (0.314, "0.31s"), (12.44, "12.4s"), (185.2, "3:05"), (7385.0, "2:03:05")],
)
def test_durations_are_short(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_numbers_are_short_and_text_is_kept() -> None:
    assert number(0.000123456789) == "0.00012346"
    assert number(12) == "12"
    assert number("relu[bold]") == "relu[bold]"
    assert assignments({"lr": 0.5, "act": "gelu"}) == "lr=0.5 act=gelu"
    assert assignments({"lr": 0.5, "act": "gelu"}, most=2) == "lr=0.5 act=gelu"
    assert assignments({"a": 1, "b": 2, "c": 3}, most=1) == "a=1 +2"
    assert values_text([]) == "-"
    assert values_text([1.0, 2.5]) == "1, 2.5"


@pytest.mark.parametrize(
    ("passed", "text"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(hours=5), "5 hours ago"),
        (timedelta(days=3), "3 days ago"),
    ],
)
def test_ago(passed: timedelta, text: str) -> None:
    assert ago(datetime.now() - passed) == text
    assert ago(None) == ""


def test_tables_in_a_pipe_are_never_cut() -> None:
    wide = table()
    wide.add_column("a", no_wrap=True)
    wide.add_column("b")
    wide.add_row("x" * 150, "many words " * 30)
    screen = Console(file=io.StringIO(), width=80)
    print_table(screen, wide)
    output = screen.file.getvalue()
    assert "x" * 150 in output
    assert ("many words " * 30).rstrip() in output


@pytest.mark.parametrize("live", [False, True])
def test_a_console_shows_control_characters_and_does_not_obey_them(live: bool) -> None:
    hostile = "act=\x1b]52;c;aGk=\x07\x9b2J"
    screen = console()
    screen.file, screen._force_terminal, screen.width = io.StringIO(), live, 80
    listing = table()
    listing.add_column(hostile)
    listing.add_row(Text(hostile, style="bold"))
    print_table(screen, listing)
    screen.print(hostile)
    with Live(Text(hostile), console=screen):
        pass
    printed = screen.file.getvalue()
    assert printed.count("act=␛]52;c;aGk=") == 4
    assert not any(sign in printed for sign in ("\x1b]", "\x07", "\x9b"))
