"""Curves by iteration: means with bands, and the paths of fitted parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from betabo.lab.plots.log_axis import make_logarithmic
from betabo.lab.plots.names import ACQUISITION_NAMES, PLACEMENT_NAMES, kernel_colour, kernel_name
from betabo.lab.plots.style import BLUE, ORANGE, PURPLE, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame


def draw_convergence_and_distance(best: DataFrame, distance: DataFrame) -> Figure:
    """Best value above, distance to the boundary below, a column a number of dimensions and weight.

    Args:
        best: Columns `dim`, `weight`, `kernel`, `iteration`, `mean`, `standard_error`: lowest value so far, by
            weight of the confidence bound.
        distance: The same columns: normalized distance of the points to the boundary, 1 at the centre.
    """
    columns = sorted(set(zip(best["dim"], best["weight"], strict=True)))
    with style():
        figure = new_figure(2.6 * len(columns) + 0.6, 5.6)
        panels = figure.subplots(2, len(columns), squeeze=False, sharex="col", sharey="row")
        for (d, weight), (above, below) in zip(columns, panels.T, strict=True):
            for panel, table in ((above, best), (below, distance)):
                _draw_kernels(panel, table[(table["dim"] == d) & (table["weight"] == weight)])
            above.set_title(f"$d$ = {d}, weight {weight:g}")
            below.set_xlabel("iteration")
            below.locator_params(axis="x", integer=True)
        make_logarithmic(panels[0, 0], "y")
        panels[0, 0].set_ylabel("best value")
        panels[1, 0].set_ylabel("distance to the boundary")
        panels[1, 0].set_ylim(bottom=-0.02)
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return figure


def draw_bandwidths(paths: DataFrame, medians: DataFrame) -> Figure:
    """Bandwidths of the paper's kernel, those with a learned boundary weight, and that weight.

    Args:
        paths: One row a run and iteration: `kernel`, `seed`, `iteration`, `h1`, `h2`, `boundary weight`.
        medians: The same over the runs, without `seed`.
    """
    panels = [
        ("beta-paper", ("h1", "h2"), "Boundary weight 1, as in the paper", "bandwidth"),
        ("beta", ("h1", "h2"), "Boundary weight learned", "bandwidth"),
        ("beta", ("boundary weight",), "The learned boundary weight", "boundary weight"),
    ]
    colours = {"h1": (BLUE, "$h_1$"), "h2": (ORANGE, "$h_2$"), "boundary weight": (PURPLE, "")}
    with style():
        figure = new_figure(10.4, 3.7)
        axes = figure.subplots(1, len(panels))
        axes[1].sharey(axes[0])
        for panel, (kernel, columns, title, label) in zip(axes, panels, strict=True):
            for column in columns:
                colour, name = colours[column]
                for _, path in paths[paths["kernel"] == kernel].groupby("seed"):
                    panel.plot(path["iteration"], path[column], color=colour, linewidth=0.6, alpha=0.35)
                middle = medians[medians["kernel"] == kernel]
                panel.plot(middle["iteration"], middle[column], color=colour, linewidth=2, label=name)
            panel.set(title=title, xlabel="iteration", ylabel=label)
            panel.locator_params(axis="x", integer=True)
        make_logarithmic(axes[0], "y")
        axes[2].set_ylim(-0.03, 1.03)
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(handles, names, title="thick: median of the runs", loc="outside upper right", ncols=2)
    return figure


def draw_acquisitions(curves: DataFrame) -> Figure:
    """Share of the starting regret that is left, a row a placement and a column an acquisition function.

    Args:
        curves: Columns `placement`, `acquisition`, `kernel`, `iteration`, `mean`, `standard_error`.
    """
    placements = list(dict.fromkeys(curves["placement"]))
    acquisitions = [name for name in ACQUISITION_NAMES if name in set(curves["acquisition"])]
    with style():
        figure = new_figure(2.25 * len(acquisitions) + 0.6, 2.5 * len(placements) + 0.5)
        panels = figure.subplots(len(placements), len(acquisitions), squeeze=False, sharex=True, sharey="row")
        for row, placement in enumerate(placements):
            for column, acquisition in enumerate(acquisitions):
                panel = panels[row, column]
                chosen = (curves["placement"] == placement) & (curves["acquisition"] == acquisition)
                _draw_kernels(panel, curves[chosen])
                if row == 0:
                    panel.set_title(ACQUISITION_NAMES[acquisition])
            panels[row, 0].set_ylabel(PLACEMENT_NAMES[placement])
        panels[0, 0].locator_params(axis="x", integer=True)
        figure.supxlabel("iteration", fontsize=10)
        figure.supylabel("share of the starting regret that is left", fontsize=10)
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return figure


def draw_mean(axes: Axes, curve: DataFrame, colour: str, name: str) -> None:
    """A mean by iteration with a band of one standard error.

    Args:
        axes: Where to draw.
        curve: Columns `iteration`, `mean`, `standard_error`, NaN for a single run.
        colour: Its colour.
        name: Its name in the legend.
    """
    mean, error = curve["mean"], curve["standard_error"].fillna(0)
    axes.plot(curve["iteration"], mean, color=colour, label=name)
    axes.fill_between(curve["iteration"], mean - error, mean + error, color=colour, alpha=0.18, linewidth=0)


def _draw_kernels(axes: Axes, curves: DataFrame) -> None:
    """The mean of each kernel."""
    for kernel, part in curves.groupby("kernel", sort=False, observed=True):
        draw_mean(axes, part, kernel_colour(str(kernel)), kernel_name(str(kernel)))
