"""Predicted against observed values."""

from __future__ import annotations

import numpy as np

from betabo.report.figures.goodness import predicted_against_observed
from betabo.report.goodness import Goodness


def test_marks_are_told_apart_by_whether_the_interval_holds_the_value() -> None:
    predicted = np.array([[0.0, 1.0], [0.5, 1.5], [1.0, 2.0], [1.5, 2.5], [2.0, 3.0]])
    figure = predicted_against_observed(Goodness(0, [3, 7], np.array([1.5, 9.0]), predicted), "loss")
    marks = {trace.name: trace for trace in figure.data if trace.mode == "markers"}
    assert (list(marks["in its 90 % interval"].x), list(marks["in its 90 % interval"].y)) == ([1.0], [1.5])
    assert (list(marks["outside"].x), list(marks["outside"].y)) == ([2.0], [9.0])
    assert "trial 7" in marks["outside"].text[0]
    lines = [trace for trace in figure.data if trace.mode == "lines" and trace.legendgroup == "outside"]
    assert list(lines[0].x) == [1.0, 3.0, None]


def test_values_of_several_sizes_have_logarithmic_axes() -> None:
    predicted = np.array([[1e-3, 1.0]] * 5) * np.array([[0.5], [0.8], [1.0], [1.2], [2.0]])
    figure = predicted_against_observed(Goodness(0, [0, 1], np.array([1e-3, 1.0]), predicted), "loss")
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert list(figure.layout.xaxis.range) == list(figure.layout.yaxis.range)


def test_infinite_values_are_gaps() -> None:
    predicted = np.array([[0.0, 1.0]] * 5)
    figure = predicted_against_observed(Goodness(0, [0, 1], np.array([1.0, np.inf]), predicted), "loss")
    assert "Infinity" not in figure.to_json()


def test_the_largest_numbers_have_logarithmic_axes_too() -> None:
    observed = np.array([1.0, 1e150, 1.7e308])
    figure = predicted_against_observed(Goodness(0, [0, 1, 2], observed, np.tile(observed, (5, 1))), "loss")
    assert figure.layout.xaxis.type == "log"
    assert "Infinity" not in figure.to_json()
    (diagonal,) = [trace for trace in figure.data if trace.name == "equal"]
    assert list(diagonal.x) == list(diagonal.y)
    assert np.isfinite(diagonal.x).all()
