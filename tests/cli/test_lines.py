"""Lines that commands print: nothing in them controls the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

import betabo.cli
from betabo.cli.lines import say


@pytest.mark.parametrize("err", [False, True])
def test_control_characters_are_shown(capsys: pytest.CaptureFixture[str], err: bool) -> None:
    say(Path("a\x1b]52;c;aGk=\x07\rb\x9d"), err=err)
    say("two\nlines\t", err=err, newline=False)
    printed = capsys.readouterr()
    assert (printed.err if err else printed.out) == "a␛]52;c;aGk=␇␍b\ufffd\ntwo\nlines\t"
    assert (printed.out if err else printed.err) == ""


def test_what_is_printed_otherwise_is_our_own_text() -> None:
    """Tables go through `betabo.cli.tables.console`; JSON has no control characters."""
    folder = Path(betabo.cli.__file__).parent
    others = {path.name for path in folder.glob("*.py") if "typer.echo(" in path.read_text(encoding="utf-8")}
    assert others == {"app.py", "dashboard.py", "lines.py", "options.py"}
    assert not [path for path in folder.glob("*.py") if " print(" in path.read_text(encoding="utf-8")]
