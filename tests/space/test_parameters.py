"""Parameters against exact arithmetic, and the promises of their maps to the unit cube."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from betabo.space import Categorical, Fixed, Float, Int, Parameter, parameter_from_json

LARGEST = sys.float_info.max
SMALLEST = 5e-324
LARGEST_INT = 2**52

units = st.floats(0, 1)
scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.floats(-9, 9)


@st.composite
def floats(draw: st.DrawFn, log: bool | None = None) -> Float:
    """Any interval of finite numbers, often a very long or a very short one."""
    log = draw(st.booleans()) if log is None else log
    number = st.floats(SMALLEST if log else -LARGEST, LARGEST, allow_nan=False)
    low = draw(number)
    high = draw(number | st.just(math.nextafter(low, math.inf)))
    assume(low != high and math.isfinite(high))
    return Float(min(low, high), max(low, high), log)


@st.composite
def intervals(draw: st.DrawFn) -> Float:
    """Intervals as people write them: ends of a few digits, at most 20 decades."""
    log = draw(st.booleans())
    number = st.builds(
        lambda digits, exponent: digits * 10.0**exponent, st.integers(1 if log else -99, 99), st.integers(-9, 9)
    )
    low, high = sorted([draw(number), draw(number)])
    assume(low < high)
    return Float(low, high, log)


@st.composite
def ints(draw: st.DrawFn, largest: int = LARGEST_INT, largest_log: int = 10**13) -> Int:
    log = draw(st.booleans())
    start, end = (1, largest_log) if log else (-largest, largest)
    near_zero = st.integers(max(start, -20), 20)
    low, high = sorted([draw(st.integers(start, end) | near_zero), draw(st.integers(start, end) | near_zero)])
    assume(low < high)
    return Int(low, high, log)


categoricals = st.lists(scalars, min_size=2, max_size=6, unique_by=lambda choice: choice).map(Categorical)
fixed = scalars.map(Fixed)
parameters = floats() | ints(largest_log=LARGEST_INT) | categoricals | fixed


@st.composite
def parameters_with_points(draw: st.DrawFn, of: st.SearchStrategy[Parameter] = parameters) -> tuple[Parameter, Any]:
    """A parameter and up to 6 points of its unit cube, `n x width`, often on the faces and with equal coordinates."""
    parameter = draw(of)
    row = st.lists(units | st.sampled_from([0.0, 0.5, 1.0]), min_size=parameter.width, max_size=parameter.width)
    rows = draw(st.lists(row, min_size=1, max_size=6))
    return parameter, np.array(rows, dtype=np.float64).reshape(len(rows), parameter.width)


# Widths, counts and labels


@pytest.mark.parametrize(
    ("parameter", "width", "count", "labels"),
    [
        (Float(0, 1), 1, None, ["p"]),
        (Float(1, 2, log=True), 1, None, ["p"]),
        (Int(-2, 3), 1, 6, ["p"]),
        (Categorical(["relu", None, 3]), 3, 3, ["p=relu", "p=None", "p=3"]),
        (Fixed("adam"), 0, 1, []),
    ],
)
def test_width_count_and_labels(parameter: Parameter, width: int, count: int | None, labels: list[str]) -> None:
    assert (parameter.width, parameter.count, parameter.labels("p")) == (width, count, labels)


def test_reprs_are_what_was_written() -> None:
    assert repr(Float(1e-5, 0.1, log=True)) == "Float(1e-05, 0.1, log=True)"
    assert repr(Float(0, 1)) == "Float(0.0, 1.0)"
    assert repr(Int(1, 8)) == "Int(1, 8)"
    assert repr(Categorical(["a", None])) == "Categorical(choices=('a', None))"
    assert repr(Fixed(3)) == "Fixed(value=3)"


def test_parameters_are_frozen_and_compare_by_value() -> None:
    assert Float(0, 1) == Float(np.float32(0), np.int64(1))
    assert Float(1, 2) != Float(1, 2, log=True)
    assert Int(1, 2) != Float(1, 2)
    assert Categorical(["a", "b"]) == Categorical(("a", "b"))
    assert Categorical(["a", "b"]) != Categorical(["b", "a"])
    assert len({Int(1, 2), Int(1, 2), Fixed(1)}) == 2
    with pytest.raises(AttributeError, match="cannot assign"):
        Float(0, 1).low = 0.5  # type: ignore[misc]


def test_numpy_bounds_become_python_numbers() -> None:
    real, whole = Float(np.float32(0.5), np.int64(3)), Int(np.int8(1), np.uint64(9))
    assert [type(b) for b in (real.low, real.high, whole.low, whole.high)] == [float, float, int, int]


# Float


@given(floats())
@example(Float(0.001, 0.1, log=True))
@example(Float(-0.1, 0.3))
@example(Float(-LARGEST, LARGEST))
@example(Float(SMALLEST, LARGEST, log=True))
@example(Float(0, SMALLEST))
@example(Float(100, math.nextafter(100, 101), log=True))
def test_bounds_of_a_float_are_the_ends_of_the_cube_and_back(parameter: Float) -> None:
    assert parameter.to_unit(parameter.low).tolist() == [0.0]
    assert parameter.to_unit(parameter.high).tolist() == [1.0]
    assert parameter.from_unit([0.0]) == parameter.low
    assert parameter.from_unit([1.0]) == parameter.high


@given(floats(), units | st.sampled_from([math.nextafter(1, 0), math.nextafter(0, 1)]))
@example(Float(0.1, math.nextafter(0.1, 1)), 1.9e-16)
def test_floats_never_leave_their_bounds_by_rounding(parameter: Float, position: float) -> None:
    value = parameter.from_unit([position])
    assert type(value) is float
    assert parameter.low <= value <= parameter.high


@given(floats(), units)
def test_coordinates_of_floats_never_leave_the_cube_by_rounding(parameter: Float, position: float) -> None:
    (found,) = parameter.to_unit(parameter.from_unit([position]))
    assert 0 <= found <= 1


@given(floats(log=False), st.data())
def test_float_round_trip_is_exact_to_rounding_of_the_larger_bound(parameter: Float, data: st.DataObject) -> None:
    value = data.draw(st.floats(parameter.low, parameter.high))
    scale = max(abs(parameter.low), abs(parameter.high))
    error = abs(Fraction(parameter.from_unit(parameter.to_unit(value))) - Fraction(value))
    assert error <= Fraction(1e-12) * Fraction(scale)


@given(st.lists(st.just(0.0) | st.floats(1e-150, 1e150), min_size=3, max_size=3).map(sorted))
def test_float_round_trip_is_exact_to_rounding_of_the_value_on_nonnegative_intervals(ordered: list[float]) -> None:
    low, value, high = ordered
    assume(low < high)
    parameter = Float(low, high)
    error = abs(parameter.from_unit(parameter.to_unit(value)) - value)
    assert error <= 1e-12 * value


@given(floats(log=True), st.data())
def test_log_float_round_trip_is_exact_to_rounding_of_the_value(parameter: Float, data: st.DataObject) -> None:
    assume(parameter.low >= sys.float_info.min)  # smaller numbers have fewer digits
    value = data.draw(st.floats(parameter.low, parameter.high))
    error = abs(parameter.from_unit(parameter.to_unit(value)) - value)
    assert error <= 1e-12 * value


@given(intervals(), units)
def test_float_maps_agree_with_exact_arithmetic(parameter: Float, position: float) -> None:
    with mp.workdps(50):
        low, high, u = mp.mpf(parameter.low), mp.mpf(parameter.high), mp.mpf(position)
        value = parameter.from_unit([position])
        v = mp.mpf(value)
        if parameter.log:
            decades = mp.log(high / low)
            assert abs(v / (low * (high / low) ** u) - 1) <= 1e-15 * (2 + decades)
            exact_position = mp.log(v / low) / decades
        else:
            assert abs(v - (low + u * (high - low))) <= 1e-15 * max(abs(low), abs(high))
            exact_position = (v - low) / (high - low)
        assert abs(parameter.to_unit(value)[0] - exact_position) <= 1e-15


def test_float_scales_are_linear_or_logarithmic() -> None:
    assert Float(-1, 3).to_unit(1.0).tolist() == [0.5]
    assert Float(-1, 3).from_unit([0.25]) == 0.0
    assert Float(1e-5, 1e-1, log=True).to_unit(1e-3)[0] == pytest.approx(0.5, abs=1e-15)
    assert Float(1e-5, 1e-1, log=True).from_unit([0.75]) == pytest.approx(1e-2, rel=1e-14)


@pytest.mark.parametrize("value", [2, np.int32(2), np.float32(2), np.float64(2)])
def test_floats_take_any_number(value: Any) -> None:
    assert Float(1, 3).to_unit(value).tolist() == [0.5]


@given(floats(), st.lists(units, max_size=5))
def test_snapping_a_float_changes_nothing(parameter: Float, positions: list[float]) -> None:
    points = np.array(positions).reshape(-1, 1)
    np.testing.assert_array_equal(parameter.snap(points), points)


# Int


@given(ints(largest_log=LARGEST_INT))
@example(Int(1, 10**15))
@example(Int(1, 10**15, log=True))
@example(Int(-LARGEST_INT, LARGEST_INT))
@example(Int(LARGEST_INT - 1, LARGEST_INT, log=True))
@example(Int(0, 1))
def test_bounds_of_an_int_are_the_ends_of_the_cube_and_back(parameter: Int) -> None:
    assert parameter.to_unit(parameter.low).tolist() == [0.0]
    assert parameter.to_unit(parameter.high).tolist() == [1.0]
    assert parameter.from_unit([0.0]) == parameter.low
    assert parameter.from_unit([1.0]) == parameter.high


@given(ints(), st.data())
def test_ints_return_exactly(parameter: Int, data: st.DataObject) -> None:
    near_an_end = st.integers(0, min(9, parameter.high - parameter.low))
    value = data.draw(
        st.integers(parameter.low, parameter.high)
        | near_an_end.map(lambda step: parameter.low + step)
        | near_an_end.map(lambda step: parameter.high - step)
    )
    found = parameter.from_unit(parameter.to_unit(value))
    assert type(found) is int
    assert found == value


@pytest.mark.parametrize("parameter", [Int(1, 10**15), Int(-LARGEST_INT, LARGEST_INT), Int(3, 10**13, log=True)])
def test_neighbours_at_the_end_of_a_large_range_stay_apart(parameter: Int) -> None:
    values = range(parameter.high - 200, parameter.high + 1)
    assert [parameter.from_unit(parameter.to_unit(value)) for value in values] == list(values)


@pytest.mark.parametrize("high", [10**15, LARGEST_INT])
def test_ints_too_dense_for_a_log_scale_return_to_within_rounding(high: int) -> None:
    parameter = Int(1, high, log=True)
    values = [high - 1, high - 12345, high // 2 + 1, high // 3]
    for value in values:
        assert abs(parameter.from_unit(parameter.to_unit(value)) - value) <= 1e-13 * value
    assert parameter.from_unit(parameter.to_unit(high - 1)) < high


def test_snapping_is_idempotent_where_ints_are_too_dense_for_a_log_scale() -> None:
    parameter = Int(1, LARGEST_INT, log=True)
    points = 1 - 0.02 * np.random.default_rng(0).random((1000, 1))
    snapped = parameter.snap(points)
    np.testing.assert_array_equal(parameter.snap(snapped), snapped)
    assert np.abs(snapped - points).max() <= 2**-52  # integers are everywhere here


@given(ints(largest_log=LARGEST_INT), units | st.sampled_from([math.nextafter(1, 0), math.nextafter(0, 1)]))
def test_ints_never_leave_their_bounds(parameter: Int, position: float) -> None:
    value = parameter.from_unit([position])
    assert type(value) is int
    assert parameter.low <= value <= parameter.high


@given(ints(largest=50, largest_log=50), units)
def test_a_point_decodes_to_the_int_with_the_nearest_coordinate(parameter: Int, position: float) -> None:
    low, high = parameter.low, parameter.high

    def distance(n: int) -> float:
        exact = math.log(n / low) / math.log(high / low) if parameter.log else (n - low) / (high - low)
        return abs(exact - position)

    assert distance(parameter.from_unit([position])) <= min(map(distance, range(low, high + 1))) + 1e-14


def test_half_way_decodes_to_the_smaller_int() -> None:
    assert Int(0, 1).from_unit([0.5]) == 0
    assert Int(0, 1).from_unit([math.nextafter(0.5, 1)]) == 1
    assert Int(-2, 2).from_unit([0.375]) == -1


def test_log_ints_are_divided_at_the_geometric_mean() -> None:
    parameter = Int(2, 32, log=True)
    between = math.log(math.sqrt(4 * 5) / 2) / math.log(16)
    assert parameter.from_unit([between - 1e-9]) == 4
    assert parameter.from_unit([between + 1e-9]) == 5
    np.testing.assert_allclose(parameter.to_unit(8), [0.5], atol=1e-15)


@pytest.mark.parametrize("value", [4, np.int8(4), np.uint64(4)])
def test_ints_take_any_integer(value: Any) -> None:
    assert Int(0, 8).to_unit(value).tolist() == [0.5]


def test_an_int_has_one_neighbour_at_each_side_where_there_is_one() -> None:
    parameter = Int(0, 4)
    assert parameter.neighbours([0.5]).tolist() == [[0.25], [0.75]]
    assert parameter.neighbours([0.0]).tolist() == [[0.25]]
    assert parameter.neighbours([1.0]).tolist() == [[0.75]]


def test_neighbours_with_the_same_coordinate_are_no_neighbours() -> None:
    parameter = Int(1, LARGEST_INT, log=True)
    here = parameter.to_unit(LARGEST_INT - 10**6)
    assert here not in parameter.neighbours(here)


# Categorical and Fixed


@given(categoricals)
def test_choices_are_one_hot_and_return_as_the_same_object(parameter: Categorical) -> None:
    for index, choice in enumerate(parameter.choices):
        u = parameter.to_unit(choice)
        assert u.tolist() == [float(i == index) for i in range(len(parameter.choices))]
        assert parameter.from_unit(u) is choice


def test_the_first_of_the_largest_coordinates_wins() -> None:
    parameter = Categorical(["a", "b", "c"])
    assert parameter.from_unit([0.2, 0.7, 0.7]) == "b"
    assert parameter.from_unit([0.0, 0.0, 0.0]) == "a"
    points = [[0.2, 0.7, 0.7], [0.1, 0.1, 0.1], [0.0, 0.0, 1e-12]]
    assert parameter.snap(points).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]


def test_choices_are_compared_by_value() -> None:
    parameter = Categorical([1, "a", None])
    assert parameter.to_unit(np.float32(1)).tolist() == [1, 0, 0]
    assert parameter.to_unit(True).tolist() == [1, 0, 0]
    assert parameter.to_unit(np.str_("a")).tolist() == [0, 1, 0]
    assert parameter.to_unit(None).tolist() == [0, 0, 1]


def test_neighbours_of_a_choice_are_all_others() -> None:
    assert Categorical(["a", "b", "c"]).neighbours([0.1, 0.9, 0.3]).tolist() == [[1, 0, 0], [0, 0, 1]]


@given(fixed)
def test_a_constant_has_no_coordinates_and_returns_as_the_same_object(parameter: Fixed) -> None:
    assert parameter.to_unit(parameter.value).shape == (0,)
    assert parameter.from_unit([]) is parameter.value
    assert parameter.snap(np.empty((3, 0))).shape == (3, 0)


@pytest.mark.parametrize("parameter", [Float(0, 1), Fixed(1)])
def test_without_steps_there_are_no_neighbours(parameter: Parameter) -> None:
    assert parameter.neighbours(np.zeros(parameter.width)).shape == (0, parameter.width)


# All parameters


@given(parameters_with_points())
def test_snapping_is_idempotent(drawn: tuple[Parameter, Any]) -> None:
    parameter, points = drawn
    snapped = parameter.snap(points)
    assert snapped.shape == points.shape
    np.testing.assert_array_equal(parameter.snap(snapped), snapped)


@given(parameters_with_points(of=ints(largest_log=LARGEST_INT) | categoricals | fixed))
def test_snapping_is_decoding_and_encoding(drawn: tuple[Parameter, Any]) -> None:
    parameter, points = drawn
    expected = np.array([parameter.to_unit(parameter.from_unit(u)) for u in points])
    np.testing.assert_array_equal(parameter.snap(points), expected)


@given(intervals(), units)
def test_a_float_decodes_and_encodes_to_where_it_was(parameter: Float, position: float) -> None:
    rounding = 4e-16 * max(abs(parameter.low), abs(parameter.high)) / (parameter.high - parameter.low)
    (found,) = parameter.to_unit(parameter.from_unit([position]))
    assert found == pytest.approx(position, abs=1e-14 + 4 * rounding)


@given(parameters_with_points())
def test_snapping_keeps_the_value(drawn: tuple[Parameter, Any]) -> None:
    parameter, points = drawn
    assume(not (isinstance(parameter, Int) and parameter.log and parameter.high > 10**13))
    for before, after in zip(points, parameter.snap(points), strict=True):
        assert parameter.from_unit(before) == parameter.from_unit(after)


@given(parameters_with_points())
def test_snapping_reads_its_argument_only_and_handles_strides(drawn: tuple[Parameter, Any]) -> None:
    parameter, points = drawn
    before = points.copy()
    snapped = parameter.snap(points)
    np.testing.assert_array_equal(points, before)
    np.testing.assert_array_equal(parameter.snap(np.asfortranarray(points)[::-1]), snapped[::-1])
    np.testing.assert_array_equal(parameter.snap(np.repeat(points, 9, axis=0)), np.repeat(snapped, 9, axis=0))


@pytest.mark.parametrize("parameter", [Float(0, 1), Int(1, 9, log=True), Categorical([1, 2]), Fixed(0)])
def test_no_points_snap_to_no_points(parameter: Parameter) -> None:
    assert parameter.snap(np.empty((0, parameter.width))).shape == (0, parameter.width)


@pytest.mark.parametrize("parameter", [Float(0.1, 0.3), Float(0.1, 0.3, log=True), Int(1, 7), Int(1, 7, log=True)])
def test_rounding_of_the_cube_is_tolerated(parameter: Float | Int) -> None:
    assert parameter.from_unit([-1e-10]) == parameter.low
    assert parameter.from_unit([1 + 1e-10]) == parameter.high
    assert parameter.snap([[-1e-10], [1 + 1e-10]]).tolist() == [[0.0], [1.0]]


@pytest.mark.parametrize("parameter", [Float(0, 1), Float(1, 2, log=True), Int(0, 3), Categorical([1, 2])])
@pytest.mark.parametrize("position", [-1e-8, 1 + 1e-8, math.nan, math.inf, -math.inf])
def test_points_outside_the_cube_are_refused(parameter: Parameter, position: float) -> None:
    message = re.escape(f"A coordinate is {position!r}, expected a number in [0, 1].")
    u = np.full(parameter.width, position)
    for use in (parameter.from_unit, parameter.neighbours, lambda u: parameter.snap(u[None, :])):
        with pytest.raises(ValueError, match=message):
            use(u)


@pytest.mark.parametrize("parameter", [Float(0, 1), Int(0, 3), Categorical([1, 2]), Fixed(1)])
def test_points_of_the_wrong_shape_are_refused(parameter: Parameter) -> None:
    width = parameter.width
    message = re.escape(f"Coordinates have shape ({width + 1},), expected ({width},).")
    for use in (parameter.from_unit, parameter.neighbours):
        with pytest.raises(ValueError, match=message):
            use(np.zeros(width + 1))
    with pytest.raises(ValueError, match=re.escape(f"Points have shape (2, {width + 1}), expected (n, {width}).")):
        parameter.snap(np.zeros((2, width + 1)))
    with pytest.raises(ValueError, match=re.escape(f"Points have shape ({width},), expected (n, {width}).")):
        parameter.snap(np.zeros(width))


# JSON


@given(parameters)
def test_parameters_survive_json(parameter: Parameter) -> None:
    text = json.dumps(parameter.to_json(), allow_nan=False)
    found = parameter_from_json(json.loads(text))
    assert found == parameter
    assert repr(found) == repr(parameter)  # tells 1, 1.0 and True apart


def test_descriptions_are_readable() -> None:
    assert Float(0, 1).to_json() == {"type": "float", "low": 0.0, "high": 1.0, "log": False}
    assert Int(1, 8, log=True).to_json() == {"type": "int", "low": 1, "high": 8, "log": True}
    assert Categorical(["a", None]).to_json() == {"type": "categorical", "choices": ["a", None]}
    assert Fixed(True).to_json() == {"type": "fixed", "value": True}


def test_log_may_be_left_out_of_a_description() -> None:
    assert parameter_from_json({"type": "int", "low": 1, "high": 2}) == Int(1, 2)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([1, 2], TypeError, "A parameter's description is [1, 2], expected a dict such as {'type': 'float', "),
        ({"low": 1}, ValueError, "'type' is None, expected one of 'float', 'int', 'categorical', 'fixed'."),
        ({"type": "real"}, ValueError, "'type' is 'real', expected one of 'float', 'int', 'categorical', 'fixed'."),
        ({"type": ["int"]}, ValueError, "'type' is ['int'], expected one of"),
        ({"type": "fixed"}, ValueError, "A description of type 'fixed' has the arguments none, expected 'value'."),
        (
            {"type": "float", "low": 0, "hi": 1},
            ValueError,
            "has the arguments 'hi', 'low', expected 'high', 'log', 'low', 'step', 'when'",
        ),
        ({"type": "fixed", "value": 1, "x": 2}, ValueError, "has the arguments 'value', 'x', expected 'value'."),
        ({"type": "int", "low": 3, "high": 1}, ValueError, "low is 3 and high is 1, expected low < high; swap them."),
    ],
)
def test_bad_descriptions_are_refused(data: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        parameter_from_json(data)


# Errors


@pytest.mark.parametrize("cls", [Float, Int])
@pytest.mark.parametrize("name", ["low", "high"])
@pytest.mark.parametrize("bad", [True, np.bool_(False), "1", None, [1], 1j])
def test_bounds_of_another_type_are_refused(cls: Any, name: str, bad: Any) -> None:
    bounds = {"low": 0, "high": 2, name: bad}
    expected = "a number" if cls is Float else "an integer"
    with pytest.raises(TypeError, match=re.escape(f"{name} is {bad!r}, expected {expected}")):
        cls(**bounds)


@pytest.mark.parametrize("name", ["low", "high"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, np.float32("nan"), 10**400])
def test_bounds_that_are_not_finite_are_refused(name: str, bad: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{name} is {bad!r}, expected a finite number.")):
        Float(**{"low": 0, "high": 2, name: bad})


@pytest.mark.parametrize("bad", [1.0, 1.5, np.float64(1)])
def test_bounds_of_ints_are_integers(bad: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"low is {bad!r}, expected an integer; use int(...)")):
        Int(bad, 5)
    with pytest.raises(TypeError, match=re.escape(f"high is {bad!r}, expected an integer; use int(...)")):
        Int(0, bad)


@pytest.mark.parametrize("cls", [Float, Int])
def test_bounds_are_in_order(cls: Any) -> None:
    low, high = (cls(0, 1).to_json()["low"] + 3, cls(0, 1).to_json()["high"])
    message = f"low is {low!r} and high is {high!r}, expected low < high; swap them."
    with pytest.raises(ValueError, match=re.escape(message)):
        cls(3, 1)


@pytest.mark.parametrize(("cls", "shown"), [(Float, "3.0"), (Int, "3")])
def test_equal_bounds_are_refused_in_favour_of_a_constant(cls: Any, shown: str) -> None:
    message = f"low and high are both {shown}, expected low < high; use Fixed({shown}) for a constant."
    with pytest.raises(ValueError, match=re.escape(message)):
        cls(3, 3)


@pytest.mark.parametrize("cls", [Float, Int])
@pytest.mark.parametrize("low", [0, -1])
def test_log_scales_need_positive_bounds(cls: Any, low: int) -> None:
    with pytest.raises(ValueError, match=r"low is (0|-1)(\.0)?, expected a number > 0 with log=True; raise low or use"):
        cls(low, 5, log=True)


@pytest.mark.parametrize("cls", [Float, Int])
@pytest.mark.parametrize("log", [1, "yes", None])
def test_log_is_a_boolean(cls: Any, log: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"log is {log!r}, expected True or False.")):
        cls(1, 5, log=log)


@pytest.mark.parametrize(("low", "high", "name"), [(-LARGEST_INT - 1, 0, "low"), (0, LARGEST_INT + 1, "high")])
def test_ints_that_floating_point_cannot_tell_apart_are_refused(low: int, high: int, name: str) -> None:
    bad = low if name == "low" else high
    message = f"{name} is {bad}, expected an integer from -2**52 to 2**52; use Float and round."
    with pytest.raises(ValueError, match=re.escape(message)):
        Int(low, high)


@pytest.mark.parametrize("bad", ["abc", b"abc", {"a", "b"}, 3, None, np.array([1, 2])])
def test_choices_are_a_list_or_tuple(bad: Any) -> None:
    message = f"choices is {bad!r}, expected a list or tuple such as ['relu', 'tanh']."
    with pytest.raises(TypeError, match=re.escape(message)):
        Categorical(bad)


@pytest.mark.parametrize("bad", [(1, 2), [1], b"a", 1j, np.int64(1), object])
def test_choices_and_constants_are_json_scalars(bad: Any) -> None:
    message = f"is {bad!r}, expected a string, a Python number, a boolean or None, as JSON has them; use .item() for a"
    with pytest.raises(TypeError, match=re.escape(f"choices[1] {message}")):
        Categorical(["a", bad])
    with pytest.raises(TypeError, match=re.escape(f"value {message}")):
        Fixed(bad)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_choices_and_constants_are_finite(bad: float) -> None:
    with pytest.raises(ValueError, match=re.escape(f"choices[0] is {bad!r}, expected a finite number.")):
        Categorical([bad, 1])
    with pytest.raises(ValueError, match=re.escape(f"value is {bad!r}, expected a finite number.")):
        Fixed(bad)


@pytest.mark.parametrize("twin", [1, True, 1.0])
def test_choices_are_distinct(twin: Any) -> None:
    message = f"choices[2] is {twin!r}, equal to choices[1], which is 1; expected distinct choices, so remove one"
    with pytest.raises(ValueError, match=re.escape(message)):
        Categorical([2, 1, twin])


def test_at_least_two_choices_are_needed() -> None:
    with pytest.raises(ValueError, match=re.escape("choices is [], expected at least two choices.")):
        Categorical([])
    message = "choices is ['a'], expected at least two choices; use Fixed('a') for a constant."
    with pytest.raises(ValueError, match=re.escape(message)):
        Categorical(["a"])


@pytest.mark.parametrize("bad", ["1", None, True, [1.0], np.array([1.0]), np.array(1.0)])
def test_values_of_a_float_are_numbers(bad: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"value is {bad!r}, expected a number.")):
        Float(0, 2).to_unit(bad)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 10**400])
def test_values_of_a_float_are_finite(bad: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(f"value is {bad!r}, expected a finite number.")):
        Float(0, 2).to_unit(bad)


@pytest.mark.parametrize("bad", [1.0, "1", None, True, np.float64(1)])
def test_values_of_an_int_are_integers(bad: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"value is {bad!r}, expected an integer; use int(...)")):
        Int(0, 2).to_unit(bad)


@pytest.mark.parametrize(
    ("parameter", "bad"),
    [
        (Float(0.1, 0.3), 0.1 + 0.2),
        (Float(0.1, 0.3), math.nextafter(0.1, 0)),
        (Float(0.1, 0.3, log=True), 0.0),
        (Int(1, 3), 0),
        (Int(1, 3), 4),
        (Int(1, 3), 10**400),
    ],
)
def test_values_outside_the_bounds_are_refused(parameter: Float | Int, bad: float) -> None:
    message = f"value is {bad!r}, expected one in [{parameter.low}, {parameter.high}]; change it or the bounds."
    with pytest.raises(ValueError, match=re.escape(message)):
        parameter.to_unit(bad)


@pytest.mark.parametrize("bad", ["b", 1, None, 0.5, math.nan])
def test_unknown_choices_are_refused(bad: Any) -> None:
    message = f"value is {bad!r}, expected one of the choices 'a', 2, False."
    with pytest.raises(ValueError, match=re.escape(message)):
        Categorical(["a", 2, False]).to_unit(bad)


@pytest.mark.parametrize("bad", [["a"], np.array(["a", "b"]), object])
def test_values_that_can_be_no_choice_are_refused(bad: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"value is {bad!r}, expected one of the choices 'a', 'b'.")):
        Categorical(["a", "b"]).to_unit(bad)


def test_a_constant_takes_no_other_value() -> None:
    message = "value is 4, expected the constant 3; leave it out or change Fixed."
    with pytest.raises(ValueError, match=re.escape(message)):
        Fixed(3).to_unit(4)
    with pytest.raises(TypeError, match=re.escape("value is [3], expected the constant 3.")):
        Fixed(3).to_unit([3])


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        (Float(0.0, 1.0, step=0.1), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        (Float(-1.0, 0.5, step=0.75), [-1.0, -0.25, 0.5]),
        (Int(32, 256, step=32), [32, 64, 96, 128, 160, 192, 224, 256]),
    ],
    ids=["tenths", "negative", "integers"],
)
def test_steps_are_a_grid_from_face_to_face(parameter: Float | Int, values: list[float]) -> None:
    assert parameter.count == len(values)
    assert parameter.is_discrete
    coordinates = [parameter.to_unit(value).item() for value in values]
    assert coordinates == pytest.approx(np.linspace(0, 1, len(values)))
    assert (coordinates[0], coordinates[-1]) == (0.0, 1.0)
    decoded = [parameter.from_unit([u]) for u in coordinates]
    assert decoded == values
    assert all(type(value) is type(values[0]) for value in decoded)
    between = np.linspace(0, 1, 101)[:, None]
    snapped = parameter.snap(between)
    assert [parameter.to_unit(parameter.from_unit(u)).item() for u in between] == pytest.approx(snapped[:, 0])
    assert np.abs(snapped - between).max() <= 0.5 / (len(values) - 1) + 1e-12
    assert parameter.neighbours([coordinates[1]])[:, 0].tolist() == [coordinates[0], coordinates[2]]
    assert parameter.neighbours([1.0])[:, 0].tolist() == [coordinates[-2]]
    assert parameter_from_json(parameter.to_json()) == parameter
    assert eval(repr(parameter)) == parameter


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Float(0, 1, step=0.3), "expected a whole number of steps of 0.3 above low = 0.0; use 0.9."),
        (lambda: Float(0, 1, step=2), "use 2"),
        (lambda: Float(0, 1, step=-0.5), "step is -0.5, expected a number > 0"),
        (lambda: Float(1, 2, log=True, step=0.5), "a log scale has no even steps"),
        (lambda: Int(1, 8, log=True, step=7), "a log scale has no even steps"),
        (lambda: Int(1, 8, step=0), "step is 0, expected a number > 0"),
        (lambda: Float(0, 1, step=0.1).to_unit(0.25), "value is 0.25, expected a step of 0.1 from 0.0"),
    ],
    ids=["not whole", "too long", "negative", "log float", "log int", "zero", "off the grid"],
)
def test_bad_steps_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make()
