"""Search spaces: what they accept, how points map to the unit cube and back, and what they say when it goes wrong."""

from __future__ import annotations

import itertools
import json
import math
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import Bounds

from betabo.space import Categorical, Fixed, Float, Int, Parameter, Space, as_space

MIXED = Space(
    {
        "lr": Float(1e-5, 1e-1, log=True),
        "optimizer": Fixed("adam"),
        "layers": Int(1, 5),
        "act": Categorical(["relu", "tanh", None]),
    }
)
BOX = Space.from_bounds([(0, 1), (-5, 5)])
PAIRS = [(0.0, 1.0), (-5.0, 10.0), (0.1, 0.3)]

names = st.text(min_size=1, max_size=5)
scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3) | st.floats(-9, 9)


@st.composite
def floats(draw: st.DrawFn) -> Float:
    log = draw(st.booleans())
    low, high = sorted(draw(st.lists(st.floats(1e-9 if log else -1e9, 1e9), min_size=2, max_size=2, unique=True)))
    return Float(low, high, log)


@st.composite
def ints(draw: st.DrawFn) -> Int:
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -(10**9), 10**9))
    return Int(low, low + draw(st.integers(1, 10**9)), log)


categoricals = st.lists(scalars, min_size=2, max_size=4, unique_by=lambda choice: choice).map(Categorical)
parameters = floats() | ints() | categoricals | scalars.map(Fixed)


@st.composite
def spaces(draw: st.DrawFn, of: st.SearchStrategy[Parameter] = parameters) -> Space:
    mapping = draw(st.dictionaries(names, of, min_size=1, max_size=4))
    assume(any(parameter.width for parameter in mapping.values()))
    return Space(mapping)


@st.composite
def boxes(draw: st.DrawFn) -> Space:
    bound = st.floats(-1e300, 1e300)
    pairs = draw(st.lists(st.lists(bound, min_size=2, max_size=2, unique=True), min_size=1, max_size=5))
    return Space.from_bounds([sorted(pair) for pair in pairs])


@st.composite
def spaces_with_points(draw: st.DrawFn, of: st.SearchStrategy[Space]) -> tuple[Space, Any]:
    """A space and up to 4 points of its unit cube, `n x dims`, often on the faces."""
    space = draw(of)
    row = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0]), min_size=space.dims, max_size=space.dims)
    return space, np.array(draw(st.lists(row, min_size=1, max_size=4)), dtype=np.float64)


def plain(point: Any) -> Any:
    """The point, in a form that `==` compares as a whole."""
    return point.tolist() if isinstance(point, np.ndarray) else point


# What a space is


def test_a_space_knows_its_coordinates() -> None:
    assert MIXED.names == ("lr", "optimizer", "layers", "act")
    assert MIXED.dims == 5
    assert MIXED.coordinates == ["lr", "layers", "act=relu", "act=tanh", "act=None"]
    assert MIXED.parameters["layers"] == Int(1, 5)
    assert list(MIXED.parameters) == list(MIXED.names)
    assert not MIXED.is_box


def test_a_box_knows_its_coordinates() -> None:
    assert BOX.names == ("x0", "x1")
    assert BOX.coordinates == ["x0", "x1"]
    assert BOX.dims == 2
    assert BOX.parameters == {"x0": Float(0, 1), "x1": Float(-5, 5)}
    assert BOX.is_box


def test_a_space_does_not_change() -> None:
    given_parameters: dict[str, Parameter] = {"a": Float(0, 1)}
    space = Space(given_parameters)
    given_parameters["b"] = Float(0, 1)
    assert space.names == ("a",)
    with pytest.raises(TypeError, match="does not support item assignment"):
        space.parameters["b"] = Float(0, 1)  # type: ignore[index]


@pytest.mark.parametrize(
    ("mapping", "continuous", "count"),
    [
        ({"a": Float(0, 1)}, True, None),
        ({"a": Float(0, 1), "b": Fixed(1)}, True, None),
        ({"a": Float(0, 1), "b": Int(0, 1)}, False, None),
        ({"a": Int(-1, 1), "b": Fixed(1), "c": Categorical(["x", "y"])}, False, 6),
        ({str(i): Int(1, 2**40) for i in range(10)}, False, 2**400),
    ],
)
def test_continuous_and_finite_spaces(mapping: dict[str, Parameter], continuous: bool, count: int | None) -> None:
    space = Space(mapping)
    assert space.is_continuous is continuous
    assert space.count() == count


