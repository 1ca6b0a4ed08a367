from __future__ import annotations

import optuna
import pytest

from betabo.studies import study_names
from cli.command_case import Betabo, one_line


def test_delete_asks_first(betabo: Betabo, tuned: optuna.Study) -> None:
    message = one_line(betabo("delete", tuned.study_name))
    assert message == "study 'tuned': minimize, 30 trials, 29 of them with a value. Add --yes to delete it."
    assert "tuned" in study_names()
    result = betabo("delete", tuned.study_name, "--yes")
    assert (result.exit_code, result.stdout) == (0, "deleted: tuned\n")
    assert study_names() == ["empty"]


def test_no_is_an_answer(betabo: Betabo, tuned: optuna.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("betabo.cli.manage.consent", lambda *_, **__: lambda _about: False)
    result = betabo("delete", tuned.study_name)
    assert (result.exit_code, result.stdout) == (0, "nothing was deleted\n")
    assert "tuned" in study_names()


def test_rename_gives_another_name(betabo: Betabo, tuned: optuna.Study) -> None:
    result = betabo("rename", tuned.study_name, "first try")
    assert (result.exit_code, result.stdout) == (0, "renamed: tuned is first try\n")
    assert "30" in betabo("show", "first try").stdout
    assert one_line(betabo("show", "tuned")).startswith("there is no study 'tuned'")


def test_a_study_that_is_not_there_is_named(betabo: Betabo, tuned: optuna.Study) -> None:
    for command in (["delete", "tunde", "--yes"], ["rename", "tunde", "x"]):
        assert "Did you mean 'tuned'?" in one_line(betabo(*command))
    assert tuned.study_name in study_names()


def test_widen_moves_the_box_and_the_study_goes_on(betabo: Betabo) -> None:
    command = ["minimize", "train.py:paraboloid", "--param", "act=relu|gelu", "--starting-points", "60", "--seed", "0"]
    first = [*command, "--param", "x=0..1", "--param", "layers=4..8:int"]
    assert betabo(*first, "--trials", "4").exit_code == 0
    widened = betabo("widen", "train-paraboloid", "layers=4..12", "x=0..2")
    assert widened.exit_code == 0, widened.output
    assert widened.stdout.startswith(
        "moved: train-paraboloid has layers=4..12:int, x=0..2 now; 4 trials with a value lie in its box\n"
    )
    assert "which is x=0..1 now" in one_line(betabo(*first, "--trials", "6"))
    second = betabo(*command, "--param", "x=0..2", "--param", "layers=4..12:int", "--trials", "6")
    assert "it goes on after 4 trials" in second.stdout
    assert "there is no parameter 'lay'" in one_line(betabo("widen", "train-paraboloid", "lay=4..12"))
