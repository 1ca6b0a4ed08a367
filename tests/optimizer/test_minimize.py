"""Whole searches in one call: how they end, what they return, and what they do about an objective in trouble."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from betabo import Categorical, Config, Fixed, Float, Int, Optimizer, minimize
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
        result = minimize(bowl, BOX, budget=3, initial_points=[[2.0, 5.0], [0.0, 0.0]], **QUICK)
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
        with pytest.raises(ValueError, match="expected either bounds or space, and not both"):
            minimize(bowl)
        with pytest.raises(ValueError, match="expected either bounds or space, and not both"):
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

        result = minimize(objective, BOX, budget=8, **QUICK)
        assert [e.error for e in result.history[:5]] == [
            "ValueError: bad point",
            "the value was nan",
            "the value was inf",
            "the value was None",
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

        result = minimize(objective, BOX, budget=3, **QUICK)
        assert not result.success
        assert result.x is None
        assert math.isnan(result.fun)
        assert result.nfail == 3

    def test_interruption_by_the_user_is_not_one(self) -> None:
        def objective(x: Any) -> float:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            minimize(objective, BOX, budget=3, **QUICK)


class TestProgress:
    def test_is_shown_when_asked_for(self, capsys: pytest.CaptureFixture[str]) -> None:
        def objective(x: Any) -> float:
            return math.nan if x[0] > 5 else bowl(x)

        result = minimize(objective, BOX, budget=5, progress=True, **QUICK)
        shown = capsys.readouterr().out
        assert "minimizing" in shown
        assert "5/5" in shown
        assert f"best {result.fun:.6g}" in shown
        assert result.nfail > 0
        assert f"{result.nfail} failed" in shown

    def test_is_not_shown_otherwise(self, capsys: pytest.CaptureFixture[str]) -> None:
        minimize(bowl, BOX, budget=3, **QUICK)
        captured = capsys.readouterr()
        assert captured.out + captured.err == ""

    def test_needs_rich_and_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "rich.progress", None)
        with pytest.raises(ImportError, match=r"progress=True needs rich: pip install 'betabo\[progress\]'"):
            minimize(bowl, BOX, budget=3, progress=True, **QUICK)


@pytest.fixture(scope="module")
def in_a_box() -> SearchResult:
    def objective(x: Any) -> float:
        values.append(math.nan if len(values) == 2 else bowl(x))
        return values[-1]

    values: list[float] = []
    return minimize(objective, BOX, budget=6, seed=0, starting_points=4)


@pytest.fixture(scope="module")
def with_names() -> SearchResult:
    return minimize(mixed, space=MIXED, budget=6, **QUICK)


class TestResult:
    def test_is_scipy_s(self, in_a_box: SearchResult) -> None:
        assert isinstance(in_a_box, OptimizeResult)
        assert in_a_box["fun"] == in_a_box.fun
        assert "success: True" in repr(in_a_box)
        assert in_a_box.seconds["fit"] > 0
        assert in_a_box.seconds["acquisition"] > 0

    def test_as_pandas_has_a_row_for_each_evaluation(self, in_a_box: SearchResult) -> None:
        table = in_a_box.to_pandas()
        assert len(table) == 6
        points = np.array([in_a_box.space.from_unit(e.unit) for e in in_a_box.history])
        assert np.array_equal(table[["x0", "x1"]].to_numpy(), points)
        assert table["evaluation"].tolist() == list(range(6))
        assert table["failed"].tolist() == [False, False, True, False, False, False]
        assert table["value"].isna().tolist() == table["failed"].tolist()
        assert table["error"][2] == "the value was nan"
        assert table["best"].tolist() == np.fmin.accumulate(table["value"]).tolist()
        assert table["origin"].tolist() == ["start"] * 4 + ["model"] * 2
        assert table["fit"].tolist() == [""] * 4 + ["fitted"] * 2
        assert [len(scales) for scales in table["lengthscale"]] == [0] * 4 + [2] * 2
        assert (table["fit_seconds"] > 0).tolist() == [False] * 4 + [True] * 2
        edge = np.minimum(points - [-5, 0], [10, 15] - points).min(axis=1) / 7.5
        assert table["boundary_distance"].to_numpy() == pytest.approx(edge, abs=1e-9)

    def test_as_pandas_has_the_parameters_as_columns(self, with_names: SearchResult) -> None:
        table = with_names.to_pandas()
        assert list(table.columns[1:5]) == ["rate", "n", "act", "k"]
        for (_, row), evaluation in zip(table.iterrows(), with_names.history, strict=True):
            assert {name: row[name] for name in MIXED} == with_names.space.from_unit(evaluation.unit)
            assert row["value"] == evaluation.value

    @pytest.mark.parametrize("fixture", ["in_a_box", "with_names"])
    def test_as_arrow_is_the_same_table(self, fixture: str, request: pytest.FixtureRequest) -> None:
        result = request.getfixturevalue(fixture)
        arrow, frame = result.to_arrow(), result.to_pandas()
        assert arrow.num_rows == 6
        assert arrow.column_names == list(frame.columns)
        for name in arrow.column_names:
            column = arrow.column(name).to_pylist()
            assert str(column) == str(frame[name].tolist()), name

    @pytest.mark.parametrize(("method", "library"), [("to_pandas", "pandas"), ("to_arrow", "pyarrow")])
    def test_tables_need_their_library_and_say_so(
        self, method: str, library: str, in_a_box: SearchResult, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ImportError, match=rf"{method} needs {library}: pip install 'betabo\[tables\]'"):
            getattr(in_a_box, method)()


def test_a_parameter_named_like_a_column_keeps_its_values() -> None:
    space = {"value": Float(5.0, 6.0), "noise": Float(0.0, 1.0)}
    table = minimize(lambda p: p["value"] + p["noise"], space=space, budget=4, seed=0).to_pandas()
    assert table["param_value"].between(5, 6).all()
    assert table["param_noise"].between(0, 1).all()
    np.testing.assert_allclose(table["value"], table["param_value"] + table["param_noise"])


def test_a_value_that_is_no_number_is_a_failed_evaluation() -> None:
    result = minimize(
        lambda x: "good" if x[0] > 0.5 else float(x[0]), [(0.0, 1.0)], budget=6, seed=0, starting_points=6
    )
    assert result.nfev == 6
    assert 0 < result.nfail < 6
    assert all("'good'" in e.error for e in result.history if e.failed)


def test_unknown_settings_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"unknown setting kernal, expected some of kernel, acquisition"):
        minimize(lambda x: 0.0, [(0.0, 1.0)], kernal="beta")


def test_a_printed_result_is_short() -> None:
    printed = repr(minimize(lambda x: float(x[0]), [(0.0, 1.0)], budget=20, seed=0, starting_points=20))
    assert "fun:" in printed
    assert len(printed) < 1000