@given(spaces(of=categoricals | scalars.map(Fixed) | st.builds(Int, st.integers(-3, 0), st.integers(1, 3))))
def test_count_is_the_number_of_points_that_the_cube_decodes_to(space: Space) -> None:
    assume((space.count() or 0) <= 200)
    grids = [
        np.eye(p.width) if isinstance(p, Categorical) else np.linspace(0, 1, p.count or 0)[:, None]
        for p in space.parameters.values()
        if p.width
    ]
    cube = [np.concatenate(rows) for rows in itertools.product(*grids)]
    points = [space.from_unit(u) for u in cube]
    assert len(points) == space.count()
    assert all(a != b for a, b in itertools.combinations(points, 2))


def test_spaces_are_equal_when_their_parameters_and_order_are() -> None:
    a, b = Float(0, 1), Float(0, 2)
    assert Space({"a": a, "b": b}) == Space({"a": Float(0, 1), "b": b})
    assert Space({"a": a, "b": b}) != Space({"b": b, "a": a})
    assert Space({"a": a}) != Space({"a": b})
    assert Space({"x0": a, "x1": b}) != Space.from_bounds([(0, 1), (0, 2)])
    assert Space({"a": a}) != {"a": a}


def test_reprs_are_what_was_written() -> None:
    for space in (MIXED, BOX):
        assert eval(repr(space)) == space
    assert repr(Space({"lr": Float(0, 1)})) == "Space({'lr': Float(0.0, 1.0)})"
    assert repr(BOX) == "Space.from_bounds([(0.0, 1.0), (-5.0, 5.0)])"


# Ways to make one


@pytest.mark.parametrize(
    "bounds",
    [
        PAIRS,
        tuple(map(list, PAIRS)),
        [np.array(pair) for pair in PAIRS],
        np.array(PAIRS),
        Bounds([0, -5, 0.1], [1, 10, 0.3]),
    ],
    ids=["tuples", "lists", "rows", "array", "scipy"],
)
def test_boxes_can_be_written_in_many_ways(bounds: Any) -> None:
    expected = Space.from_bounds(PAIRS)
    assert Space.from_bounds(bounds) == expected
    assert as_space(bounds) == expected
    assert as_space(bounds).is_box


def test_scipy_bounds_are_broadcast() -> None:
    assert Space.from_bounds(Bounds(0, [1, 2])) == Space.from_bounds([(0, 1), (0, 2)])
    assert Space.from_bounds(Bounds(0, 1)).dims == 1


def test_rows_of_a_square_array_are_pairs() -> None:
    assert Space.from_bounds(np.array([[-5, 0], [10, 15]])) == Space.from_bounds([(-5, 0), (10, 15)])


def test_spaces_and_dicts_are_spaces() -> None:
    assert as_space(MIXED) is MIXED
    assert as_space(dict(MIXED.parameters)) == MIXED


def test_importing_the_space_does_not_import_torch() -> None:
    program = "import betabo.space, sys; print('torch' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "False"


# To the cube and back


def test_points_of_named_parameters_are_dicts() -> None:
    point = {"lr": 1e-3, "layers": 2, "act": "tanh", "optimizer": "adam"}
    u = MIXED.to_unit(point)
    np.testing.assert_allclose(u, [0.5, 0.25, 0, 1, 0], atol=1e-15)
    found = MIXED.from_unit([0.0, 0.3, 0.2, 0.1, 0.6])
    assert found == {"lr": 1e-5, "optimizer": "adam", "layers": 2, "act": None}
    assert list(found) == list(MIXED.names)


def test_the_order_of_names_in_a_point_does_not_matter() -> None:
    point = {"act": None, "layers": 5, "lr": 0.1}
    assert MIXED.to_unit(point).tolist() == [1, 1, 0, 0, 1]


def test_constants_may_be_left_out_or_given() -> None:
    point = {"lr": 1e-5, "layers": 1, "act": "relu"}
    np.testing.assert_array_equal(MIXED.to_unit(point), MIXED.to_unit({**point, "optimizer": "adam"}))


