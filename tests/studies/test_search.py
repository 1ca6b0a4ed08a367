from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from betabo import Categorical, Config, Float, Int, Problem, maximize, minimize
from betabo.studies import StudyError, list_studies, load_study, trial_rows
from betabo.studies.search import StudySearch, with_names

BOX = [(0.0, 1.0), (0.0, 2.0)]
QUICK: dict[str, Any] = {"starting_points": 1000, "seed": 0}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def bowl(x: np.ndarray) -> float:
    return float((x[0] - 0.3) ** 2 + x[1])


def test_a_search_is_a_study_like_any_other_and_goes_on() -> None:
    calls: list[list[float]] = []

    def counted(x: np.ndarray) -> float:
        calls.append(x.tolist())
        return bowl(x)

    first = minimize(counted, BOX, budget=4, study="s", **QUICK)
    assert (first.nfev, len(calls)) == (4, 4)
    again = minimize(counted, BOX, budget=4, study="s", **QUICK)
    assert (len(calls), again.fun) == (4, first.fun)
    more = minimize(counted, BOX, budget=6, study="s", **QUICK)
    assert [more.space.from_unit(e.unit).tolist() for e in more.history] == calls
    assert isinstance(more.x, np.ndarray)
    (info,) = list_studies("sqlite:///betabo.db")
    assert (info.name, info.trials, info.best) == ("s", 6, more.fun)
    assert [row["x0"] for row in trial_rows(load_study("s"))] == [x for x, _ in calls]


def test_the_model_takes_over_and_its_figures_are_in_the_record() -> None:
    seen = []
    result = minimize(bowl, BOX, budget=9, study="s", starting_points=5, seed=0, callback=lambda r: seen.append(r.nfev))
    assert {e.origin for e in result.history} > {"start"}
    assert result.seconds["fit"] > 0
    assert seen == list(range(1, 10))
    assert result.estimate is not None


def test_a_broken_objective_leaves_no_study() -> None:
    for broken in (lambda x: None, lambda x: 1 / 0, lambda x: "text"):
        with pytest.raises((TypeError, ZeroDivisionError)) as caught:
            minimize(broken, BOX, budget=4, study="s", **QUICK)
        assert "No evaluation has succeeded yet" in "".join(caught.value.__notes__)
        assert list_studies("sqlite:///betabo.db") == []


def test_failures_after_a_success_are_stored_with_their_reason() -> None:
    outcomes = iter([1.0, None, np.nan, 2.0])

    def moody(x: np.ndarray) -> Any:
        found = next(outcomes)
        if found is None:
            raise RuntimeError("out of memory")
        return found

    result = minimize(moody, BOX, budget=4, study="s", **QUICK)
    assert [e.error for e in result.history] == ["", "RuntimeError: out of memory", "the value was nan", ""]
    assert [row["reason"] for row in trial_rows(load_study("s"))][1:3] == [
        "RuntimeError: out of memory",
        "the value was nan",
    ]


def test_too_many_failures_end_it_with_all_that_is_known() -> None:
    result = minimize(lambda x: np.nan, BOX, budget=9, study="s", on_error="record", max_failures=3, **QUICK)
    assert (result.success, result.nfev) == (False, 3)
    assert "the last 3 trials failed" in result.message


def test_an_interrupt_returns_what_there_is_and_the_point_is_repeated() -> None:
    asked: list[list[float]] = []

    def interrupted(x: np.ndarray) -> float:
        asked.append(x.tolist())
        if len(asked) == 3:
            raise KeyboardInterrupt
        return bowl(x)

    result = minimize(interrupted, BOX, budget=5, study="s", **QUICK)
    assert (result.nfev, result.success) == (2, False)
    assert "interrupted after 2 evaluations" in result.message
    assert [trial["state"] for trial in trial_rows(load_study("s"))] == ["complete", "complete", "interrupted"]
    result = minimize(interrupted, BOX, budget=5, study="s", **QUICK)
    assert (result.nfev, asked[3]) == (5, asked[2])


