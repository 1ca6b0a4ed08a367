"""What a search returns: the best point, the rows of the record, and where the points lie in the box."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from betabo import Fixed, Int, minimize
from betabo.optimizer.history import Evaluation
from betabo.optimizer.result import SearchResult
from betabo.space import Categorical, Float, Space

BOX = [(-5.0, 10.0), (0.0, 15.0)]
MIXED = {"rate": Float(1e-4, 1e-1, log=True), "n": Int(1, 5), "act": Categorical(["relu", "tanh"]), "k": Fixed("v")}
PAIR = Space({"x": Float(0, 1), "act": Categorical(["relu", "tanh"])})


def bowl(x: Any) -> float:
    return float((x[0] - 2) ** 2 + (x[1] - 5) ** 2)


def mixed(point: dict[str, Any]) -> float:
    return float((math.log10(point["rate"]) + 2) ** 2 + abs(point["n"] - 3) + (point["act"] == "relu"))


def result(space: Space, *evaluations: Evaluation) -> SearchResult:
    return SearchResult.of(space, list(evaluations), "done")


def test_the_best_is_the_first_of_the_least() -> None:
    found = result(
        Space.from_bounds([(0, 10)]),
        Evaluation((0.1,), 2.0),
        Evaluation((0.2,), None, "it broke"),
        Evaluation((0.3,), 1.0),
        Evaluation((0.4,), 1.0),
    )
    assert found.x == pytest.approx([3.0])
    assert (found.fun, found.nfev, found.nfail, found.success) == (1.0, 4, 1, True)


def test_without_a_value_there_is_no_point() -> None:
    found = result(Space.from_bounds([(0, 10)]), Evaluation((0.1,), None, "it broke"))
    assert found.x is None
    assert math.isnan(found.fun)
    assert not found.success


def test_a_category_is_on_no_face() -> None:
    inside, on_bound = ((0.25, 1.0, 0.0), (1.0, 0.0, 1.0))
    found = result(PAIR, Evaluation(inside, 2.0, origin="model"), Evaluation(on_bound, 1.0, origin="model"))
    assert [row["on_face"] for row in found.rows()] == [False, True]
    assert [row["boundary_distance"] for row in found.rows()] == [0.5, 0.0]
    assert found.face_share == 0.5


def test_categories_alone_have_no_boundary() -> None:
    found = result(Space({"act": Categorical(["relu", "tanh"])}), Evaluation((1.0, 0.0), 2.0, origin="model"))
    (row,) = found.rows()
    assert row["on_face"] is False
    assert math.isnan(row["boundary_distance"])
    assert found.face_share == 0.0


def test_seconds_are_summed_over_the_record() -> None:
    steps = [{"fit_seconds": 1.0, "acquisition_seconds": 0.5}, {}, {"fit_seconds": 2.0}]
    found = result(PAIR, *(Evaluation((0.5, 1.0, 0.0), 1.0, diagnostics=step) for step in steps))
    assert found.seconds == {"fit": 3.0, "acquisition": 0.5}


@pytest.fixture(scope="module")
def in_a_box() -> SearchResult:
    def objective(x: Any) -> float:
        values.append(math.nan if len(values) == 2 else bowl(x))
        return values[-1]

    values: list[float] = []
    return minimize(objective, BOX, budget=6, seed=0, starting_points=4)


@pytest.fixture(scope="module")
def with_names() -> SearchResult:
    return minimize(mixed, space=MIXED, budget=6, kernel="rbf", starting_points=4, seed=0)


class TestTables:
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
        assert [len(scales) for scales in table["lengthscale"]] == [0] * 4 + [2, 2]
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


def test_a_printed_result_is_short() -> None:
    printed = repr(minimize(lambda x: float(x[0]), [(0.0, 1.0)], budget=20, seed=0, starting_points=20))
    assert "fun:" in printed
    assert len(printed) < 1000