@pytest.mark.parametrize(
    "point",
    [[0.5, 0], (0.5, 0.0), np.array([0.5, 0.0]), np.array([0.5, 0], dtype=np.float32), torch.tensor([0.5, 0.0])],
    ids=["list", "tuple", "float64", "float32", "tensor"],
)
def test_points_of_a_box_are_sequences_of_numbers(point: Any) -> None:
    assert BOX.to_unit(point).tolist() == [0.5, 0.5]


def test_points_of_a_box_return_as_arrays() -> None:
    found = BOX.from_unit([0.5, 0.25])
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float64
    assert found.tolist() == [0.5, -2.5]


@given(spaces_with_points(boxes()))
def test_boxes_are_never_left_by_rounding(drawn: tuple[Space, Any]) -> None:
    space, points = drawn
    low, high = np.array([(p.low, p.high) for p in space.parameters.values()]).T
    for u in points:
        point = space.from_unit(u)
        assert (low <= point).all()
        assert (point <= high).all()
    np.testing.assert_array_equal(space.from_unit(np.zeros(space.dims)), low)
    np.testing.assert_array_equal(space.from_unit(np.ones(space.dims)), high)


@given(spaces_with_points(spaces()))
def test_values_have_the_types_and_bounds_of_their_parameters(drawn: tuple[Space, Any]) -> None:
    space, points = drawn
    for u in points:
        point = space.from_unit(u)
        assert list(point) == list(space.names)
        for name, parameter in space.parameters.items():
            value = point[name]
            if isinstance(parameter, Float | Int):
                assert type(value) is (float if isinstance(parameter, Float) else int)
                assert parameter.low <= value <= parameter.high
            elif isinstance(parameter, Categorical):
                assert any(value is choice for choice in parameter.choices)
            else:
                assert value is parameter.value


@given(spaces_with_points(spaces() | boxes()))
def test_snapping_is_idempotent_and_keeps_the_value(drawn: tuple[Space, Any]) -> None:
    space, points = drawn
    snapped = space.snap(points)
    assert snapped.shape == points.shape
    np.testing.assert_array_equal(space.snap(snapped), snapped)
    for before, after in zip(points, snapped, strict=True):
        assert plain(space.from_unit(before)) == plain(space.from_unit(after))


@given(spaces_with_points(spaces(of=ints() | categoricals | scalars.map(Fixed))))
def test_snapping_is_decoding_and_encoding(drawn: tuple[Space, Any]) -> None:
    space, points = drawn
    expected = np.array([space.to_unit(space.from_unit(u)) for u in points])
    np.testing.assert_array_equal(space.snap(points), expected)


@given(spaces_with_points(spaces(of=ints() | categoricals | scalars.map(Fixed))))
def test_points_without_floats_return_exactly(drawn: tuple[Space, Any]) -> None:
    space, points = drawn
    for point in map(space.from_unit, points):
        assert space.from_unit(space.to_unit(point)) == point


@given(spaces_with_points(spaces() | boxes()))
def test_points_with_floats_return_to_within_rounding(drawn: tuple[Space, Any]) -> None:
    space, points = drawn
    for point in map(space.from_unit, points):
        there_and_back = space.from_unit(space.to_unit(point))
        for key, parameter in zip(range(len(point)) if space.is_box else point, space.parameters.values(), strict=True):
            if isinstance(parameter, Float):
                scale = abs(point[key]) if parameter.log else max(abs(parameter.low), abs(parameter.high))
                assert abs(there_and_back[key] - point[key]) <= 1e-12 * scale
            else:
                assert there_and_back[key] == point[key]


def test_snapping_acts_on_each_parameter_alone() -> None:
    points = [[0.123, 0.3, 0.2, 0.1, 0.15], [0.9, 0.9, 0.0, 0.5, 0.5]]
    np.testing.assert_array_equal(MIXED.snap(points), [[0.123, 0.25, 1, 0, 0], [0.9, 1, 0, 1, 0]])
    assert MIXED.snap(np.empty((0, 5))).shape == (0, 5)


