"""What a study begins with."""

from __future__ import annotations

from pathlib import Path

import pytest

from betabo import Float, Problem, Space
from betabo.optuna.attributes import KNOWN
from betabo.studies import FunctionObjective, Plan, StudyError, load_study, open_study, run_worker
from betabo.studies.beginning import points_of_study

SPACE = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})
OBJECTIVE = """
def f(x, y):
    return {"loss": (x - 0.3) ** 2 + y, "heat": 100 * x}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "objective.py").write_text(OBJECTIVE)


def plan_of(problem: Problem, study: str = "first", trials: int = 4) -> Plan:
    return Plan(study, problem.space, FunctionObjective("objective.py:f"), trials, problem=problem, seed=0)


def test_initial_points_come_first_and_once() -> None:
    problem = Problem(SPACE, objectives={"loss": "minimize"}, initial=[{"x": 0.25, "y": 0.75}])
    for _ in range(2):
        study = open_study(plan_of(problem))
    assert [trial.state.name for trial in study.get_trials()] == ["WAITING"]
    run_worker(plan_of(problem, trials=2))
    complete = [t.params for t in study.get_trials() if t.state.name == "COMPLETE"]
    assert complete[0] == {"x": 0.25, "y": 0.75}
    assert len(complete) == 2


def test_known_constraints_and_limits_hold_for_workers_too() -> None:
    problem = Problem(SPACE, objectives={"loss": "minimize"}, constraints={"heat": "<= 20"}, known=["x + y == 1"])
    run_worker(plan_of(problem, trials=7))
    study = load_study("first")
    assert study.metric_names == ["loss"]
    for trial in study.get_trials():
        assert trial.params["x"] + trial.params["y"] == pytest.approx(1, abs=1e-9)
        assert trial.constraints == {"heat <= 20.0": pytest.approx(100 * trial.params["x"] - 20)}
        assert trial.user_attrs["heat"] == 100 * trial.params["x"]


def test_what_an_earlier_study_found_is_known_to_the_next_one_in_another_box() -> None:
    first = Problem(SPACE, objectives={"loss": "minimize"})
    run_worker(plan_of(first))
    narrow = Space({"x": Float(0.0, 0.5), "y": Float(0.0, 2.0)})
    known = points_of_study(load_study("first"), Problem(narrow, objectives={"loss": "minimize"}))
    assert len(known) == 4
    second = Problem(narrow, objectives={"loss": "minimize"}, known_points=known)
    said: list[str] = []
    study = open_study(plan_of(second, "second"), on_warning=said.append)
    inside = [point for point, _ in known if point["x"] <= 0.5]
    assert [entry["parameters"] for entry in study.user_attrs[KNOWN]] == [pytest.approx(point) for point in inside]
    assert f"{4 - len(inside)} of 4 known points do not lie in the space" in said[0]
    assert not study.get_trials()
    with pytest.raises(StudyError, match="study 'first' has 1 objectives, expected 2: a, b"):
        points_of_study(load_study("first"), Problem(SPACE, objectives={"a": "minimize", "b": "minimize"}))


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Problem(SPACE, known=["x >= 2"]), "no point of the space was found at which x >= 2 holds"),
        (Problem(SPACE, known=["x <= 0.5"], initial=[{"x": 1.0, "y": 0.0}]), "the initial point .* violates x <= 0.5"),
        (Problem(SPACE, initial=[{"x": 2.0, "y": 0.0}]), "x: value is 2.0, expected one in"),
        (Problem(SPACE, known_points=[({"x": 1.0, "y": 1.0}, "good")]), "the value is the str 'good'"),
        (Problem(SPACE, known=lambda p: bool(p["x"] < 1)), "known constraint function .* cannot be saved"),
    ],
)
def test_mistakes_leave_nothing_behind(problem: Problem, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        open_study(plan_of(problem))
    assert not Path("betabo.db").exists()
