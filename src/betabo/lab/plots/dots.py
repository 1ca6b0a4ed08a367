"""Means of many kernels on many problems, beside those that were printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from betabo.lab.plots.log_axis import make_logarithmic
from betabo.lab.plots.names import PLACEMENT_NAMES, kernel_colour, kernel_name
from betabo.lab.plots.style import GREY, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame


def draw_placements(cells: DataFrame) -> Figure:
    """A panel a problem: the mean of each kernel with its standard error, and the printed one.

    Args:
        cells: Columns `placement`, `function`, `kernel`, `mean`, `standard_error`, `printed`, `printed_error`; NaN
            where nothing was printed. Kernels, functions and placements appear in the order of their rows.
    """
    placements, functions, kernels = (list(dict.fromkeys(cells[c])) for c in ("placement", "function", "kernel"))
    with style():
        height = max(0.21 * len(kernels) + 0.75, 1.9) * len(placements) + 0.4  # names of placements need 1.9
        figure = new_figure(max(2.15 * len(functions) + 1.9, 5.5), max(height, 2.8))
        panels = figure.subplots(len(placements), len(functions), squeeze=False, sharey=True, sharex="col")
        for row, placement in enumerate(placements):
            for column, function in enumerate(functions):
                panel = panels[row, column]
                here = cells[(cells["placement"] == placement) & (cells["function"] == function)]
                _dots(panel, here, kernels)
                if row == 0:
                    panel.set_title(function.capitalize())
            panels[row, -1].text(
                1.04, 0.5, PLACEMENT_NAMES[placement], rotation=-90, va="center", transform=panels[row, -1].transAxes
            )
        for column, function in enumerate(functions):
            if cells.loc[cells["function"] == function, ["mean", "printed"]].min().min() > 0:
                make_logarithmic(panels[0, column], "x")
        panels[0, 0].set_yticks(range(len(kernels)), [kernel_name(kernel) for kernel in kernels])
        panels[0, 0].set_ylim(len(kernels) - 0.4, -0.6)
        figure.supxlabel("best value, lower is better", fontsize=10)
        handles = [
            panels[0, 0].plot([], [], "o", color="#4D4D4D", markersize=5)[0],
            panels[0, 0].plot([], [], "D", color=GREY, markersize=4.5, fillstyle="none")[0],
        ]
        figure.legend(handles, ["measured", "printed in the paper"], loc="outside upper right", ncols=2)
    return figure


def _dots(axes: Axes, cells: DataFrame, kernels: list[str]) -> None:
    shown = cells.set_index("kernel")
    for kernel, cell in shown.fillna({"standard_error": 0.0}).iterrows():
        place = kernels.index(str(kernel))
        colour = kernel_colour(str(kernel))
        axes.errorbar(cell["mean"], place, xerr=cell["standard_error"], fmt="o", color=colour, markersize=5)
    for kernel, cell in shown.dropna(subset="printed").iterrows():
        place = kernels.index(str(kernel))
        look: dict[str, Any] = {"color": GREY, "markersize": 4.5, "fillstyle": "none", "elinewidth": 0.8, "zorder": 1}
        axes.errorbar(cell["printed"], place, xerr=cell["printed_error"], fmt="D", **look)
    axes.tick_params(axis="y", length=0)
