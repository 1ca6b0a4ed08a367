"""Many points in the user's units at once."""

from __future__ import annotations

import numpy as np
import pytest

from betabo import Categorical, Fixed, Float, Int, Space
from betabo.problem.columns import columns_of, duals_of

SPACE = Space(
    {
        "x": Float(-2.0, 3.0),
        "lr": Float(1e-5, 1e-1, log=True),
        "step": Float(0.0, 1.0, step=0.25),
        "n": Int(1, 9),
        "m": Int(1, 1000, log=True),
        "act": Categorical(["relu", "tanh"]),
        "size": Categorical([16, 32]),
        "k": Fixed("v"),
    }
)


def test_values_are_those_of_the_space() -> None:
    units = SPACE.snap(np.random.default_rng(0).uniform(size=(40, SPACE.dims)))
    columns = columns_of(SPACE, units)
    for index, unit in enumerate(units):
        point = SPACE.from_unit(unit)
        assert isinstance(point, dict)
        for name, value in point.items():
            expected = value if isinstance(value, str) else pytest.approx(value, rel=1e-12, abs=1e-12)
            assert columns[name][index] == expected


def test_slopes_are_those_of_finite_differences() -> None:
    units = np.random.default_rng(1).uniform(0.1, 0.9, size=(10, SPACE.dims))
    duals = duals_of(SPACE, units)
    for place, name in enumerate(["x", "lr", "step", "n", "m"]):
        step = 1e-6 * np.eye(SPACE.dims)[place]
        up, down = (duals_of(SPACE, units + sign * step)[name].value for sign in (1, -1))
        np.testing.assert_allclose(duals[name].slope[:, place], (up - down) / 2e-6, rtol=1e-6)
        assert np.count_nonzero(duals[name].slope) == len(units)
