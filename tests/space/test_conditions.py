"""Parameters that exist only under a choice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from betabo import Categorical, Fixed, Float, Int, Optimizer, Space, minimize
from betabo.space.conditions import as_conditions

SPACE = Space(
    {
        "model": Categorical(["svm", "knn", "tree"]),
        "C": Float(1e-3, 1e3, log=True, when={"model": "svm"}),
        "metric": Categorical(["p", "cosine"], when={"model": ["knn"]}),
        "p": Int(1, 4, when={"metric": "p"}),
        "depth": Int(1, 9, when={"model": ["tree", "svm"]}),
        "seed": Fixed(3),
    }
)
POINTS: list[dict[str, Any]] = [
    {"model": "svm", "C": 1.0, "depth": 2, "seed": 3},
    {"model": "knn", "metric": "p", "p": 4, "seed": 3},
    {"model": "knn", "metric": "cosine", "seed": 3},
    {"model": "tree", "depth": 9, "seed": 3},
]


@pytest.mark.parametrize("point", POINTS)
def test_points_have_what_exists_there_and_come_back(point: dict[str, Any]) -> None:
    unit = SPACE.to_unit(point)
    assert SPACE.from_unit(unit) == pytest.approx(point)
    assert (SPACE.snap(unit[None])[0] == unit).all()
    assert SPACE.positions(unit).keys() == {n for n in point if n in ("C", "p", "depth")}


def test_points_that_differ_in_nothing_that_exists_are_the_same() -> None:
    rng = np.random.default_rng(0)
    units = rng.random((200, SPACE.dims))
    snapped = SPACE.snap(units)
    assert (SPACE.snap(snapped) == snapped).all()
    for unit, before in zip(snapped, units, strict=True):
        assert SPACE.from_unit(unit) == pytest.approx(SPACE.from_unit(before))
        assert SPACE.to_unit(SPACE.from_unit(unit)) == pytest.approx(unit, abs=1e-12)


def test_neighbours_step_in_what_exists() -> None:
    near = [SPACE.from_unit(unit) for unit in SPACE.neighbours(SPACE.to_unit(POINTS[2]))]
    assert len(near) == 3  # two other models, and the other metric
    assert {point["model"] for point in near} == {"svm", "tree", "knn"}  # type: ignore[call-overload]
    assert any(point.get("metric") == "p" and point["p"] in (2, 3) for point in near)  # type: ignore[union-attr]


def test_what_does_not_exist_is_refused_and_what_exists_is_needed() -> None:
    with pytest.raises(ValueError, match="The point has 'C', which does not exist there"):
        SPACE.to_unit({"model": "tree", "depth": 2, "C": 1.0})
    with pytest.raises(ValueError, match="The point lacks the names 'p'"):
        SPACE.to_unit({"model": "knn", "metric": "p"})


def test_the_most_coordinates_that_exist_at_once() -> None:
    assert SPACE.most_dims == 6  # a model of three, a metric of two, and p
    assert SPACE.dims == 8
    assert Space({"x": Float(0, 1)}).most_dims == 1
    assert Optimizer(SPACE).config.starting_points == 12
    assert Optimizer(SPACE, starting_points=3).config.starting_points == 3
    assert Optimizer([(0, 1)]).config.starting_points is None


def test_come_back_from_json() -> None:
    assert Space.from_json(SPACE.to_json()) == SPACE
    assert Space.from_json(SPACE.to_json()).parameters["p"] == Int(1, 4, when={"metric": ["p"]})
    assert "when" not in Float(0, 1).to_json()
    assert eval(repr(SPACE.parameters["depth"])) == SPACE.parameters["depth"]
    assert hash(SPACE.parameters["C"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"x": Float(0, 1, when={"model": "svm"})}, "expected the name of a Categorical before it: there is none"),
        (
            {"x": Float(0, 1, when={"m": "a"}), "m": Categorical(["a", "b"])},
            "expected the name of a Categorical before it",
        ),
        ({"mode": Categorical(["a", "b"]), "x": Float(0, 1, when={"mod": "a"})}, "Did you mean 'mode'"),
        ({"m": Categorical(["a", "b"]), "x": Float(0, 1, when={"m": "c"})}, "exists when 'm' is 'c', expected one of"),
        ({"n": Int(1, 3), "x": Float(0, 1, when={"n": 1})}, "expected the name of a Categorical before it"),
    ],
)
def test_conditions_that_make_no_sense(parameters: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Space(parameters)


def test_conditions_in_one_form() -> None:
    assert as_conditions({"m": "abc", "n": [1, 2]}) == (("m", ("abc",)), ("n", (1, 2)))
    assert as_conditions(as_conditions({"m": "a"})) == (("m", ("a",)),)
    assert as_conditions(None) == ()
    with pytest.raises(TypeError, match="when is 'svm', expected a dict such as"):
        Float(0, 1, when="svm")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected the name of a choice and one or more of its values"):
        Float(0, 1, when={"m": []})


def test_a_search_looks_in_all_branches_and_ends_in_the_best() -> None:
    def objective(point: dict[str, Any]) -> float:
        if point["model"] == "svm":
            return 0.02 + 0.05 * (np.log10(point["C"]) - 1.3) ** 2 + 0.01 * abs(point["depth"] - 3)
        if point["model"] == "knn":
            return 0.05 + 0.01 * point.get("p", 3)
        return 0.1 + 0.01 * point["depth"]

    result = minimize(objective, space=SPACE, budget=26, seed=0)
    assert result.x["model"] == "svm"
    assert result.fun < 0.025
    assert {point["model"] for point in (result.space.from_unit(e.unit) for e in result.history)} == {  # type: ignore[call-overload]
        "svm",
        "knn",
        "tree",
    }
    again = minimize(objective, space=SPACE, budget=2, seed=0, known_points=result.to_pandas())
    assert again.nfev == 2
    assert len(again.history) == 28


def test_where_parameters_exist_at_many_points() -> None:
    space = Space({"m": Categorical(["a", "b"]), "x": Float(0, 1, when={"m": "b"}), "y": Float(0, 1)})
    points = space.snap([[1, 0, 0.2, 0.3], [0, 1, 0.2, 0.3]])
    assert {name: here.tolist() for name, here in space.exists(points).items()} == {
        "m": [True, True],
        "x": [False, True],
        "y": [True, True],
    }
    plain = Space({"x": Float(0, 1)})
    assert plain.exists([[0.5]])["x"].tolist() == [True]
