"""Options that several commands share: what is refused, and what is said to other commands."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from betabo.cli.options import DEFAULT_STORAGE, Storage, Workers, at_least_one, storage_option

app = typer.Typer()


@app.command()
def shown(context: typer.Context, workers: Workers = 1, storage: Storage = DEFAULT_STORAGE) -> None:
    typer.echo(f"workers {workers}{storage_option(context, storage)}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "workers 1"),
        (["--workers", "3"], "workers 3"),
        (["--storage", DEFAULT_STORAGE], f"workers 1 --storage {DEFAULT_STORAGE}"),
        (["--storage", "sqlite:///my studies.db"], "workers 1 --storage 'sqlite:///my studies.db'"),
        (["--storage", "postgresql://me:secret@host/name"], "workers 1 --storage ..."),
    ],
)
def test_the_storage_is_named_as_it_was_given_and_without_passwords(arguments: list[str], said: str) -> None:
    assert CliRunner().invoke(app, arguments).stdout == f"{said}\n"


def test_a_storage_of_the_environment_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BETABO_STORAGE", "sqlite:///other.db")
    assert CliRunner().invoke(app, []).stdout == "workers 1\n"


@pytest.mark.parametrize("value", [0, -3])
def test_counts_below_one_are_refused(value: int) -> None:
    with pytest.raises(typer.BadParameter, match=f"{value} is given, expected at least 1"):
        at_least_one(value)
    assert CliRunner().invoke(app, ["--workers", str(value)]).exit_code == 2
    assert at_least_one(1) == 1
