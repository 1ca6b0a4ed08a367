"""Profiles as parameters: what they stand for, and by which names they are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from betabo.space import Float, Int, Profile, Space


def test_it_stands_for_floats_with_numbers_behind_the_name() -> None:
    space = Space({"gain": Float(1, 2), "u": Profile(3, -1.0, 1.0), "k": Int(1, 4)})
    assert space.names == ("gain", "u[0]", "u[1]", "u[2]", "k")
    assert space.parameters["u[2]"] == Float(-1.0, 1.0)
    assert Space.from_json(space.to_json()) == space


def test_the_numbers_of_a_point_are_an_array_in_their_order() -> None:
    space = Space({"u": Profile(12, 0.0, 1.0), "v": Profile(2, 1.0, 2.0)})
    unit = np.random.default_rng(0).random(14)
    point = space.from_unit(unit)
    np.testing.assert_allclose(Profile.values(point, "u"), unit[:12])
    np.testing.assert_allclose(Profile.values(point, "v"), 1 + unit[12:])
    with pytest.raises(KeyError, match=r"no profile 'w'; expected one of 'u', 'v'"):
        Profile.values(point, "w")


def test_the_coordinates_of_a_profile_are_in_its_order_whatever_that_of_the_names() -> None:
    names = sorted(f"u[{number}]" for number in range(12))
    assert names[1] == "u[10]"
    space = Space({"a": Float(0, 1), **{name: Float(0, 1) for name in names}})
    (profile,) = space.profiles
    assert [space.names[place] for place in profile] == [f"u[{number}]" for number in range(12)]


@pytest.mark.parametrize(
    "parameters",
    [
        {"u": Profile(7, 0, 1)},
        {f"u[{number}]": Float(0, 1 + (number == 3)) for number in range(10)},
        {f"u[{number}]": Float(0, 1) for number in range(10) if number != 4},
        {f"u[{number}]": Int(0, 9) for number in range(10)},
        {f"u{number}": Float(0, 1) for number in range(10)},
    ],
    ids=["too short", "another range", "a gap", "integers", "no brackets"],
)
def test_what_is_no_profile_is_not_taken_for_one(parameters: dict[str, Any]) -> None:
    assert Space(parameters).profiles == ()


def test_a_box_has_none() -> None:
    assert Space.from_bounds([(0, 1)] * 12).profiles == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 0.0, 1.0), "count is 1, expected at least 2"),
        ((3, 1.0, 0.0), "low"),
        ((3, -1.0, 1.0, True), "log"),
    ],
)
def test_bad_profiles_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Profile(*arguments)


def test_a_name_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ValueError, match=r"u\[1\] is there twice"):
        Space({"u": Profile(3, 0, 1), "u[1]": Float(0, 1)})
