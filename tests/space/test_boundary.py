"""Where points lie between the bounds of their numbers; a category has none."""

from __future__ import annotations

import numpy as np
import pytest

from betabo.space import Categorical, Fixed, Float, Int, Space
from betabo.space.boundary import boundary_distance, face, faces

MIXED = Space(
    {
        "rate": Float(1e-4, 1.0, log=True),
        "act": Categorical(["relu", "tanh"]),
        "layers": Int(1, 5),
        "two": Int(0, 1),
        "pair": Float(0.0, 0.5, step=0.5),
        "seed": Fixed(3),
    }
)
INSIDE = {"rate": 1e-2, "act": "relu", "layers": 2, "two": 1, "pair": 0.5}


@pytest.mark.parametrize(
    ("position", "within", "expected"),
    [
        (0.0, 0.0, "lower"),
        (1.0, 0.0, "upper"),
        (1e-9, 0.0, None),
        (0.01, 0.01, "lower"),
        (0.02, 0.01, None),
        (0.99, 0.01, "upper"),
    ],
)
def test_face_is_the_bound_that_is_reached(position: float, within: float, expected: str | None) -> None:
    assert face(position, within) == expected


def test_faces_are_named() -> None:
    positions = {"a": 0.0, "b": 0.5, "c": 0.999}
    assert faces(positions) == {"a": "lower"}
    assert faces(positions, within=0.01) == {"a": "lower", "c": "upper"}


def test_distance_is_that_to_the_nearest_face() -> None:
    assert boundary_distance([0.5, 0.5]) == 1
    assert boundary_distance([0.5, 0.25, 0.9]) == pytest.approx(0.2)
    assert boundary_distance([]) is None


class TestSpace:
    def test_knows_the_positions_of_numbers_with_an_inside(self) -> None:
        assert MIXED.positions(MIXED.to_unit(INSIDE)) == pytest.approx({"rate": 0.5, "layers": 0.25})

    def test_has_no_face_where_a_category_is(self) -> None:
        unit = MIXED.to_unit(INSIDE)
        assert set(unit) >= {0.0, 1.0}  # the choices, and the numbers that are nothing but bounds
        assert MIXED.faces(unit) == {}
        assert MIXED.boundary_distance(unit) == pytest.approx(0.5)

    def test_names_the_faces(self) -> None:
        unit = MIXED.to_unit({**INSIDE, "rate": 1e-4, "layers": 5})
        assert MIXED.faces(unit) == {"rate": "lower", "layers": "upper"}
        assert MIXED.boundary_distance(unit) == 0

    def test_knows_what_is_near_a_face(self) -> None:
        unit = MIXED.to_unit({**INSIDE, "rate": 0.98})
        assert MIXED.faces(unit) == {}
        assert MIXED.faces(unit, within=0.01) == {"rate": "upper"}

    def test_of_categories_has_no_boundary(self) -> None:
        space = Space({"act": Categorical(["relu", "tanh"])})
        assert space.faces([1.0, 0.0]) == {}
        assert space.boundary_distance([1.0, 0.0]) is None

    def test_measures_a_box_in_the_largest_norm(self) -> None:
        box = Space.from_bounds([(-5, 10), (0, 15), (1, 2)])
        for unit in np.random.default_rng(0).uniform(size=(20, 3)):
            assert box.boundary_distance(unit) == pytest.approx(1 - 2 * np.abs(unit - 0.5).max())

    def test_refuses_points_of_another_dimension(self) -> None:
        with pytest.raises(ValueError, match="expected \\(6,\\)"):
            MIXED.positions([0.5])


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        (Float(0, 1), True),
        (Float(0, 1, step=0.5), True),
        (Float(0, 1, step=1.0), False),
        (Int(0, 2), True),
        (Int(0, 1), False),
        (Int(1, 2, log=True), False),
        (Categorical([1, 2, 3]), False),
        (Fixed(1), False),
    ],
    ids=str,
)
def test_a_parameter_has_faces_where_a_value_can_be_off_them(
    parameter: Float | Int | Categorical | Fixed, expected: bool
) -> None:
    assert parameter.has_faces is expected
