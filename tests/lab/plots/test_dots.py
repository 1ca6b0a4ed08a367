from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from betabo.lab.plots.dots import draw_placements
from betabo.lab.plots.style import GREY, KERNEL_COLOURS


@pytest.fixture
def cells() -> pd.DataFrame:
    rows = [("centre", f, k) for f in ("levy", "hartmann") for k in ("matern", "rbf+raw")]
    table = pd.DataFrame(rows, columns=["placement", "function", "kernel"])
    means, printed = [1.0, 2.0, -3.0, -2.0], [4.0, np.nan, -3.2, -1.0]
    return table.assign(mean=means, standard_error=0.1, printed=printed, printed_error=0.2)


def drawn(axes: Axes, marker: str) -> list[Line2D]:
    """The points with a marker, not those of the legend."""
    return [line for line in axes.lines if line.get_marker() == marker and len(line.get_xdata())]


def test_means_and_printed_values_stand_in_the_row_of_their_kernel(cells: pd.DataFrame) -> None:
    levy, hartmann = draw_placements(cells).axes
    points = [tuple(np.ravel(line.get_xydata())) for marker in "oD" for line in drawn(levy, marker)]
    assert sorted(points) == [(1.0, 0), (2.0, 1), (4.0, 0)]
    colours = {to_hex(line.get_color()).upper() for line in drawn(levy, "o")}
    assert colours == {KERNEL_COLOURS["matern"], KERNEL_COLOURS["rbf"]}
    (diamond,) = drawn(levy, "D")
    assert to_hex(diamond.get_color()).upper() == GREY
    assert [label.get_text() for label in levy.get_yticklabels()] == ["Matérn", "RBF, raw"]
    assert [axes.get_title(loc="left") for axes in (levy, hartmann)] == ["Levy", "Hartmann"]


def test_axes_are_logarithmic_where_all_values_are_positive(cells: pd.DataFrame) -> None:
    levy, hartmann = draw_placements(cells).axes
    assert (levy.get_xscale(), hartmann.get_xscale()) == ("log", "linear")