def test_rounding_of_the_cube_is_tolerated() -> None:
    assert plain(BOX.from_unit([-1e-10, 1 + 1e-10])) == [0, 5]
    assert BOX.snap([[-1e-10, 1 + 1e-10]]).tolist() == [[0, 1]]


# Neighbours


def test_neighbours_are_one_step_or_one_choice_away() -> None:
    point = {"lr": 1e-5, "layers": 1, "act": "tanh"}
    u = MIXED.to_unit(point)
    u[0] = 0.123
    assert MIXED.neighbours(u).tolist() == [[0.123, 0.25, 0, 1, 0], [0.123, 0, 1, 0, 0], [0.123, 0, 0, 0, 1]]


def test_neighbours_are_those_of_the_snapped_point() -> None:
    rough = [0.123, 0.55, 0.3, 0.2, 0.1]
    np.testing.assert_array_equal(MIXED.neighbours(rough), MIXED.neighbours(MIXED.snap([rough])[0]))
    assert len(MIXED.neighbours(rough)) == 4


@given(spaces_with_points(spaces() | boxes()))
def test_neighbours_are_canonical_and_differ_in_exactly_one_discrete_parameter(drawn: tuple[Space, Any]) -> None:
    space, (u, *_) = drawn
    (here,) = space.snap([u])
    found = space.neighbours(u)
    assert found.shape[1] == space.dims
    np.testing.assert_array_equal(space.snap(found), found)
    assert len(np.unique(found, axis=0)) == len(found)
    point = space.from_unit(here)
    seen = []
    for neighbour in map(space.from_unit, found):
        (changed,) = [name for name in space.names if neighbour[name] != point[name]]
        seen.append((changed, neighbour[changed]))
    expected: list[tuple[str, Any]] = []
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Int):
            steps = (point[name] - 1, point[name] + 1)
            expected += [(name, step) for step in steps if parameter.low <= step <= parameter.high]
        elif isinstance(parameter, Categorical):
            expected += [(name, choice) for choice in parameter.choices if choice != point[name]]
    assert seen == expected


def test_continuous_spaces_have_no_neighbours() -> None:
    assert BOX.neighbours([0.5, 0.5]).shape == (0, 2)


# JSON


@given(spaces() | boxes(), st.booleans())
def test_spaces_survive_json(space: Space, sort_keys: bool) -> None:
    text = json.dumps(space.to_json(), allow_nan=False, sort_keys=sort_keys)
    found = Space.from_json(json.loads(text))
    assert found == space
    assert repr(found) == repr(space)
    assert found.coordinates == space.coordinates


def test_descriptions_are_readable() -> None:
    assert Space({"lr": Float(0, 1), "n": Fixed(3)}).to_json() == {
        "box": False,
        "parameters": [
            {"name": "lr", "type": "float", "low": 0.0, "high": 1.0, "log": False},
            {"name": "n", "type": "fixed", "value": 3},
        ],
    }


