"""What a search returns: the best point, the rows of the record, and where the points lie in the box."""

from __future__ import annotations

import math

import pytest

from betabo.optimizer.history import Evaluation
from betabo.optimizer.result import SearchResult
from betabo.space import Categorical, Float, Space

MIXED = Space({"x": Float(0, 1), "act": Categorical(["relu", "tanh"])})


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
    found = result(MIXED, Evaluation(inside, 2.0, origin="model"), Evaluation(on_bound, 1.0, origin="model"))
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
    found = result(MIXED, *(Evaluation((0.5, 1.0, 0.0), 1.0, diagnostics=step) for step in steps))
    assert found.seconds == {"fit": 3.0, "acquisition": 0.5}
