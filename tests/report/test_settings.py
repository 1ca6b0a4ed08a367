"""How a study was made, from what is stored with it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import optuna
import pytest
from typer.testing import CliRunner

from betabo.cli.app import app
from betabo.optuna.attributes import PLAN
from betabo.report.settings import settings
from betabo.studies import load_study


def made(study: optuna.Study) -> dict[str, str]:
    return dict(settings(study))


@pytest.mark.parametrize(
    "words",
    [
        ["quad.py:f", "--param", "x=0..1", "--param", "n=1..3:int", "--kernel", "matern", "--seed", "3"],
        ["--command", "python quad.py {x} --n {n}", "--param", "x=0..1", "--param", "n=1..3:int", "--maximize"],
    ],
)
def test_the_command_makes_the_same_plan_again(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("quad.py").write_text("def f(x, n):\n    return x + n\n\n\nif __name__ == '__main__':\n    print(1.0)\n")
    runner = CliRunner()
    first = runner.invoke(app, ["minimize", *words, "--trials", "1", "--study", "one", "--plain"])
    assert first.exit_code == 0, first.output
    one = load_study("one", "sqlite:///betabo.db")
    line = made(one)["command"].replace("--study one", "--study two")
    program, *again = shlex.split(line)
    assert program == "betabo"
    second = runner.invoke(app, [*again, "--plain"])
    assert second.exit_code == 0, second.output
    assert load_study("two", "sqlite:///betabo.db").user_attrs[PLAN] == one.user_attrs[PLAN]


def test_a_study_of_another_tool_has_none() -> None:
    assert settings(optuna.create_study()) == []


@pytest.mark.parametrize(
    "plan",
    [
        {"objective": {"type": "mine:Objective"}, "config": {"kernel": "rbf"}, "seed": None, "trials": 3},
        {"objective": None, "config": 7, "space": "x", "trials": "many"},
        {},
    ],
)
def test_what_no_command_makes_is_still_told(plan: Any) -> None:
    study = optuna.create_study()
    study.set_user_attr(PLAN, plan)
    found = made(study)
    assert "command" not in found
    assert found["objective"] in ("mine:Objective", "not recorded")
