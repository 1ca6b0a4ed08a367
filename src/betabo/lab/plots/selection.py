"""Where kernels send a search by themselves, kernel by kernel and for several numbers of dimensions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from betabo.lab.plots.names import method_name
from betabo.lab.plots.style import BLACK, SURFACE, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

PANELS = {
    "prior ratio": ("Prior deviation,\nvertex over centre", "{:.2g}"),
    "share on faces": ("Coordinates on a face\nafter random values", "{:.0%}"),
    "boundary distance": ("Distance to the boundary\nafter random values", "{:.2f}"),
}
"""Columns that are drawn, each with its title and the form of its numbers."""


def draw_selection(table: DataFrame) -> Figure:
    """A panel a quantity: a row a kernel, a column a number of dimensions.

    Args:
        table: Columns `kernel`, `d` and the keys of `PANELS`, NaN where there is nothing to show, one row a kernel and
            number of dimensions, in the order in which kernels are drawn.
    """
    kernels, dims = list(dict.fromkeys(table["kernel"])), sorted(table["d"].unique())
    with style():
        figure = new_figure(3 * (0.55 * len(dims) + 0.7) + 1.6, 0.29 * len(kernels) + 1.3)
        panels = figure.subplots(1, len(PANELS), sharey=True, squeeze=False)[0]
        for panel, (column, (title, form)) in zip(panels, PANELS.items(), strict=True):
            _draw_cells(panel, table, column, form, kernels, dims)
            panel.set_title(title)
            panel.set_xlabel("dimensions")
        panels[0].set_yticks(range(len(kernels)), [method_name(kernel) for kernel in kernels])
    return figure


def _draw_cells(axes: Axes, table: DataFrame, column: str, form: str, kernels: list[str], dims: list[int]) -> None:
    """A number in each cell, the lighter the larger."""
    grid = table.pivot_table(index="kernel", columns="d", values=column, dropna=False).reindex(kernels, columns=dims)
    axes.imshow(grid, cmap=SURFACE, aspect="auto")
    middle = float(table[column].min() + table[column].max()) / 2
    for row, values in enumerate(grid.to_numpy(dtype=float).tolist()):
        for place, value in enumerate(values):
            if not math.isnan(value):
                colour = "white" if value < middle else BLACK
                axes.text(place, row, form.format(value), ha="center", va="center", color=colour, fontsize=7.5)
    axes.set_xticks(range(len(dims)), [str(d) for d in dims])
    axes.grid(visible=False)
    axes.tick_params(length=0)
