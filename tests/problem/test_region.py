"""The region in which known constraints hold: no point that comes out of it violates one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from betabo import Categorical, Float, Int, Optimizer, Space, at_most, minimize, simplex
from betabo.problem.known import as_known
from betabo.problem.region import Region
from betabo.space import as_space

UNIT = Float(0.0, 1.0)
MANY = [f"a{i}" for i in range(50)]
BITS = Categorical([True, False])

CASES: dict[str, tuple[Any, Any]] = {
    "triangle": ({"x": UNIT, "y": UNIT}, ["x + y <= 1", "x < y"]),
    "small disc": ({"x": UNIT, "y": UNIT}, ["(x - 0.7)**2 + (y - 0.2)**2 <= 0.001"]),
    "two parts": ({"x": UNIT, "y": UNIT}, ["x <= 0.05 or x >= 0.95 and y <= 0.1"]),
    "hyperbola": ({"x": Float(1e-4, 1.0, log=True), "y": UNIT}, ["x * y == 0.01"]),
    "integers that add up": ({"a": Int(0, 10), "b": Int(0, 10), "c": Int(0, 10)}, ["a + b + c == 10"]),
    "steps that add up": ({n: Float(0.0, 1.0, step=0.1) for n in "abc"}, [simplex(*"abc")]),
    "mixed": (
        {"a": Int(0, 10), "x": Float(0.0, 10.0), "act": Categorical(["p", "q"])},
        ["a + x <= 10", "act != 'p' or x >= 9"],
    ),
    "mixture of few": (dict.fromkeys(MANY[:10], UNIT), [simplex(*MANY[:10]), at_most(3, *MANY[:10])]),
    "switches": (dict.fromkeys("abcd", BITS), [at_most(1, *"abcd"), "a or b"]),
    "function": ([(0, 1)] * 2, lambda x: bool((x[0] - 0.9) ** 2 + (x[1] - 0.1) ** 2 < 0.02)),
    "mixture of 50": (dict.fromkeys(MANY, UNIT), [simplex(*MANY)]),
    "budget of 50": (dict.fromkeys(MANY, UNIT), [" + ".join(MANY) + " <= 1"]),
    "ball in 50": (dict.fromkeys(MANY, UNIT), [" + ".join(f"({n} - 0.3)**2" for n in MANY) + " <= 0.04"]),
}


def region_of(name: str) -> Region:
    space = as_space(CASES[name][0])
    return Region(space, as_known(CASES[name][1], space))


@pytest.mark.parametrize("name", CASES)
def test_whatever_is_repaired_and_settled_is_allowed(name: str) -> None:
    region = region_of(name)
    points = np.random.default_rng(1).uniform(size=(60, region.space.dims))
    repaired = region.repair(points)
    assert region.holds(repaired).all()
    settled = [region.settle(point) for point in repaired]
    assert all(region.admits(point) for point in settled)
    assert np.abs(np.array(settled) - repaired).max() < 1e-6
    assert all(region.admits(point) for point in region.pool)
    np.testing.assert_array_equal(region.space.snap(repaired), repaired)


@pytest.mark.parametrize("name", ["triangle", "small disc", "mixture of 50", "budget of 50", "integers that add up"])
def test_the_pool_has_many_points_that_are_far_apart(name: str) -> None:
    pool = region_of(name).pool
    assert len(pool) >= 50
    spread = region_of(name).spread(pool[:1], 0)
    assert np.linalg.norm(spread[0] - pool[0]) == np.linalg.norm(pool - pool[0], axis=1).max()


def test_points_of_a_mixture_are_uniform() -> None:
    """The largest of 50 uniform shares is (1 + 1/2 + ... + 1/50) / 50 on average."""
    largest = region_of("mixture of 50").pool.max(axis=1)
    assert np.median(largest) == pytest.approx((1 / np.arange(1, 51)).sum() / 50, rel=0.25)


def test_repair_of_a_mixture_is_the_projection() -> None:
    """The nearest point of a simplex, by the algorithm of sorted sums."""
    space = Space(dict.fromkeys("abcd", UNIT))
    region = Region(space, as_known(simplex(*"abcd"), space))
    for point in np.random.default_rng(2).uniform(size=(30, 4)):
        ordered = np.sort(point)[::-1]
        shifts = (ordered.cumsum() - 1) / np.arange(1, 5)
        nearest = (point - shifts[np.flatnonzero(ordered > shifts)[-1]]).clip(0)
        assert region.repair(point[None])[0] == pytest.approx(nearest, abs=0.05)


def test_climbing_goes_along_a_curved_bound() -> None:
    space = Space.from_bounds([(0, 1), (0, 1)])
    region = Region(space, as_known("x0**2 + x1**2 <= 0.25", space))
    found = region.ascend(lambda u: (u[0] + 2 * u[1], np.array([1.0, 2.0])), np.array([[0.4, 0.1], [0.9, 0.9]]), 60)
    assert found == pytest.approx(np.tile(0.5 * np.array([1, 2]) / np.sqrt(5), (2, 1)), abs=1e-4)
    assert region.holds(found).all()


def test_what_cannot_hold_is_said() -> None:
    space = Space({"x": UNIT})
    with pytest.raises(ValueError, match="no point of the space was found at which x > 2 holds; loosen"):
        _ = Region(space, as_known("x > 2", space)).pool
    assert Region(space, as_known("x > 0.5", space)).violated(np.array([0.2])) == "x > 0.5"


TERMS = st.tuples(st.floats(-2, 2), st.floats(-2, 2), st.floats(-1, 1), st.floats(-2, 2))


@settings(max_examples=12, deadline=None)
@given(st.lists(TERMS, min_size=1, max_size=3), st.integers(0, 100))
def test_no_proposal_violates_a_random_constraint(terms: list[tuple[float, ...]], seed: int) -> None:
    """Python itself says whether the constraints hold."""
    known = [f"{a!r} * x + {b!r} * y + {c!r} * n * x * y <= {d!r}" for a, b, c, d in terms]
    space = {"x": Float(0.0, 1.0), "y": Float(0.01, 1.0, log=True), "n": Int(0, 4)}
    try:
        search = Optimizer(space, known=known, seed=seed, kernel="rbf", starting_points=3)
    except ValueError:  # there may be no such point
        return
    for number in range(6):
        p = search.ask()
        for a, b, c, d in terms:
            assert a * p["x"] + b * p["y"] + c * p["n"] * p["x"] * p["y"] <= d
        search.tell(p, (p["x"] - 0.5) ** 2 - p["y"] + 0.1 * p["n"] if number else 1.0)


class TestSearch:
    def test_finds_the_optimum_on_a_curved_bound(self) -> None:
        result = minimize(
            lambda x: (x[0] - 1) ** 2 + (x[1] - 1) ** 2, [(0, 1)] * 2, known="x0**2 + x1**2 <= 1", budget=16, seed=0
        )
        assert result.fun == pytest.approx(2 * (1 - 0.5**0.5) ** 2, abs=1e-3)
        for evaluation in result.history:
            point = result.space.from_unit(evaluation.unit)
            assert point[0] ** 2 + point[1] ** 2 <= 1  # type: ignore[index, operator]

    def test_in_50_dimensions_no_point_violates_a_mixture(self) -> None:
        search = Optimizer(dict.fromkeys(MANY, UNIT), known=simplex(*MANY), seed=0, kernel="rbf", starting_points=6)
        for _ in range(8):
            point = search.ask()
            assert sum(point.values()) == pytest.approx(1, abs=1e-9)
            assert min(point.values()) >= 0
            search.tell(point, point["a0"] - point["a49"])
        assert [e.origin for e in search.history][-2:] == ["model", "model"]

    def test_local_steps_stay_in_the_region(self) -> None:
        result = minimize(lambda x: (x[0] - 2) ** 2 + x[1], [(0, 1)] * 2, known="x0 + x1 == 1", budget=14, seed=1)
        points = np.array([result.space.from_unit(e.unit) for e in result.history])
        assert points.sum(axis=1) == pytest.approx(1, abs=1e-9)
        assert "local" in {e.origin for e in result.history}
        assert result.x == pytest.approx([1, 0], abs=1e-3)

    def test_an_initial_point_that_violates_a_constraint_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"the initial point \[1, 1\] violates x0 \+ x1 <= 1"):
            Optimizer([(0, 1)] * 2, known="x0 + x1 <= 1", initial=[[1, 1]])

    def test_a_saved_search_keeps_its_constraints_if_they_are_text(self) -> None:
        search = Optimizer([(0, 1)] * 2, known=["x0 + x1 <= 1", at_most(1, "x0", "x1")], seed=3)
        again = Optimizer.from_json(search.to_json())
        assert again.problem.known[0].text == "x0 + x1 <= 1"
        assert (again.ask() == search.ask()).all()
        with pytest.raises(ValueError, match=r"known constraint function .* cannot be saved; write it as text"):
            Optimizer([(0, 1)], known=lambda x: bool(x[0] < 1)).to_json()


def test_many_points_of_a_conditional_space_are_checked_at_once() -> None:
    space = Space(
        {
            "m": Categorical(["p", "q"]),
            "x": Float(0.0, 1.0, when={"m": "p"}),
            "n": Int(0, 9, when={"m": "q"}),
            "y": UNIT,
        }
    )
    known = ["x <= y", "n + y <= 6", "m == 'q' or y >= 0.2", at_most(1, "x", "n", "y"), lambda p: p.get("n", 0) != 3]
    for constraints in (known[:3], known):
        region = Region(space, as_known(constraints, space))
        points = space.snap(np.random.default_rng(0).random((400, space.dims)))
        points[:200, -1] = 0.0
        found = region.holds(points)
        assert found.tolist() == [region.admits(point) for point in points]
        assert 0 < found.sum() < 400
