"""Problems in TOML files."""

from __future__ import annotations

from pathlib import Path

import pytest

from betabo import Float, Space
from betabo.problem.file import read_problem

WHOLE = """
objective = "alloy.py:strength"
known = ["simplex(a, b)", "a <= b"]
known_points = "earlier.csv"
initial = [{a = 0.25, b = 0.75}]

[parameters]
a = "0..1"
b = "0..1"

[objectives]
strength = "maximize"

[constraints]
temperature = "<= 80"
"""


def test_all_of_a_problem_is_read(tmp_path: Path) -> None:
    (tmp_path / "alloy.toml").write_text(WHOLE)
    found = read_problem(tmp_path / "alloy.toml")
    problem = found.problem
    assert (found.objective, found.command, found.result) == ("alloy.py:strength", "", "")
    assert problem.space == Space({"a": Float(0.0, 1.0), "b": Float(0.0, 1.0)})
    assert problem.objectives == {"strength": "maximize"}
    assert [f"{limit.name} {limit}" for limit in problem.constraints] == ["temperature <= 80.0"]
    assert [constraint.text for constraint in problem.known] == ["simplex(a, b)", "a <= b"]
    assert problem.initial == ({"a": 0.25, "b": 0.75},)
    assert problem.known_points == tmp_path / "earlier.csv"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"has no table \[parameters\]"),
        ("[parameter]\nx = '0..1'", "unknown entry 'parameter'.*Did you mean 'parameters'"),
        ("known = 3\n[parameters]\nx = '0..1'", "known is 3, expected a list of texts"),
        ("known = 'y <= 1'\n[parameters]\nx = '0..1'", "has y, which is no parameter"),
        ("initial = 'x=1'\n[parameters]\nx = '0..1'", "initial is 'x=1', expected a list of points"),
        ("objective = 3\n[parameters]\nx = '0..1'", "objective is 3, expected text"),
        ("objectives = 3\n[parameters]\nx = '0..1'", "objectives is 3, expected"),
        ("[parameters]\nx = '0..1'\n[constraints]\nt = '< 1'", "constraint t is '< 1', expected"),
        ("x = ", "is no TOML"),
    ],
)
def test_mistakes_are_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_problem(tmp_path / "p.toml")
