from __future__ import annotations

import io

import pytest
from rich.console import Console

from betabo.cli import tables
from betabo.cli.loading import loading


def said(monkeypatch: pytest.MonkeyPatch, terminal: bool, shown: bool) -> str:
    screen = Console(file=io.StringIO(), force_terminal=terminal, width=80)
    monkeypatch.setattr(tables, "console", lambda stderr: screen)
    with loading(shown):
        pass
    return str(screen.file.getvalue())


def test_a_terminal_sees_that_something_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "loading" in said(monkeypatch, terminal=True, shown=True)


@pytest.mark.parametrize(("terminal", "shown"), [(False, True), (True, False)])
def test_elsewhere_nothing_is_written(monkeypatch: pytest.MonkeyPatch, terminal: bool, shown: bool) -> None:
    assert said(monkeypatch, terminal, shown) == ""
