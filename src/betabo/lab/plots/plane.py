"""Searches in two dimensions: the function, the first steps, and where all evaluations went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from betabo.lab.plots.names import kernel_colour, kernel_name
from betabo.lab.plots.style import BLACK, SURFACE, VERMILION, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

_CONTOURS = 7


def draw_plane_searches(
    surface: DataFrame, points: DataFrame, optimum: tuple[float, float], early: int, title: str
) -> Figure:
    """The function, the first `early` steps of each search together, and all steps of each search in its own panel.

    Args:
        surface: The function, nowhere negative, on a grid: columns `x1`, `x2`, `value`.
        points: The evaluations of up to three searches: columns `kernel`, `iteration` (0 for starting points, then
            from 1), `x1`, `x2`.
        optimum: Where the function is lowest.
        early: Number of steps in the panel of the first ones.
        title: Title of the panel of the function.
    """
    kernels = list(dict.fromkeys(points["kernel"].astype(str)))
    with style():
        figure = new_figure(10.4, 7.0)
        panels = figure.subplots(2, 3)
        function, first, key = panels[0]
        image = _contours(function, surface, filled=True)
        bars = {"value": image}
        function.set_title(title)
        _contours(first, surface)
        for place, kernel in enumerate(kernels):
            _first_steps(first, points[points["kernel"] == kernel], kernel, early, surface, shift=4 + 6 * place)
        first.set_title(f"The first {early} iterations")
        for panel, kernel in zip(panels[1], kernels, strict=False):
            _contours(panel, surface)
            bars["iteration"] = _all_steps(panel, points[points["kernel"] == kernel])
            panel.set_title(f"{kernel_name(kernel)}, {int(points['iteration'].max())} iterations")
        for panel in (function, first, *panels[1, : len(kernels)]):
            _frame(panel, surface, optimum)
        for panel in (function, first, panels[1, 0]):
            panel.set_ylabel("$x_2$", labelpad=0)
        for panel in (key, *panels[1, len(kernels) :]):
            panel.set_axis_off()
        _explain(key, kernels)
        for height, (label, image) in zip((0.32, 0.08), bars.items(), strict=True):
            bar = figure.colorbar(image, cax=key.inset_axes((0.06, height, 0.8, 0.05)), orientation="horizontal")
            bar.set_label(label, labelpad=1)
    return figure


def _contours(axes: Axes, surface: DataFrame, filled: bool = False) -> Any:
    from matplotlib.colors import PowerNorm

    grid = surface.pivot_table(index="x2", columns="x1", values="value")
    highest = float(surface["value"].max())
    if filled:
        norm = PowerNorm(0.5, vmin=0, vmax=highest)
        return axes.pcolormesh(
            grid.columns, grid.index, grid, cmap=SURFACE, norm=norm, shading="gouraud", rasterized=True
        )
    levels = [highest * (i / _CONTOURS) ** 2 for i in range(1, _CONTOURS)]
    return axes.contour(grid.columns, grid.index, grid, levels=levels, colors="#D0D0D0", linewidths=0.6, zorder=1)


def _first_steps(axes: Axes, points: DataFrame, kernel: str, early: int, surface: DataFrame, shift: int) -> None:
    steps = points[points["iteration"].between(1, early)].sort_values("iteration")
    colour = kernel_colour(kernel)
    axes.plot(steps["x1"], steps["x2"], "-", color=colour, linewidth=0.7, alpha=0.6, zorder=3)
    axes.plot(steps["x1"], steps["x2"], "o", color=colour, markersize=3.5, zorder=4, clip_on=False)
    middle1, middle2 = surface["x1"].mean(), surface["x2"].mean()
    for number, x1, x2 in zip(steps["iteration"], steps["x1"], steps["x2"], strict=True):
        axes.annotate(
            str(number),
            (x1, x2),
            (shift if x1 < middle1 else -shift, 3 if x2 < middle2 else -3),  # towards the middle, so inside the panel
            textcoords="offset points",
            ha="left" if x1 < middle1 else "right",
            va="bottom" if x2 < middle2 else "top",
            color=colour,
            fontsize=8,
            zorder=5,
        )


def _all_steps(axes: Axes, points: DataFrame) -> Any:
    starts, steps = points[points["iteration"] == 0], points[points["iteration"] > 0]
    axes.plot(starts["x1"], starts["x2"], "s", color=BLACK, markersize=3.5, fillstyle="none", zorder=5, clip_on=False)
    return axes.scatter(
        steps["x1"], steps["x2"], c=steps["iteration"], s=11, cmap="viridis_r", linewidths=0, zorder=4, clip_on=False
    )


def _frame(axes: Axes, surface: DataFrame, optimum: tuple[float, float]) -> None:
    axes.grid(visible=False)
    axes.spines[["top", "right"]].set_visible(True)
    axes.set_xlim(surface["x1"].min(), surface["x1"].max())
    axes.set_ylim(surface["x2"].min(), surface["x2"].max())
    axes.locator_params(nbins=5)
    axes.set_aspect("equal")
    axes.set_xlabel("$x_1$", labelpad=1)
    axes.plot(*optimum, "*", color=VERMILION, markersize=10, markeredgecolor="white", markeredgewidth=0.7, zorder=6)


def _explain(axes: Axes, kernels: list[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=kernel_colour(kernel), marker="o", markersize=4, linewidth=0.8, label=kernel_name(kernel))
        for kernel in kernels
    ]
    handles += [
        Line2D([], [], color=BLACK, marker="s", fillstyle="none", markersize=4, linestyle="", label="starting point"),
        Line2D([], [], color=VERMILION, marker="*", markersize=9, markeredgewidth=0, linestyle="", label="optimum"),
    ]
    axes.legend(handles=handles, loc="upper left")
