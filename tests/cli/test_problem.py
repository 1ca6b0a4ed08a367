"""The problem that options, or a file, describe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from betabo.cli.problem import ProblemOptions

NOTHING: dict[str, Any] = {
    "file": None,
    "parameters": ["x=0..1", "y=0..1"],
    "space": None,
    "maximize": False,
    "directions": None,
    "objectives": None,
    "constraints": None,
    "known": None,
    "enqueue": None,
    "source": None,
}


def read(**options: Any) -> Any:
    return ProblemOptions(**{**NOTHING, **options}).read("sqlite:///none.db")


def test_options_describe_a_problem() -> None:
    problem = read(
        objectives=["loss=minimize", "speed = maximize"],
        constraints=["heat <= 80"],
        known=["x + y <= 1"],
        enqueue=["x=0.5,y=0.25"],
    ).problem
    assert problem.objectives == {"loss": "minimize", "speed": "maximize"}
    assert str(problem.constraints[0]) == "<= 80.0"
    assert problem.known[0].text == "x + y <= 1"
    assert problem.initial == ({"x": 0.5, "y": 0.25},)
    assert read(maximize=True).problem.objectives == {"value": "maximize"}
    assert read(directions=["minimize", "maximize"]).problem.directions == ("minimize", "maximize")


def test_a_file_describes_one_and_options_add_points(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text("command = 'run {x}'\n[parameters]\nx = '0..1'")
    found = read(file=tmp_path / "p.toml", parameters=None, enqueue=["x=1"])
    assert found.command == "run {x}"
    assert found.problem.initial == ({"x": 1},)
    (tmp_path / "known.csv").write_text("x,value\n0.5,1.0\n")
    assert read(source=str(tmp_path / "known.csv")).problem.known_points == str(tmp_path / "known.csv")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"file": Path("p.toml")}, "both --problem and --param are given"),
        ({"space": Path("s.toml")}, "both --param and --space are given"),
        ({"parameters": None}, "no parameters; give each with --param"),
        ({"maximize": True, "objectives": ["a=minimize"]}, "both --maximize and --objective are given"),
        ({"objectives": ["a"]}, "--objective is 'a', expected each name once"),
        ({"objectives": ["a=down"]}, "objective a is 'down', expected"),
        ({"enqueue": ["x=1,x=0"]}, "has 'x=0', expected each parameter once"),
        ({"enqueue": ["x=1"]}, "the point 'x=1' is none of the space: .* lacks the names 'y'"),
    ],
)
def test_contradictions_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(**options)