X0 = {"name": "x0", "type": "float", "low": 0, "high": 1}


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([], TypeError, "A space's description is [], expected the dict that Space.to_json returned."),
        ({}, ValueError, "A space's description has the keys none, expected 'box' and 'parameters'."),
        ({"box": False, "x": 1}, ValueError, "has the keys 'box', 'x', expected 'box' and 'parameters'."),
        ({"box": 0, "parameters": [X0]}, TypeError, "'box' is 0, expected true or false."),
        ({"box": True, "parameters": X0}, TypeError, "'parameters' is {'name': 'x0', "),
        ({"box": False, "parameters": []}, ValueError, "The space has no free parameter"),
        ({"box": True, "parameters": []}, ValueError, "The space has no free parameter"),
        ({"box": False, "parameters": [3]}, ValueError, "parameters[0]: the description is 3, expected a dict with a"),
        ({"box": False, "parameters": [{"type": "int"}]}, ValueError, "{'type': 'int'}, expected a dict with a 'name'"),
        ({"box": False, "parameters": [X0, X0]}, ValueError, "parameters[1]: 'name' is 'x0', expected one that no"),
        ({"box": False, "parameters": [{**X0, "high": -1}]}, ValueError, "parameters[0]: low is 0.0 and high is -1.0"),
        ({"box": False, "parameters": [{**X0, "name": ""}]}, ValueError, "A parameter's name is the empty string"),
        ({"box": True, "parameters": [{**X0, "name": "a"}]}, ValueError, "'box' is true, expected only parameters of"),
        ({"box": True, "parameters": [X0, {"name": "x1", "type": "fixed", "value": 1}]}, ValueError, "'box' is true"),
        ({"box": True, "parameters": [{**X0, "low": 0.5, "log": True}]}, ValueError, "'box' is true"),
    ],
)
def test_bad_descriptions_are_refused(data: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        Space.from_json(data)


# Errors


@pytest.mark.parametrize(
    ("mapping", "error", "message"),
    [
        (
            [(0, 1)],
            TypeError,
            "parameters is [(0, 1)], expected a dict such as {'lr': Float(0.0, 1.0)}; use Space.from",
        ),
        ({3: Float(0, 1)}, TypeError, "A parameter's name is 3, expected a string."),
        ({"": Float(0, 1)}, ValueError, "A parameter's name is the empty string, expected a non-empty one."),
        ({"a": (0, 1)}, TypeError, "a: the parameter is (0, 1), expected Float, Int, Categorical or Fixed, such as"),
        ({"a": Float}, TypeError, "a: the parameter is <class 'betabo.space.parameters.Float'>, expected Float, Int"),
        ({}, ValueError, "The space has no free parameter: it is {}; add at least one Float, Int or Categorical."),
        ({"a": Fixed(1)}, ValueError, "no free parameter: it is {'a': Fixed(value=1)}; add at least one Float"),
    ],
)
def test_bad_parameters_are_refused(mapping: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        Space(mapping)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([], "The space has no free parameter: bounds is []; expected at least one pair."),
        (np.empty((0, 2)), "The space has no free parameter: bounds is array([], shape=(0, 2), dtype=float64)"),
        ([[0, 0, 0], [1, 1, 1]], "bounds is 2 x 3, expected n x 2, a pair (low, high) for each coordinate; pass list("),
        (np.array([[0, 0, 0], [1, 1, 1]]), "bounds is 2 x 3, expected n x 2, a pair (low, high) for each coordinate"),
        (np.array([[0], [1]]), "bounds is 2 x 1, expected n x 2"),
        (np.zeros((3, 4)), "bounds[0] is array([0., 0., 0., 0.]), expected a pair (low, high): bounds are n x 2."),
        (np.array([0.0, 1.0]), "bounds has shape (2,), expected n x 2, a pair (low, high) for each coordinate."),
        (np.array(1.0), "bounds has shape (), expected n x 2"),
        (np.zeros((2, 2, 2)), "bounds has shape (2, 2, 2), expected n x 2"),
        ((0.0, 1.0), "bounds[0] is 0.0, expected a pair (low, high): bounds are n x 2."),
        ([(0, 1), (0, 1, 2)], "bounds[1] is (0, 1, 2), expected a pair (low, high): bounds are n x 2."),
        (["01", "23"], "bounds[0] is '01', expected a pair (low, high)"),
        ([np.array(0), np.array(1)], "bounds[0] is array(0), expected a pair (low, high)"),
        ([(0, 1), (2, 1)], "bounds[1]: low is 2.0 and high is 1.0, expected low < high; swap them."),
        ([(0, 1), (0, math.nan)], "bounds[1]: high is nan, expected a finite number."),
        (Bounds([-math.inf, 0], [1, 1]), "bounds[0]: low is np.float64(-inf), expected a finite number."),
        (
            [(1, 1)],
            "bounds[0]: low and high are both 1.0, expected low < high; leave the coordinate out of the box, or",
        ),
    ],
)
def test_bad_bounds_are_refused(bounds: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Space.from_bounds(bounds)
    with pytest.raises(ValueError, match=re.escape(message)):
        as_space(bounds)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([(0, True)], "bounds[0]: high is True, expected a number."),
        ([(0, 1), ("0", 1)], "bounds[1]: low is '0', expected a number."),
        (np.array([[False, True]]), "bounds[0]: low is np.False_, expected a number."),
    ],
)
def test_bounds_that_are_no_numbers_are_refused(bounds: Any, message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        Space.from_bounds(bounds)


@pytest.mark.parametrize(
    "bad",
    [3, None, "ab", b"ab", {(0, 1)}, iter([(0, 1)]), Float(0, 1), torch.eye(2)],
    ids=lambda bad: type(bad).__name__,
)
def test_what_is_no_space_is_refused(bad: Any) -> None:
    message = (
        f"The space is {bad!r}, expected a Space, a dict of parameters, a list of (low, high) pairs, an n x 2 array or "
        "scipy.optimize.Bounds; BoTorch's 2 x n tensor of bounds becomes pairs by bounds.T.tolist()."
    )
    with pytest.raises(TypeError, match=re.escape(message)):
        as_space(bad)


GOOD = {"lr": 1e-3, "layers": 2, "act": "tanh"}


@pytest.mark.parametrize(
    ("point", "error", "message"),
    [
        ([1e-3, 2], TypeError, "The point is [0.001, 2], expected a dict with the names 'lr', 'optimizer', 'layers', "),
        ({**GOOD, "lrr": 1}, ValueError, "The point has the unknown names 'lrr'; expected 'lr', 'optimizer', 'layers'"),
        ({"lr": 1e-3}, ValueError, "The point lacks the names 'layers', 'act'; expected 'lr', 'optimizer', 'layers', "),
        ({**GOOD, "lr": 1.0}, ValueError, "lr: value is 1.0, expected one in [1e-05, 0.1]; change it or the bounds."),
        ({**GOOD, "layers": 2.0}, TypeError, "layers: value is 2.0, expected an integer"),
        ({**GOOD, "act": "gelu"}, ValueError, "act: value is 'gelu', expected one of the choices 'relu', 'tanh', None"),
        ({**GOOD, "optimizer": "sgd"}, ValueError, "optimizer: value is 'sgd', expected the constant 'adam'; leave it"),
    ],
)
def test_bad_points_are_refused(point: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        MIXED.to_unit(point)


@pytest.mark.parametrize(
    ("point", "error", "message"),
    [
        ({"x0": 0, "x1": 0}, TypeError, "The point is {'x0': 0, 'x1': 0}, expected a list or array of 2 numbers."),
        (0.5, TypeError, "The point is 0.5, expected a list or array of 2 numbers."),
        (np.array(0.5), TypeError, "The point is array(0.5), expected a list or array of 2 numbers."),
        ("01", TypeError, "The point is '01', expected a list or array of 2 numbers."),
        ([0.5], ValueError, "The point has 1 numbers, expected 2: [0.5]."),
        ([0.5, 0.5, 0.5], ValueError, "The point has 3 numbers, expected 2: [0.5, 0.5, 0.5]."),
        (np.zeros((2, 2)), TypeError, "x0: value is [0.0, 0.0], expected a number."),
        ([0.5, True], TypeError, "x1: value is True, expected a number."),
        ([0.5, math.nan], ValueError, "x1: value is nan, expected a finite number."),
        ([0.5, -5.5], ValueError, "x1: value is -5.5, expected one in [-5.0, 5.0]; change it or the bounds."),
    ],
)
def test_bad_points_of_a_box_are_refused(point: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        BOX.to_unit(point)


def test_points_of_the_cube_have_the_right_shape() -> None:
    for use in (BOX.from_unit, BOX.neighbours):
        for bad, shape in (([0.5], "(1,)"), ([[0.5, 0.5]], "(1, 2)"), (0.5, "()")):
            message = f"The coordinates have shape {shape}, expected (2,), one point of the cube."
            with pytest.raises(ValueError, match=re.escape(message)):
                use(bad)
    for bad, shape in (([0.5, 0.5], "(2,)"), ([[0.5]], "(1, 1)")):
        message = f"The points have shape {shape}, expected (n, 2), one point in each row."
        with pytest.raises(ValueError, match=re.escape(message)):
            BOX.snap(bad)


@pytest.mark.parametrize("bad", [-1e-8, 1.1, math.nan])
def test_points_outside_the_cube_are_refused_by_name(bad: float) -> None:
    message = re.escape(f"x1: A coordinate is {bad!r}, expected a number in [0, 1].")
    for use in (BOX.from_unit, BOX.neighbours, lambda u: BOX.snap([u])):
        with pytest.raises(ValueError, match=message):
            use([0.5, bad])
