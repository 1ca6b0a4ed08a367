from __future__ import annotations

from pathlib import Path

import pytest
import typer

from betabo.cli.errors import user_errors
from betabo.studies import StudyError


def run(error: BaseException) -> None:
    @user_errors
    def command() -> None:
        raise error

    command()


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("x is 3, expected 4."), "error: x is 3, expected 4.\n"),
        (StudyError("two\n  lines"), "error: two lines\n"),
        (ImportError("plots need plotly: pip install 'betabo[report]'"), "error: plots need plotly: pip install "),
        (PermissionError(13, "Permission denied", "a.csv"), "error: a.csv: Permission denied.\n"),
    ],
    ids=["value", "study", "extra", "file"],
)
def test_mistakes_of_the_user_are_one_line(
    error: BaseException, line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BETABO_DEBUG", raising=False)
    with pytest.raises(typer.Exit) as exit_info:
        run(error)
    assert exit_info.value.exit_code == 2
    said = capsys.readouterr().err
    assert said.startswith(line)
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "error",
    [RuntimeError("a defect"), ImportError("No module named 'betabo.nothing'"), OSError("no file in it")],
    ids=["runtime", "import", "os"],
)
def test_defects_keep_their_traceback(error: BaseException) -> None:
    with pytest.raises(type(error)):
        run(error)


def test_debugging_keeps_every_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BETABO_DEBUG", "1")
    with pytest.raises(StudyError):
        run(StudyError("one line"))


def test_interrupt_has_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as exit_info:
        run(KeyboardInterrupt())
    assert exit_info.value.exit_code == 130
    assert capsys.readouterr().err == "error: interrupted.\n"


def test_reading_a_missing_file_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    @user_errors
    def command() -> None:
        (tmp_path / "space.toml").read_text()

    with pytest.raises(typer.Exit):
        command()
    assert capsys.readouterr().err == f"error: {tmp_path / 'space.toml'}: No such file or directory.\n"


def test_control_characters_of_an_error_are_seen_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    @user_errors
    def command() -> None:
        raise ValueError("the choice '\x1b]52;c;aGk=\x07' is unknown.")

    with pytest.raises(typer.Exit):
        command()
    assert capsys.readouterr().err == "error: the choice '␛]52;c;aGk=␇' is unknown.\n"
