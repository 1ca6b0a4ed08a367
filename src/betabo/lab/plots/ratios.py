"""The ratios of compressed layers: their densities, and the ratio of each layer."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

from betabo.lab.plots.names import METHODS, method_name
from betabo.lab.plots.style import BLACK, SURFACE, new_figure, shades, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame


_NAME = 20  # letters in a line above a panel


def draw_ratio_densities(densities: DataFrame, title: str) -> Figure:
    """Densities of the ratios of all layers at some iterations, and at the best point, a panel a method.

    Args:
        densities: Columns `method`, `iteration` (None for the best point), `ratio`, `density`.
        title: Title of the figure.
    """
    methods = [method for method in METHODS if method in set(densities["method"])]
    iterations = sorted(int(i) for i in densities["iteration"].dropna().unique())
    with style():
        figure = new_figure(max(2.2 * len(methods), 5.2) + 0.3, 3.3)
        panels = figure.subplots(1, len(methods), squeeze=False, sharex=True, sharey=True)[0]
        for panel, method in zip(panels, methods, strict=True):
            part = densities[densities["method"] == method]
            for iteration, colour in zip(iterations, shades(len(iterations)), strict=True):
                curve = part[part["iteration"] == iteration]
                panel.plot(curve["ratio"], curve["density"], color=colour, label=f"iteration {iteration}")
            curve = part[part["iteration"].isna()]
            panel.plot(curve["ratio"], curve["density"], color=BLACK, linestyle="--", label="best point")
            panel.set_title(fill(method_name(method), _NAME))
            panel.set_xlim(densities["ratio"].min(), densities["ratio"].max())
            panel.set_xticks([densities["ratio"].min(), densities["ratio"].max()], minor=False)
            for label, side in zip(panel.get_xticklabels(), ("left", "right"), strict=True):
                label.set_horizontalalignment(side)
            panel.set_xlabel("ratio", labelpad=-6)
        panels[0].set(ylabel="density", ylim=(0, None))
        figure.suptitle(title, x=0.01, ha="left", fontsize=10.5)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def draw_ratio_maps(ratios: DataFrame, bounds: tuple[float, float], title: str) -> Figure:
    """The ratio of each layer at a point of each method, a panel a method, blocks from left to right.

    Args:
        ratios: Columns `method`, `column` (block), `row` (place in the block), `ratio`, in the order of the layers.
        bounds: Least and largest ratio.
        title: Title of the figure.
    """
    methods = [method for method in METHODS if method in set(ratios["method"])]
    columns, rows = list(dict.fromkeys(ratios["column"])), list(dict.fromkeys(ratios["row"]))
    across = 2 if len(methods) > 1 else 1
    down = -(-len(methods) // across)
    with style():
        figure = new_figure(max(0.34 * len(columns) * across + 1.8, 6.0), (0.27 * len(rows) + 0.75) * down + 0.6)
        panels = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        for panel, method in zip(panels.ravel(), methods, strict=False):
            part = ratios[ratios["method"] == method]
            grid = part.pivot_table(index="row", columns="column", values="ratio").reindex(index=rows, columns=columns)
            panel.imshow(grid, cmap=SURFACE, vmin=bounds[0], vmax=bounds[1], aspect="auto")
            _write_values(panel, grid, sum(bounds) / 2)
            panel.set_title(fill(method_name(method), max(_NAME, 3 * len(columns))))
            panel.grid(visible=False)
            panel.set_xticks(range(len(columns)), columns, fontsize=7.5)
            if max(map(len, columns)) > 3:
                panel.tick_params(axis="x", rotation=90)
            panel.set_yticks(range(len(rows)), rows, fontsize=8)
            panel.tick_params(length=0)
        for panel in panels.ravel()[len(methods) :]:
            panel.set_axis_off()
        for panel in panels.ravel()[max(len(methods) - across, 0) : len(methods)]:
            panel.tick_params(axis="x", labelbottom=True)
            panel.set_xlabel("block")
        bar = figure.colorbar(panels[0, 0].images[0], ax=panels, shrink=0.9, pad=0.01, aspect=15 * down)
        bar.set_label("ratio")
        bar.set_ticks([bounds[0], sum(bounds) / 2, bounds[1]])
        figure.suptitle(title, x=0.01, ha="left", fontsize=10.5)
    return figure


def _write_values(axes: Axes, grid: Any, middle: float) -> None:
    """Each ratio in hundredths in its cell."""
    for row, values in enumerate(grid.to_numpy()):
        for column, value in enumerate(values):
            if value == value:
                colour = "white" if value < middle else BLACK
                axes.text(column, row, f"{100 * value:.0f}", ha="center", va="center", color=colour, fontsize=6.5)
