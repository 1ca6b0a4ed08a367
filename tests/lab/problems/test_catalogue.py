from __future__ import annotations

import pytest
from botorch.test_functions.synthetic import Levy, Michalewicz

from betabo.lab.problems import PROBLEMS, ProblemEntry, problem_by_name, register_problem


def test_functions_can_be_registered(monkeypatch) -> None:
    monkeypatch.setattr("betabo.lab.problems.catalogue.PROBLEMS", known := dict(PROBLEMS))
    monkeypatch.setattr("betabo.lab.problems.bounded.PROBLEMS", known)
    register_problem(ProblemEntry("my_levy", "Levy again.", lambda dim: Levy(dim)))
    assert problem_by_name("my_levy-3-vertex").unit_optimizers.tolist() == [pytest.approx([0.05] * 3)]
    with pytest.raises(ValueError, match="which is taken by: Levy again"):
        register_problem(ProblemEntry("my_levy", "Levy once more.", lambda dim: Levy(dim)))
    with pytest.raises(ValueError, match="small letters"):
        register_problem(ProblemEntry("My-Levy", "Levy.", lambda dim: Levy(dim)))
    register_problem(ProblemEntry("michalewicz", "No listed optimum.", lambda dim: Michalewicz(3)))
    with pytest.raises(ValueError, match="does not list an optimum"):
        problem_by_name("michalewicz-3-face")


def test_entries_describe_themselves() -> None:
    for name, entry in PROBLEMS.items():
        assert entry.name == name
        assert entry.description.endswith(".")
        assert "\n" not in entry.description
