"""Pictures of predictions over two parameters."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest

from betabo.report.figures.plane import plane, png
from betabo.report.planes import Plane, Side

PARTS = Side("x", [float(v) for v in np.linspace(0, 2, 33)], False, False)
CHOICES = Side("act", ["relu", "<b>tanh", None], True, False)


def test_a_png_is_read_by_pillow() -> None:
    image = pytest.importorskip("PIL.Image")
    colours = np.random.default_rng(0).integers(256, size=(5, 7, 3), dtype=np.uint8)
    assert np.array_equal(np.asarray(image.open(io.BytesIO(png(colours)))), colours)


def test_the_picture_is_dark_where_values_are_low_and_the_first_row_is_at_the_bottom() -> None:
    image = pytest.importorskip("PIL.Image")
    values = np.tile(np.array([[1.0], [2.0], [3.0]]), (1, 33))
    figure = plane(Plane(0, PARTS, CHOICES, values, values), values, "value", [], {"x": 1.0, "act": "relu"})
    (drawn,) = figure.layout.images
    pixels = np.asarray(image.open(io.BytesIO(base64.b64decode(drawn.source.partition(",")[2]))))
    assert pixels.shape == (3 * 16, 33, 3)
    assert pixels[-1].sum() < pixels[24].sum() < pixels[0].sum()
    assert (drawn.y, drawn.sizey) == (0, 1)
    assert drawn.x == pytest.approx(-0.5 / 32)


def test_trials_stand_where_their_parameters_are_and_text_is_no_markup() -> None:
    values = np.ones((3, 33))
    trials = [{"x": 0.5, "act": "<b>tanh"}, {"x": 2.0, "act": None}, {"x": 1.0}]
    figure = plane(Plane(0, PARTS, CHOICES, values, values), values, "value", trials, {"x": 1.0, "act": "relu"})
    _, others, star = figure.data
    assert list(zip(others.x, others.y, strict=True)) == [(0.25, 0.5), (1.0, pytest.approx(5 / 6))]
    assert (star.x[0], star.y[0]) == (0.5, pytest.approx(1 / 6))
    assert "<b>tanh" not in figure.layout.yaxis.ticktext
    assert list(figure.layout.xaxis.ticktext) == ["0", "0.5", "1", "1.5", "2"]
