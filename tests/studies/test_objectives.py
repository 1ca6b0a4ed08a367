"""Objectives from their descriptions, in which nothing but an objective is ever called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from betabo.studies import CommandObjective, FunctionObjective, StudyError, objective_from_json


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"type": "pickle"},
        {"type": "function"},
        {"type": "command", "shell": 1},
        {"type": ["function"]},
        {"type": "nowhere.at.all:Objective"},
        {"type": "subprocess:NoSuchName"},
        {"type": "subprocess:Popen", "args": ["touch", "pwned"]},
        {"type": "subprocess:run", "args": ["touch", "pwned"]},
        {"type": "os.path:join"},
        {"type": ":Popen"},
        {"type": "betabo.studies:FunctionObjective", "shell": 1},
    ],
    ids=str,
)
def test_a_wrong_description_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(StudyError, match="objective's"):
        objective_from_json(data)
    assert not Path("pwned").exists()


def test_an_objective_of_another_package_is_found_by_its_class() -> None:
    data = {"type": "betabo.studies.function:FunctionObjective", "target": "job.py:by_name", "timeout": 3}
    assert objective_from_json(data) == FunctionObjective("job.py:by_name", timeout=3)


@pytest.mark.parametrize("objective", [FunctionObjective("job.py:f", timeout=3), CommandObjective("p {x}")], ids=str)
def test_an_objective_returns_from_its_description(objective: FunctionObjective | CommandObjective) -> None:
    assert objective_from_json(objective.to_json()) == objective


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(StudyError, match="type is 'pickle', expected one of 'function', 'command', or 'MODULE:CLASS'"):
        objective_from_json({"type": "pickle"})
    with pytest.raises(StudyError, match="'subprocess:Popen' lacks check, prepare, to_json, describe"):
        objective_from_json({"type": "subprocess:Popen"})
    with pytest.raises(StudyError, match=r"'nowhere\.at\.all:Objective' cannot be imported: No module named 'nowhere'"):
        objective_from_json({"type": "nowhere.at.all:Objective"})
