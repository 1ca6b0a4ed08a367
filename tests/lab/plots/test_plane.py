from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from betabo.lab.plots.plane import draw_plane_searches

EARLY = 2


@pytest.fixture
def figure() -> Figure:
    side = np.linspace(-1, 1, 11)
    x1, x2 = (values.ravel() for values in np.meshgrid(side, side))
    surface = pd.DataFrame({"x1": x1, "x2": x2, "value": x1**2 + x2**2})
    steps = [(0, 0.5, 0.5), (1, -0.9, 0.9), (2, 0.9, -0.9), (3, 0.0, 0.0)]
    points = [(kernel, *step) for kernel in ("matern", "beta-paper") for step in steps]
    return draw_plane_searches(
        surface, pd.DataFrame(points, columns=["kernel", "iteration", "x1", "x2"]), (0.0, 0.0), EARLY, "A bowl"
    )


def test_panels_are_the_function_the_first_steps_and_each_search(figure: Figure) -> None:
    titles = [axes.get_title(loc="left") for axes in figure.axes[:6]]
    assert titles == ["A bowl", "The first 2 iterations", "", "Matérn, 3 iterations", "Beta, 3 iterations", ""]
    assert [axes.axison for axes in figure.axes[:6]] == [True, True, False, True, True, False]


def test_first_steps_are_numbered(figure: Figure) -> None:
    first = figure.axes[1]
    assert [text.get_text() for text in first.texts] == ["1", "2", "1", "2"]


def test_searches_show_starts_steps_and_the_optimum(figure: Figure) -> None:
    search = figure.axes[3]
    squares, star = (next(line for line in search.lines if line.get_marker() == m) for m in "s*")
    assert squares.get_xydata().tolist() == [[0.5, 0.5]]
    assert star.get_xydata().tolist() == [[0.0, 0.0]]
    (dots,) = [c for c in search.collections if len(c.get_offsets()) == 3]
    np.testing.assert_array_equal(dots.get_array(), [1, 2, 3])
