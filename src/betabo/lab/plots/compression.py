"""The objective of compressed models by iteration."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import TYPE_CHECKING

from betabo.lab.plots.curves import draw_mean
from betabo.lab.plots.names import ACQUISITION_NAMES, METHODS, method_colour, method_name
from betabo.lab.plots.style import new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

_COLUMNS = 3
_TITLE = 44  # letters in a line above a panel
_ROW = 30  # letters in a line beside a row


def draw_objectives(curves: DataFrame, levels: Mapping[str, float], titles: Mapping[str, str]) -> Figure:
    """Best objective by iteration, a panel an experiment.

    Args:
        curves: Columns `experiment`, `method`, `iteration`, `mean`, `standard_error`. Random search is dashed.
        levels: Best objective with one ratio for all layers, by experiment; a dashed line.
        titles: Titles of the panels by experiment, in order.
    """
    columns = min(_COLUMNS, len(titles))
    rows = -(-len(titles) // columns)
    with style():
        figure = new_figure(max(3.5 * columns, 5.2), 2.9 * rows + 0.7)
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, (experiment, title) in zip(panels, titles.items(), strict=False):
            _draw_methods(panel, curves[curves["experiment"] == experiment])
            if experiment in levels:
                colour, name = method_colour("uniform"), method_name("uniform")
                panel.axhline(levels[experiment], color=colour, linestyle=(0, (2, 2)), zorder=1.5, label=name)
            panel.set_title(fill(title, _TITLE))
            panel.locator_params(axis="x", integer=True)
        for panel in panels[len(titles) :]:
            panel.set_axis_off()
        figure.supxlabel("iteration", fontsize=10)
        figure.supylabel("best objective: size left + error", fontsize=10)
        handles = {
            label: handle for panel in panels for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
        }
        shown = [method_name(method) for method in METHODS if method_name(method) in handles]
        handles_shown = [handles[name] for name in shown]
        figure.legend(handles_shown, shown, loc="outside upper center", ncols=2 if columns == 1 else 4)
    return figure


def draw_acquisition_objectives(curves: DataFrame, titles: Mapping[str, str]) -> Figure:
    """Best objective by iteration, a row an experiment and a column an acquisition function.

    Args:
        curves: Columns `experiment`, `method`, `acquisition`, `iteration`, `mean`, `standard_error`.
        titles: Names of the rows by experiment, in order.
    """
    acquisitions = [name for name in ACQUISITION_NAMES if name in set(curves["acquisition"])]
    with style():
        figure = new_figure(2.1 * len(acquisitions) + 0.6, 2.5 * len(titles) + 0.8)
        panels = figure.subplots(len(titles), len(acquisitions), squeeze=False, sharex=True, sharey="row")
        for row, (experiment, title) in enumerate(titles.items()):
            for column, acquisition in enumerate(acquisitions):
                chosen = (curves["experiment"] == experiment) & (curves["acquisition"] == acquisition)
                _draw_methods(panels[row, column], curves[chosen])
                if row == 0:
                    panels[row, column].set_title(ACQUISITION_NAMES[acquisition])
            panels[row, 0].set_ylabel(fill(title, _ROW))
        panels[0, 0].locator_params(axis="x", integer=True)
        figure.supxlabel("iteration", fontsize=10)
        figure.supylabel("best objective: size left + error", fontsize=10)
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def _draw_methods(axes: Axes, curves: DataFrame) -> None:
    """The mean of each method, with a band of one standard error for those with a model."""
    for method in METHODS:
        part = curves[curves["method"] == method].sort_values("iteration")
        if part.empty:
            continue
        if method == "random":
            axes.plot(
                part["iteration"], part["mean"], color=method_colour(method), linestyle="--", label=method_name(method)
            )
        else:
            draw_mean(axes, part, method_colour(method), method_name(method))