def test_everything_of_a_problem_is_stored_with_it() -> None:
    problem = Problem(
        {"m": Categorical(["a", "b"]), "x": Float(0, 1, when={"m": "a"}), "n": Int(1, 9, when={"m": "b"})},
        objectives={"loss": "minimize", "speed": "maximize"},
        constraints={"heat": "<= 5"},
        known=["n <= 7"],
        initial=[{"m": "b", "n": 3}],
        known_points=[({"m": "a", "x": 0.5}, {"loss": 1.0, "speed": 2.0, "heat": 1.0})],
    )

    def fun(point: dict[str, Any]) -> dict[str, float]:
        number = point.get("x", point.get("n"))
        return {"loss": number, "speed": 2 * number, "heat": 10 * number if point["m"] == "a" else number}

    result = minimize(fun, problem=problem, budget=6, study="s", **QUICK)
    points = [problem.space.from_unit(e.unit) for e in result.history]
    assert points[:2] == [{"m": "a", "x": 0.5}, {"m": "b", "n": 3}]
    assert [e.origin for e in result.history][:2] == ["known", "user"]
    assert all(point.get("n", 0) <= 7 for point in points)
    assert result.history[0].measured == {"heat": 1.0}
    assert all(e.measured["heat"] == fun(p)["heat"] for e, p in zip(result.history[1:], points[1:], strict=True))
    assert all(point.measured["heat"] <= 5 for point in result.front)
    assert load_study("s").metric_names == ["loss", "speed"]


def test_what_cannot_be_stored_or_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"known constraint function .* cannot be saved; write it as text"):
        minimize(bowl, BOX, budget=4, study="s", known=lambda x: True, **QUICK)
    with pytest.raises(StudyError, match="study's name is ''"):
        minimize(bowl, BOX, budget=4, study="", **QUICK)
    with pytest.raises(ValueError, match=r"confirm is 0.2 with study='s'"):
        minimize(bowl, BOX, budget=4, study="s", confirm=0.2, **QUICK)
    with pytest.raises(ValueError, match="without a study"):
        minimize(bowl, BOX, budget=4, storage="sqlite:///other.db", **QUICK)
    minimize(bowl, BOX, budget=2, study="s", storage="sqlite:///other.db", **QUICK)
    with pytest.raises(StudyError, match="has the directions minimize, not maximize"):
        maximize(bowl, BOX, budget=4, study="s", storage="sqlite:///other.db", **QUICK)
    with pytest.raises(StudyError, match=r"x1=0..2, which is x1=0..3 now"):
        minimize(bowl, [(0, 1), (0, 3)], budget=4, study="s", storage="sqlite:///other.db", **QUICK)


def test_another_function_is_a_warning() -> None:
    minimize(bowl, BOX, budget=2, study="s", **QUICK)
    with pytest.warns(UserWarning, match="the objective was .*bowl.* and is .*lambda"):
        minimize(lambda x: bowl(x), BOX, budget=3, study="s", **QUICK)


def test_a_box_has_names_in_its_study() -> None:
    problem = Problem(BOX, known="x0 <= x1", initial=[[0.25, 1.0]], known_points=[([0.5, 1.0], 3.0)])
    named = with_names(problem)
    assert not named.space.is_box
    assert named.initial == ({"x0": 0.25, "x1": 1.0},)
    assert named.known_points == [({"x0": 0.5, "x1": 1.0}, 3.0)]
    assert named.to_json() == problem.to_json()


def test_several_points_at_a_time() -> None:
    result = minimize(bowl, BOX, budget=7, study="s", workers=2, **QUICK)
    assert result.nfev == 7
    assert [row["state"] for row in trial_rows(load_study("s"))] == ["complete"] * 7


def test_points_under_way_are_trials_of_their_own(make_search: Any) -> None:
    search: StudySearch = make_search(3)
    points = [search.ask() for _ in range(3)]
    assert len({tuple(point) for point in points}) == 3
    assert search.ask() is None
    search.tell(points[1], search.problem.measure(2.0))
    assert [e.value for e in search.evaluated] == [2.0]
    search.close()
    assert [row["state"] for row in trial_rows(load_study("s"))] == ["interrupted", "complete", "interrupted"]


@pytest.fixture
def make_search() -> Any:
    from betabo.studies.search import open_search

    return lambda budget: open_search(
        bowl, Problem(BOX), "s", "sqlite:///betabo.db", budget, Config(starting_points=1000), 0
    )


@pytest.mark.slow
def test_a_killed_program_loses_nothing() -> None:
    Path("program.py").write_text("""
import json, os, signal, sys
from betabo import minimize

def f(x):
    with open("journal", "a") as file:
        file.write(json.dumps(x.tolist()) + "\\n")
    if len(open("journal").readlines()) == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    return float(x[0] + x[1])

print(minimize(f, [(0, 1), (0, 1)], budget=6, study="s", seed=0, starting_points=100).nfev)
""")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    killed = subprocess.run([sys.executable, "program.py", "4"], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    ended = subprocess.run(
        [sys.executable, "program.py", "0"], env=environment, check=True, capture_output=True, text=True
    )
    assert ended.stdout.strip() == "6"
    points = [json.loads(line) for line in Path("journal").read_text().splitlines()]
    assert points[4] == points[3]
    assert len({tuple(point) for point in points}) == 6
