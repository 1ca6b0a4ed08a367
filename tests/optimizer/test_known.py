"""Results that are known before a search: every form that a table may have, and what does not fit."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from betabo import Categorical, Fixed, Float, Int, Optimizer, Space, minimize
from betabo.optimizer.known import read_known

BOX = Space.from_bounds([(0.0, 10.0), (0.0, 1.0)])
NAMED = Space(
    {"lr": Float(1e-4, 1e-2, log=True), "n": Int(1, 5), "act": Categorical(["relu", "tanh"]), "k": Fixed("v")}
)
ROW = {"lr": 1e-3, "n": 3, "act": "tanh", "value": 0.5}


def bowl(x: Any) -> float:
    return float((x[0] - 2) ** 2 + (x[1] - 0.5) ** 2)


class TestForms:
    @pytest.mark.parametrize(
        "known",
        [
            [([5.0, 0.25], 1.5), ((10.0, 1.0), None)],
            [(np.array([5.0, 0.25]), np.float64(1.5)), (np.array([10.0, 1.0]), math.nan)],
            [{"x0": 5.0, "x1": 0.25, "value": 1.5}, {"x0": 10, "x1": 1, "value": None}],
            pd.DataFrame({"x0": [5, 10], "x1": [0.25, 1.0], "value": [1.5, np.nan], "seconds": [1.0, 2.0]}),
        ],
        ids=["pairs", "arrays", "rows", "table"],
    )
    def test_of_a_box(self, known: Any) -> None:
        first, second = read_known(known, BOX)
        assert first.unit == pytest.approx((0.5, 0.25))
        assert first.value == 1.5
        assert second.unit == (1.0, 1.0)
        assert second.value is None or math.isnan(second.value)

    @pytest.mark.parametrize("suffix", ["csv", "parquet", "json"])
    def test_of_a_file(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"known.{suffix}"
        table = pd.DataFrame([{**ROW, "k": "v"}, {**ROW, "lr": 1e-4, "n": 5, "act": "relu", "k": "v"}])
        if suffix == "json":
            path.write_text(json.dumps(table.to_dict("records")))
        else:
            (table.to_csv if suffix == "csv" else table.to_parquet)(path)
        found = read_known(path, NAMED)
        assert [known.value for known in found] == [0.5, 0.5]
        points = [NAMED.from_unit(known.unit) for known in found]
        assert points == [
            {"lr": pytest.approx(1e-3), "n": 3, "act": "tanh", "k": "v"},
            {"lr": 1e-4, "n": 5, "act": "relu", "k": "v"},
        ]

    def test_of_a_table_whose_integers_became_floats_and_whose_choices_became_text(self) -> None:
        space = Space({"n": Int(1, 5), "size": Categorical([16, 32]), "on": Categorical([True, False])})
        (known,) = read_known([{"n": 2.0, "size": "32", "on": "False", "value": "1e-3"}], space)
        assert space.from_unit(known.unit) == {"n": 2, "size": 32, "on": False}
        assert known.value == 1e-3

    def test_of_exported_trials_leaves_out_those_that_have_not_ended(self) -> None:
        states = ["complete", "running", "failed", "interrupted", "pruned"]
        rows = [{**ROW, "state": state, "value": 1.0 if state == "complete" else None} for state in states]
        assert [known.value for known in read_known(rows, NAMED)] == [1.0, None]

    def test_of_the_table_of_an_earlier_search(self) -> None:
        space = {"value": Float(0.0, 1.0), "y": Float(0.0, 1.0)}
        result = minimize(lambda p: p["value"] + p["y"], space=space, budget=4, seed=0, starting_points=4)
        found = read_known(result.to_pandas(), result.space)
        assert [known.value for known in found] == [e.value for e in result.history]
        assert np.array([known.unit for known in found]) == pytest.approx(np.array([e.unit for e in result.history]))

    def test_of_none(self) -> None:
        assert read_known([], BOX) == read_known(pd.DataFrame(), BOX) == []


class TestMistakes:
    def test_points_outside_are_left_out_with_their_number_and_the_reason(self) -> None:
        rows = [ROW, {**ROW, "lr": 1.0}, {**ROW, "act": "gelu"}, {**ROW, "k": "w"}]
        with pytest.warns(UserWarning, match=r"3 of 4 known points do not lie.*in row 1, because lr: .*1\.0"):
            found = read_known(rows, NAMED)
        assert [known.value for known in found] == [0.5]

    def test_a_missing_column_is_named(self) -> None:
        with pytest.raises(ValueError, match=r"known_points lacks the column 'lr'.*Did you mean 'Lr'"):
            read_known([{"Lr": 1, "n": 3, "act": "tanh", "value": 1}], NAMED)
        with pytest.raises(ValueError, match=r"lacks the column 'value'; it has x0, x1, loss"):
            read_known(pd.DataFrame({"x0": [1], "x1": [1], "loss": [2]}), BOX)

    @pytest.mark.parametrize("known", [3, {"x0": 1}, b"text", [1.0, 2.0], [([1, 2], 3, 4)]])
    def test_what_is_no_table_is_refused(self, known: Any) -> None:
        with pytest.raises(TypeError, match=r"known_points.* is .*, expected"):
            read_known(known, BOX)

    def test_a_value_that_is_no_number_is_refused(self) -> None:
        with pytest.raises(TypeError, match="known point 1: the value is the str 'good', expected a number"):
            read_known([([1, 1], 2), ([1, 1], "good")], BOX)

    def test_files_that_cannot_be_read_are_named(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"known\.xlsx ends in \.xlsx, expected \.csv, \.parquet or \.json"):
            read_known(tmp_path / "known.xlsx", BOX)
        (tmp_path / "known.json").write_text('{"value": 1}')
        with pytest.raises(ValueError, match="holds no list of rows"):
            read_known(tmp_path / "known.json", BOX)
        (tmp_path / "known.json").write_text("[" * 100_000)
        with pytest.raises(ValueError, match=r"known\.json is nested too deeply to be a list of rows"):
            read_known(str(tmp_path / "known.json"), BOX)


class TestSearch:
    KNOWN = tuple(([x, y], bowl([x, y])) for x in (1.0, 3.0, 6.0) for y in (0.0, 0.6))

    def test_learns_from_known_points_and_does_not_count_them(self) -> None:
        result = minimize(bowl, [(0, 10), (0, 1)], budget=2, seed=0, kernel="rbf", known_points=self.KNOWN)
        assert result.nfev == 2
        assert [e.origin for e in result.history] == ["known"] * 6 + ["model"] * 2
        assert result.fun < min(value for _, value in self.KNOWN)

    def test_returns_a_known_point_that_is_best(self) -> None:
        known = [([2.0, 0.5], 0.0)]
        result = minimize(bowl, [(0, 10), (0, 1)], budget=2, seed=0, known_points=known)
        assert result.fun == 0
        assert result.x == pytest.approx([2, 0.5])

    def test_known_failures_do_not_end_it(self) -> None:
        known = [([float(x), 0.5], None) for x in range(10)]
        result = minimize(bowl, [(0, 10), (0, 1)], budget=2, seed=0, known_points=known)
        assert (result.nfev, result.nfail, result.success) == (2, 0, True)

    def test_an_objective_that_fails_at_once_is_raised_whatever_is_known(self) -> None:
        with pytest.raises(ZeroDivisionError):
            minimize(lambda x: 1 / 0, [(0, 10), (0, 1)], budget=2, known_points=self.KNOWN)

    def test_is_saved_with_them(self, tmp_path: Path) -> None:
        optimizer = Optimizer(BOX, seed=0, kernel="rbf", known_points=self.KNOWN, initial=[[4.0, 0.5]])
        optimizer.save(tmp_path / "search.json")
        again = Optimizer.load(tmp_path / "search.json")
        assert again.history == optimizer.history
        for _ in range(2):
            assert again.ask().tolist() == optimizer.ask().tolist()


class TestAccuracy:
    def test_is_a_column_of_variances(self) -> None:
        rows = [{"x0": 5.0, "x1": 0.25, "value": 1.5, "variance": 0.04}, {"x0": 1.0, "x1": 0.25, "value": 1.5}]
        for known in (rows, pd.DataFrame(rows)):
            history = Optimizer([(0.0, 10.0), (0.0, 1.0)], known_points=known).history
            assert [e.variance for e in history] == [pytest.approx(0.04), None]
            assert [e.value for e in history] == [1.5, 1.5]

    def test_goes_from_a_search_to_the_next_one(self) -> None:
        optimizer = Optimizer([(0.0, 10.0), (0.0, 1.0)], seed=0)
        optimizer.tell([5.0, 0.25], 1.5, variance=0.04)
        again = Optimizer([(0.0, 10.0), (0.0, 1.0)], known_points=optimizer.result().to_pandas())
        assert again.history[0].variance == pytest.approx(0.04)

    def test_of_a_parameter_with_that_name_is_none(self) -> None:
        known = [{"variance": 0.5, "value": 1.0}]
        assert Optimizer({"variance": Float(0.0, 1.0)}, known_points=known).history[0].variance is None

    def test_that_is_impossible_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"the variance is -1\.0, expected a number >= 0"):
            Optimizer([(0.0, 10.0)], known_points=[{"x0": 5.0, "value": 1.5, "variance": -1}])


def test_results_that_a_known_constraint_forbids_are_left_out() -> None:
    points = [([1.0, 0.1], 0.2), ([9.0, 0.9], 0.5)]
    with pytest.warns(UserWarning, match=r"violates x0 >= 5 and is left out"):
        search = Optimizer(BOX, known=["x0 >= 5"], known_points=points, seed=0)
    assert [evaluation.value for evaluation in search.history] == [0.5]


def test_a_parameter_may_be_called_state() -> None:
    space = {"state": Categorical(["CA", "NY"]), "x": Float(0, 1)}
    rows = [{"state": "CA", "x": 0.5, "value": 1.0}, {"state": "NY", "x": 0.25, "value": 2.0}]
    assert len(Optimizer(space, known_points=rows, seed=0).history) == 2


def test_a_table_needs_no_column_of_a_branch_that_it_lacks() -> None:
    space = {
        "model": Categorical(["svm", "tree"]),
        "c": Float(1, 9, when={"model": "svm"}),
        "depth": Int(1, 9, when={"model": "tree"}),
    }
    search = Optimizer(space, known_points=[{"model": "svm", "c": 2.0, "value": 1.0}], seed=0)
    assert len(search.history) == 1


def test_known_points_are_no_evaluations_without_gain() -> None:
    known = [([a, b], bowl([a, b]) + 1) for a in np.linspace(0, 10, 5) for b in np.linspace(0, 1, 5)]
    assert minimize(bowl, BOX, known_points=known, stop="plateau", budget=3, seed=0).nfev == 3


def test_a_told_point_that_a_known_constraint_forbids_is_left_out() -> None:
    optimizer = Optimizer([(0, 10)], known="x0 >= 5", seed=0)
    optimizer.tell([6.0], 1.0)
    with pytest.warns(UserWarning, match=r"told point .*2.* violates x0 >= 5 and is left out"):
        optimizer.tell([2.0], -7.0)
    assert optimizer.result().fun == 1.0
    assert len(optimizer.history) == 1
