"""Objectives from their descriptions, in which nothing but an objective is ever called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from betabo.studies import CommandObjective, FunctionObjective, StudyError, objective_from_json
from betabo.studies.objectives import describe_stored


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


@pytest.mark.parametrize("module", ["this", "betabo.lab", "os.path"])
def test_nothing_that_is_named_in_a_description_is_imported(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(StudyError, match=f"type is '{module}:X', expected one of 'function', 'command', 'python',"):
        objective_from_json({"type": f"{module}:X"})
    assert module not in sys.modules
    assert (
        describe_stored({"type": f"{module}:X"})
        == f"one of the type '{module}:X' with a description that cannot be read"
    )


@pytest.mark.parametrize("data", [None, 3, [], {}, {"type": ["a"]}, {"type": "function", "target": 3}], ids=str)
def test_any_stored_description_has_a_line(data: Any) -> None:
    assert "that cannot be read" in describe_stored(data)


@pytest.mark.parametrize("objective", [FunctionObjective("job.py:f", timeout=3), CommandObjective("p {x}")], ids=str)
def test_an_objective_returns_from_its_description(objective: FunctionObjective | CommandObjective) -> None:
    assert objective_from_json(objective.to_json()) == objective
