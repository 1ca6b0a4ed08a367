"""The language of known constraints."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from betabo import Categorical, Fixed, Float, Int, Space
from betabo.problem.columns import columns_of, duals_of
from betabo.problem.expressions import FUNCTIONS, Expression

SPACE = Space(
    {
        "x": Float(-2.0, 2.0),
        "y": Float(0.1, 10.0, log=True),
        "n": Int(0, 5),
        "act": Categorical(["relu", "tanh", "gelu"]),
        "on": Categorical([True, False]),
        "k": Fixed(3),
    }
)
NUMBERS = st.sampled_from(["x", "y", "n", "k", "0.5", "2", "-1.25", "1e-3"])
SMOOTH = ["sqrt(y)", "exp(x)", "log(y)", "log2(y)", "log10(y)", "sin(x)", "cos(x)", "tan(x / 4)", "tanh(x)", "abs(x)"]


def grow(numbers: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(numbers, st.sampled_from(["+", "-", "*", "/", "//", "%"]), numbers)
    return st.one_of(
        pairs.map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        numbers.map(lambda n: f"(-{n})"),
        numbers.map(lambda n: f"abs({n})"),
        st.tuples(numbers, numbers).map(lambda p: f"min({p[0]}, {p[1]})"),
        st.tuples(numbers, st.sampled_from(["2", "3"])).map(lambda p: f"({p[0]} ** {p[1]})"),
    )


def join(truths: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(truths, st.sampled_from(["and", "or"]), truths)
    return st.one_of(pairs.map(lambda p: f"({p[0]} {p[1]} {p[2]})"), truths.map(lambda t: f"(not {t})"))


EXPRESSIONS = st.recursive(NUMBERS, grow, max_leaves=6)
COMPARISONS = st.one_of(
    st.tuples(EXPRESSIONS, st.sampled_from(["<=", "<", ">=", ">"]), EXPRESSIONS).map(" ".join),
    st.tuples(EXPRESSIONS, EXPRESSIONS, EXPRESSIONS).map(" <= ".join),
    st.sampled_from(["act == 'relu'", "act != 'tanh'", "act in ('relu', 'gelu')", "on", "not on", "n not in (1, 2)"]),
)
CONSTRAINTS = st.recursive(COMPARISONS.map(lambda c: f"({c})"), join, max_leaves=4)
POINTS = st.fixed_dictionaries(
    {
        "x": st.floats(-2, 2),
        "y": st.floats(0.1, 10),
        "n": st.integers(0, 5),
        "act": st.sampled_from(["relu", "tanh", "gelu"]),
        "on": st.booleans(),
        "k": st.just(3),
    }
)


def truth_of_python(text: str, point: dict[str, Any]) -> bool:
    """What Python itself says; the text comes from the strategies above."""
    floats = {name: float(v) if isinstance(v, int) and name != "on" else v for name, v in point.items()}
    return bool(eval(text, {"__builtins__": {}, "abs": abs, "min": min}, floats))


@settings(max_examples=300, deadline=None)
@given(CONSTRAINTS, POINTS)
def test_means_what_it_means_in_python(text: str, point: dict[str, Any]) -> None:
    expression = Expression.parse(text, SPACE)
    try:
        expected = truth_of_python(text, point)
    except ArithmeticError:  # a part that counts is not defined
        return
    assert bool(expression.holds(point)) == expected


@settings(max_examples=150, deadline=None)
@given(CONSTRAINTS)
def test_of_many_points_is_that_of_each_and_gaps_say_the_same(text: str) -> None:
    expression = Expression.parse(text, SPACE)
    units = SPACE.snap(np.random.default_rng(0).uniform(size=(30, SPACE.dims)))
    holds = np.broadcast_to(expression.holds(columns_of(SPACE, units)), len(units))
    gaps = expression.gaps(duals_of(SPACE, units))
    for index, unit in enumerate(units):
        sizes = [abs(gap.value[index]) if is_equation else gap.value[index] for gap, is_equation in gaps]
        if min(map(abs, sizes)) < 1e-9:
            continue  # so close to the bound that rounding decides
        assert holds[index] == (max(sizes) <= 0), (text, SPACE.from_unit(unit))


@pytest.mark.parametrize("text", [*SMOOTH, "x * y + x ** 2 / y", "max(x, y, 1)", "sum(x, y, n)", "2 ** x", "y ** x"])
def test_slopes_are_those_of_finite_differences(text: str) -> None:
    expression = Expression.parse(f"{text} <= 0", SPACE)
    units = np.random.default_rng(1).uniform(0.1, 0.9, size=(10, SPACE.dims))
    ((gap, is_equation),) = expression.gaps(duals_of(SPACE, units))
    assert not is_equation
    for place in (0, 1):
        step = 1e-6 * np.eye(SPACE.dims)[place]
        up, down = (expression.gaps(duals_of(SPACE, units + sign * step))[0][0].value for sign in (1, -1))
        np.testing.assert_allclose(gap.slope[:, place], (up - down) / 2e-6, rtol=1e-5, atol=1e-6)


def test_equations_hold_to_within_rounding_and_say_so() -> None:
    expression = Expression.parse("x + y == 0.3", SPACE)
    assert expression.holds({"x": 0.1, "y": 0.2})
    assert not expression.holds({"x": 0.1, "y": 0.2001})
    assert [is_equation for _, is_equation in expression.gaps(duals_of(SPACE, np.full((2, SPACE.dims), 0.5)))] == [True]


def test_chains_and_conjunctions_are_several_parts() -> None:
    duals = duals_of(SPACE, np.full((2, SPACE.dims), 0.5))
    assert len(Expression.parse("0 <= x <= y and n == 1", SPACE).gaps(duals)) == 3
    assert len(Expression.parse("not (x > 0 or y > 1)", SPACE).gaps(duals)) == 2
    assert len(Expression.parse("x > 0 or y > 1", SPACE).gaps(duals)) == 1


def test_what_is_not_defined_does_not_hold() -> None:
    for text in ("log(x) <= 100", "sqrt(x) <= 100", "1 / x <= 1e9", "exp(exp(exp(y))) >= 0"):
        assert not Expression.parse(text, SPACE).holds({"x": -1.0 if "/" not in text else 0.0, "y": 10.0})


def test_a_part_that_is_not_defined_may_be_guarded() -> None:
    guarded = Expression.parse("n == 0 or 10 / n >= 3", SPACE)
    assert [bool(guarded.holds({"n": n})) for n in range(5)] == [True, True, True, True, False]
    assert not Expression.parse("not 1 / n <= 1", SPACE).holds({"n": 0})


def test_functions_of_numbers_are_those_of_python() -> None:
    for name, function in FUNCTIONS.items():
        expected = getattr(math, name, None) or {"abs": abs, "round": round}[name]
        assert function(0.7) == expected(0.7)
        assert function(np.array([0.7])) == pytest.approx(expected(0.7))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x + z <= 1", "has z, which is no parameter; expected x, y, n"),
        ("X <= 1", "Did you mean 'x'"),
        ("x + y", "is no comparison, expected one such as"),
        ("x <=", "cannot be read"),
        ("__import__('os').system('true') <= 1", "expected numbers, parameters"),
        ("x.real <= 1", r"has 'x\.real', expected numbers"),
        ("x[0] <= 1", "expected numbers"),
        ("(lambda: 1)() <= 1", "expected numbers"),
        ("[y for y in x] <= 1", "expected numbers"),
        ("(x := 1) <= 1", "expected numbers"),
        ("f'{x}' == act", "expected numbers"),
        ("True", "expected numbers"),
        ("sinh(x) <= 1", r"unknown function sinh, expected sqrt.*Did you mean 'sin'"),
        ("sqrt(x, y) <= 1", "expected numbers"),
        ("act <= 1", "compares act with 1, expected two numbers, or text"),
        ("act < 'relu'", "compares act with 'relu'"),
        ("x is y", "compares x with y"),
        ("x and y <= 1", "x is a number, expected a truth"),
        ("act + 1 <= 2", "act is a text, expected a number"),
        ("x in y", "has 'y', expected numbers"),
        ("1e999 <= x", "expected numbers"),
        ("1j <= x", "expected numbers"),
        ("x <= 1" + " + 1" * 3000, "characters, expected at most"),
        ("x <= " + "+".join("1" * 1200), "too many parts"),
        ("(" * 300 + "x" + ")" * 300 + " <= 1", "cannot be read"),
        ("x\x00 <= 1", "cannot be read"),
    ],
)
def test_nothing_else_is_read(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Expression.parse(text, SPACE)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="xyn()[]{}.,:;<>=!+-*/%'\"_ 0123456789eandortlmb\n\\", max_size=40))
def test_any_text_is_read_or_refused_with_a_reason(text: str) -> None:
    try:
        expression = Expression.parse(text, SPACE)
    except ValueError:
        return
    assert bool(expression.holds({"x": 1.0, "y": 1.0, "n": 1, "act": "relu", "on": True, "k": 3})) in (True, False)
