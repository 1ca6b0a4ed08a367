"""Known constraints of all kinds: what each admits, and how mistakes are answered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint

from betabo import Categorical, Float, Int, Space, at_most, simplex
from betabo.problem.columns import columns_of, duals_of
from betabo.problem.known import KnownConstraint, as_known

NAMED = Space({"a": Float(0.0, 1.0), "b": Float(0.0, 1.0), "n": Int(0, 3), "on": Categorical([False, True])})
BOX = Space.from_bounds([(0, 1), (0, 1)])


def one(known: Any, space: Space = NAMED) -> KnownConstraint:
    (constraint,) = as_known(known, space)
    return constraint


def test_a_simplex_is_a_sum() -> None:
    constraint = one(simplex("a", "b"))
    assert constraint.text == "a + b == 1.0"
    assert one("simplex(a, b)").admits({"a": 0.25, "b": 0.75})
    assert not one(simplex("a", "b", total=2)).admits({"a": 0.25, "b": 0.75})
    with pytest.raises(ValueError, match="simplex has the parameters a, expected at least two"):
        simplex("a")


def test_at_most_counts_what_is_not_zero() -> None:
    constraint = one(at_most(2, "a", "b", "n", "on"))
    assert constraint.text == "at_most(2, a, b, n, on)"
    assert constraint.admits({"a": 0.0, "b": 0.5, "n": 1, "on": False})
    assert not constraint.admits({"a": 0.0, "b": 0.5, "n": 1, "on": True})
    assert one(constraint.text) == constraint


def test_a_function_is_given_points_as_the_user_has_them() -> None:
    seen: list[Any] = []

    def allowed(point: dict[str, Any]) -> bool:
        seen.append([type(value) for value in point.values()])
        point["a"] = 9.0
        return bool(point["n"] > 1)

    units = NAMED.snap(np.random.default_rng(0).uniform(size=(9, NAMED.dims)))
    held = one(allowed).holds(columns_of(NAMED, units), 9)
    assert held.tolist() == [NAMED.from_unit(u)["n"] > 1 for u in units]  # type: ignore[call-overload, index, operator]
    assert seen[0] == [float, float, int, bool]
    assert one(lambda x: bool(x.sum() < 1), BOX).holds(
        columns_of(BOX, np.array([[0.2, 0.3], [0.9, 0.3]])), 2
    ).tolist() == [
        True,
        False,
    ]
    with pytest.raises(TypeError, match=r"returned 3 at .*, expected True or False"):
        one(lambda _: 3).admits({"a": 0.0})


@pytest.mark.parametrize(
    "known",
    [
        LinearConstraint([[1, 1], [1, -1]], [-np.inf, 0], [1, np.inf]),
        NonlinearConstraint(lambda x: [x[0] + x[1], x[0] - x[1]], [-np.inf, 0], [1, np.inf]),
        [
            {"type": "ineq", "fun": lambda x: 1 - x[0] - x[1]},
            {"type": "ineq", "fun": lambda x, c: c * (x[0] - x[1]), "args": (2,)},
        ],
        ["x0 + x1 <= 1", "x0 >= x1"],
    ],
)
def test_constraints_of_scipy_mean_what_they_mean_there(known: Any) -> None:
    constraints = as_known(known, BOX)
    points = np.random.default_rng(0).uniform(size=(50, 2))
    expected = (points.sum(axis=1) <= 1) & (points[:, 0] >= points[:, 1])
    assert [all(c.admits(point) for c in constraints) for point in points] == expected.tolist()
    gaps = [gap for c in constraints for gap, _ in c.gaps(duals_of(BOX, points))]
    assert ((np.stack([gap.value for gap in gaps]) <= 0).all(axis=0) == expected).all()
    slopes = {tuple(np.sign(gap.slope[0].round(5))) for gap in gaps}
    assert slopes == {(1.0, 1.0), (-1.0, 1.0)}


def test_equations_of_scipy_hold_to_within_rounding() -> None:
    constraint = one({"type": "eq", "fun": lambda x: x[0] + x[1] - 0.3}, BOX)
    assert constraint.admits(np.array([0.1, 0.2]))
    assert not constraint.admits(np.array([0.1, 0.21]))
    assert [is_equation for _, is_equation in constraint.gaps(duals_of(BOX, np.zeros((1, 2))))] == [True]


@pytest.mark.parametrize(
    ("known", "error", "message"),
    [
        (3, TypeError, "known constraint 3, expected text such as 'x \\+ y <= 1', or a function"),
        (at_most(4, "a", "b"), ValueError, r"at_most\(4, a, b\)', expected fewer than the parameters"),
        ("at_most(0, a, b)", ValueError, "expected fewer than"),
        ("at_most(1, a, c)", ValueError, "has c, expected names of parameters that are numbers"),
        ("simplex(a, c)", ValueError, "has c, which is no parameter"),
        (LinearConstraint([[1, 1]], 0, 1), ValueError, "a constraint of SciPy is of a box"),
    ],
)
def test_mistakes_are_named(known: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        as_known(known, NAMED)


def test_mistakes_of_boxes_are_named() -> None:
    with pytest.raises(ValueError, match=r"expected {'type': 'ineq' or 'eq'"):
        as_known({"type": "le", "fun": abs}, BOX)
    with pytest.raises(ValueError, match="LinearConstraint has 3 columns, expected 2"):
        as_known(LinearConstraint([[1, 1, 1]], 0, 1), BOX)
    with pytest.raises(ValueError, match="x0 can never be 0"):
        as_known("at_most(1, x0, x1)", Space.from_bounds([(1, 2), (0, 1)]))
