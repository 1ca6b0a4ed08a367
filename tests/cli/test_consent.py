"""A question that is asked once, before something of somebody else's goes on."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import typer

from betabo.cli.consent import consent


def test_an_answer_beforehand_asks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert consent(yes=True)("It is foreign.")
    assert capsys.readouterr().err == ""


def test_without_a_terminal_it_ends_and_says_what_to_add(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        consent(yes=False)("It is foreign.")
    assert capsys.readouterr().err == "error: It is foreign. Add --yes to go on with it.\n"


@pytest.mark.parametrize("goes_on", [True, False])
def test_on_a_terminal_it_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], goes_on: bool
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: goes_on)
    assert consent(yes=False)("It is foreign.") is goes_on
    assert "It is foreign." in capsys.readouterr().err
