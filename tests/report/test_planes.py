"""Predictions over two parameters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from betabo.report.planes import planes
from known_model import CUBE, MIXED, KnownModel


def test_holds_the_other_parameters() -> None:
    model = KnownModel(CUBE, [lambda u: u[:, 0] + 10 * u[:, 1] + 100 * u[:, 2]], deviation=2.0)
    (found,) = planes(model, {"a": 0.3, "b": 0.5, "c": 0.7}, "c", "a")  # type: ignore[arg-type]
    across, up = np.array(found.across.inputs), np.array(found.up.inputs)
    assert found.median == pytest.approx(up[:, None] + 5 + 100 * across)
    assert found.width == pytest.approx(np.full(found.median.shape, 4 * norm.ppf(0.95)))


def test_discrete_sides_have_a_cell_for_each_value() -> None:
    model = KnownModel(MIXED, [lambda u: u @ np.arange(1.0, 7.0)])
    centre = {"act": None, "n": 2, "rate": 0.01, "step": 0.5}
    (found,) = planes(model, centre, "act", "n")  # type: ignore[arg-type]
    assert found.across.inputs == ["relu", "tanh", None]
    assert found.up.inputs == [1, 2, 3]
    assert found.median.shape == (3, 3)
    assert np.diff(found.median, axis=1) == pytest.approx(1)  # a choice more
    assert [found.up.place(n) for n in (1, 2, 3, 4)] == [pytest.approx(1 / 6), 0.5, pytest.approx(5 / 6), None]


def test_a_log_parameter_is_spread_by_its_logarithm() -> None:
    model = KnownModel(MIXED, [lambda u: u[:, 4]])
    (found,) = planes(model, {"act": None, "n": 2, "rate": 0.01, "step": 0.5}, "rate", "step")  # type: ignore[arg-type]
    assert found.across.place(1e-2) == pytest.approx(0.5)
    assert found.median[0] == pytest.approx(np.linspace(0, 1, 33))
