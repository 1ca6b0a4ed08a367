"""Whole searches in one call: how they end, what they return, and what they do about an objective in trouble."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from betabo import Categorical, Config, Fixed, Float, Int, Optimizer, Problem, maximize, minimize
from betabo.optimizer import SearchResult

BOX = [(-5.0, 10.0), (0.0, 15.0)]
MIXED = {"rate": Float(1e-4, 1e-1, log=True), "n": Int(1, 5), "act": Categorical(["relu", "tanh"]), "k": Fixed("v")}
QUICK: dict[str, Any] = {"kernel": "rbf", "starting_points": 4, "seed": 0}


def bowl(x: Any) -> float:
    return float((x[0] - 2) ** 2 + (x[1] - 5) ** 2)


def mixed(point: dict[str, Any]) -> float:
    return float((math.log10(point["rate"]) + 2) ** 2 + abs(point["n"] - 3) + (point["act"] == "relu"))


def fails_in_a_ball(x: Any) -> float:
    """The best values would be inside the ball, and there are none."""
    if np.linalg.norm(x - 0.5) < 0.3:
        raise RuntimeError("inside the ball")
    return float(((x - 0.5) ** 2).sum())


class TestSearch:
    def test_finds_the_minimum(self) -> None:
        result = minimize(bowl, BOX, budget=16, **QUICK)
        assert result.success
        assert result.fun < 0.05
        assert result.x == pytest.approx([2, 5], abs=0.3)
        assert result.fun == bowl(result.x)
        assert result.nfev == len(result.history) == 16
        assert result.message == "the budget of 16 evaluations is used up"

    def test_is_the_search_by_ask_and_tell(self) -> None:
        result = minimize(bowl, BOX, budget=6, **QUICK)
        optimizer = Optimizer(BOX, **QUICK)
        for _ in range(6):
            point = optimizer.ask()
            optimizer.tell(point, bowl(point))
        assert [e.unit for e in result.history] == [e.unit for e in optimizer.history]

    @pytest.mark.parametrize("kernel", ["rbf", "beta-matern"])
    def test_ends_exactly_at_a_vertex(self, kernel: str) -> None:
        bounds = [(-3.3, 7.1), (0.1, 2.3), (1e-7, 5)]
        result = minimize(lambda x: x[0] - 2 * x[1] + x[2], bounds, budget=9, seed=1, kernel=kernel, starting_points=5)
        assert result.x.tolist() == [-3.3, 2.3, 1e-7]
        assert result.face_share > 0.5

    def test_hands_the_objective_values_of_the_right_types(self) -> None:
        points: list[dict[str, Any]] = []

        def objective(point: dict[str, Any]) -> float:
            points.append(point)
            return mixed(point)

        result = minimize(objective, space=MIXED, budget=14, **QUICK)
        for point in points:
            assert [type(value) for value in point.values()] == [float, int, str, str]
        assert (result.x["n"], result.x["act"], result.x["k"]) == (3, "tanh", "v")

    def test_lets_the_objective_change_its_argument(self) -> None:
        def shifts(x: Any) -> float:
            x -= [2, 5]
            return float((x**2).sum())

        changed = minimize(shifts, BOX, budget=6, **QUICK)
        assert [e.unit for e in changed.history] == [e.unit for e in minimize(bowl, BOX, budget=6, **QUICK).history]

    def test_begins_with_the_initial_points(self) -> None:
        result = minimize(bowl, BOX, budget=3, initial=[[2.0, 5.0], [0.0, 0.0]], **QUICK)
        assert [e.value for e in result.history[:2]] == pytest.approx([0, 29])
        assert result.x == pytest.approx([2, 5])

    @pytest.mark.parametrize("budget", [1, 3])
    def test_a_budget_may_be_smaller_than_the_starting_design(self, budget: int) -> None:
        result = minimize(bowl, BOX, budget=budget, **QUICK)
        assert result.nfev == budget
        assert result.success
        assert {e.origin for e in result.history} == {"start"}
        assert math.isnan(result.face_share)

    def test_stops_when_the_callback_says_so(self) -> None:
        seen: list[int] = []

        def callback(result: SearchResult) -> bool:
            seen.append(result.nfev)
            return result.nfev == 3

        result = minimize(bowl, BOX, budget=10, callback=callback, **QUICK)
        assert seen == [1, 2, 3]
        assert result.nfev == 3
        assert result.success
        assert result.message == "the callback asked to stop"

    @pytest.mark.parametrize(("answer", "evaluations"), [(np.True_, 1), (np.False_, 4), (None, 4), ("text", 4)])
    def test_only_true_is_a_reason_to_stop(self, answer: Any, evaluations: int) -> None:
        assert minimize(bowl, BOX, budget=4, callback=lambda result: answer, **QUICK).nfev == evaluations

    def test_takes_a_configuration_as_a_whole(self) -> None:
        config = Config(kernel="rbf", starting_points=4)
        whole = minimize(bowl, BOX, budget=5, seed=0, config=config)
        assert [e.unit for e in whole.history] == [e.unit for e in minimize(bowl, BOX, budget=5, **QUICK).history]

    def test_impossible_arguments_are_refused(self) -> None:
        with pytest.raises(ValueError, match="expected either bounds or space, or a problem, and only one"):
            minimize(bowl)
        with pytest.raises(ValueError, match="expected either bounds or space, or a problem, and only one"):
            minimize(bowl, BOX, space=MIXED)
        with pytest.raises(ValueError, match="budget is 0, expected at least 1"):
            minimize(bowl, BOX, budget=0)
        with pytest.raises(ValueError, match="config is given together with kernel"):
            minimize(bowl, BOX, config=Config(), kernel="rbf")


class TestFailures:
    def test_are_recorded_with_their_reason_and_the_search_goes_on(self) -> None:
        troubles = iter([ValueError("bad point"), math.nan, math.inf, None])

        def objective(x: Any) -> Any:
            trouble = next(troubles, 1.0)
            if isinstance(trouble, Exception):
                raise trouble
            return trouble if trouble != 1.0 else bowl(x)

        result = minimize(objective, BOX, budget=8, on_error="record", **QUICK)
        assert [e.error for e in result.history[:5]] == [
            "ValueError: bad point",
            "the value was nan",
            "the value was inf",
            "TypeError: the objective returned None, expected a number; does it lack a return?",
            "",
        ]
        assert (result.nfev, result.nfail) == (8, 4)
        assert result.success
        assert result.fun == min(e.value for e in result.history if e.value is not None)

    @pytest.mark.parametrize("seed", range(2))
    def test_keep_later_proposals_away(self, seed: int) -> None:
        result = minimize(fails_in_a_ball, [(0, 1)] * 2, budget=20, seed=seed, kernel="rbf", starting_points=6)
        proposed = [e for e in result.history if e.origin == "model"]
        assert len(proposed) == 14
        assert sum(e.failed for e in proposed) < 7
        assert {e.error for e in proposed if e.failed} <= {"RuntimeError: inside the ball"}
        assert 0.09 <= result.fun < 0.15

    def test_too_many_in_a_row_end_it_with_the_record(self) -> None:
        def objective(x: Any) -> float:
            if len(calls) > 2:
                raise OSError("the machine is gone")
            calls.append(x)
            return bowl(x)

        calls: list[Any] = []
        result = minimize(objective, BOX, budget=30, max_failures=4, **QUICK)
        assert not result.success
        assert result.nfev == len(result.history) == 7
        assert result.nfail == 4
        assert "the last 4 evaluations failed" in result.message
        assert "OSError: the machine is gone" in result.message
        assert result.fun == min(bowl(x) for x in calls)

    def test_of_everything_are_no_success(self) -> None:
        def objective(x: Any) -> float:
            raise OSError("never")

        result = minimize(objective, BOX, budget=3, on_error="record", **QUICK)
        assert not result.success
        assert result.x is None
        assert math.isnan(result.fun)
        assert result.nfail == 3

    @pytest.mark.parametrize("trouble", [RuntimeError("no data"), KeyError("x")])
    def test_of_the_first_evaluation_is_raised(self, trouble: Exception) -> None:
        def objective(x: Any) -> float:
            calls.append(x)
            raise trouble

        calls: list[Any] = []
        with pytest.raises(type(trouble)) as caught:
            minimize(objective, BOX, budget=5, **QUICK)
        assert len(calls) == 1
        assert "on_error='record'" in caught.value.__notes__[0]

    def test_after_values_that_are_not_finite_are_raised_too(self) -> None:
        values = iter([math.nan, math.inf])

        def objective(x: Any) -> float:
            return next(values)  # StopIteration at last

        with pytest.raises(StopIteration):
            minimize(objective, BOX, budget=5, **QUICK)

    def test_interrupted_search_returns_what_it_has_and_the_second_ctrl_c_raises(self) -> None:
        def objective(x: Any) -> float:
            calls.append(x)
            if len(calls) > 3:
                raise KeyboardInterrupt
            return bowl(x)

        calls: list[Any] = []
        result = minimize(objective, BOX, budget=9, **QUICK)
        assert result.message == "interrupted after 3 evaluations"
        assert not result.success
        assert result.nfev == len(result.history) == 3
        assert result.fun == min(bowl(x) for x in calls[:3])
        del calls[1:]
        with pytest.raises(KeyboardInterrupt):
            minimize(objective, BOX, budget=9, **QUICK)

    def test_interruption_before_anything_is_known_is_raised(self) -> None:
        def objective(x: Any) -> float:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            minimize(objective, BOX, budget=3, **QUICK)


def test_a_value_that_is_no_number_is_a_failed_evaluation() -> None:
    result = minimize(
        lambda x: "good" if x[0] > 0.5 else float(x[0]),
        [(0.0, 1.0)],
        budget=6,
        seed=0,
        starting_points=6,
        on_error="record",
    )
    assert result.nfev == 6
    assert 0 < result.nfail < 6
    assert all("'good'" in e.error for e in result.history if e.failed)


def test_unknown_settings_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"unknown argument kernal, .* budget, .* Did you mean 'kernel'\?"):
        minimize(lambda x: 0.0, [(0.0, 1.0)], kernal="beta")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": "10"}, "budget is '10', expected an integer"),
        ({"seed": "a"}, "seed is 'a', expected an integer"),
        ({"seed": 1.5}, r"seed is 1.5, expected an integer"),
        ({"initial": 5}, "initial is 5, expected a list of points"),
        ({"known_points": 5}, "known_points is 5, expected pairs"),
        ({"earlier": 5}, "earlier is 5, expected pairs"),
        ({"timeout": [1]}, r"timeout is \[1\], expected a number"),
        ({"target": "x"}, "target is 'x', expected a number"),
        ({"stop": 5}, "stop is 5, expected 'plateau'"),
        ({"workers": "2"}, "workers is '2', expected an integer"),
        ({"executor": 5}, r"executor is 5, expected one of concurrent\.futures"),
        ({"callback": 5}, "callback is 5, expected a function"),
        ({"config": {"kernel": "beta"}}, "config is {.*}, expected a Config"),
        ({"objectives": 5}, "objectives is 5, expected 'minimize'"),
        ({"constraints": 5}, "constraints is 5, expected a dict"),
        ({"known": 5}, "known constraint 5, expected text"),
        ({"study": "s", "storage": 5}, "storage is 5, expected text"),
        ({"progress": "yes"}, "progress is 'yes', expected True or False"),
        ({"starting_points": "5"}, "starting_points is '5', expected an integer"),
        ({"n_calls": 5}, "unknown argument n_calls, .* Did you mean 'budget'"),
        ({"random_state": 5}, "Did you mean 'seed'"),
    ],
)
def test_arguments_of_another_type_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        minimize(bowl, BOX, **{"budget": 2, **arguments})


class TestProblems:
    def test_maximize_is_minimize_of_the_negative(self) -> None:
        most = maximize(lambda x: -bowl(x), BOX, budget=8, **QUICK)
        least = minimize(bowl, BOX, budget=8, **QUICK)
        assert [e.unit for e in most.history] == [e.unit for e in least.history]
        assert most.fun == -least.fun == max(e.value for e in most.history)
        assert most.to_pandas()["best"].is_monotonic_increasing
        with pytest.raises(TypeError, match="maximize takes no objectives"):
            maximize(bowl, BOX, objectives="minimize")

    def test_measured_constraints_hold_at_the_answer(self) -> None:
        """The minimum of the bowl is at (2, 5), where the constraint does not hold; the best point has x[0] = 4."""
        result = minimize(
            lambda x: {"value": bowl(x), "heat": 10 * x[0]}, BOX, constraints={"heat": ">= 40"}, budget=18, **QUICK
        )
        assert result.success
        assert result.maxcv == 0
        assert result.x == pytest.approx([4, 5], abs=0.4)
        assert result.x[0] >= 4
        assert set(result.to_pandas().columns) >= {"value", "heat"}
        assert result.front[0].measured == {"heat": pytest.approx(10 * result.x[0])}

    def test_without_a_feasible_point_the_least_violation_is_returned_and_no_success(self) -> None:
        result = minimize(lambda x: (bowl(x), {"heat": x[0]}), BOX, constraints=["heat <= -6"], budget=7, **QUICK)
        assert not result.success
        assert result.front == []
        assert result.maxcv == pytest.approx(min(e.measured["heat"] for e in result.history) + 6)
        assert result.maxcv < 3

    def test_several_objectives_have_a_front_and_a_volume(self) -> None:
        result = minimize(
            lambda x: {"cost": bowl(x), "gain": -float((x[0] - 6) ** 2 + (x[1] - 5) ** 2)},
            BOX,
            objectives={"cost": "minimize", "gain": "maximize"},
            budget=16,
            **QUICK,
        )
        assert result.success
        costs, gains = zip(*((p.values["cost"], p.values["gain"]) for p in result.front), strict=True)
        assert list(costs) == sorted(costs)
        assert list(gains) == sorted(gains)
        assert len(result.front) >= 4
        assert result.hypervolume == sorted(result.hypervolume)
        assert len(result.hypervolume) == 16
        assert result.fun == result.front[0].values["cost"]
        assert "front" in repr(result)
        table = result.to_pandas()
        assert table[["cost", "gain"]].to_numpy().tolist() == [list(e.values) for e in result.history]
        again = minimize(
            lambda x: (0.0, 0.0), BOX, objectives=result.problem.objectives, known_points=table, budget=1, seed=0
        )
        assert [e.values for e in again.history[:16]] == [e.values for e in result.history]

    def test_a_problem_is_the_same_as_its_parts(self) -> None:
        problem = Problem(BOX, objectives="maximize", initial=[[0.0, 0.0]])
        one = minimize(bowl, problem=problem, budget=3, **QUICK)
        other = minimize(bowl, BOX, objectives="maximize", initial=[[0.0, 0.0]], budget=3, **QUICK)
        assert [e.unit for e in one.history] == [e.unit for e in other.history]
        with pytest.raises(ValueError, match="a Problem is given together with objectives"):
            minimize(bowl, problem=problem, objectives="maximize")

    def test_a_saved_search_keeps_its_problem(self, tmp_path: Path) -> None:
        objectives: dict[str, Any] = {"a": "minimize", "b": "maximize"}
        search = Optimizer(
            BOX, objectives=objectives, constraints={"c": "0..1"}, starting_points=2, seed=0, kernel="rbf"
        )
        for _ in range(4):
            x = search.ask()
            search.tell(x, {"a": x[0], "b": x[1], "c": x[0] / 10})
        search.save(tmp_path / "search.json")
        again = Optimizer.load(tmp_path / "search.json")
        assert again.problem.to_json() == search.problem.to_json()
        assert again.history == search.history
        assert again.ask() == pytest.approx(search.ask())
        damaged = search.to_json()
        damaged["history"][0]["measured"] = {}
        with pytest.raises(ValueError, match=r"history\[0\] has nothing for the constraint 'c'"):
            Optimizer.from_json(damaged)
        damaged["history"][0]["values"] = [1.0]
        with pytest.raises(ValueError, match=r"history\[0\] has 1 values, expected 2"):
            Optimizer.from_json(damaged)
