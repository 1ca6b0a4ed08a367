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
