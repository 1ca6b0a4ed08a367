"""Searches in two dimensions: the function, the first steps, and where all evaluations went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from betabo.plots.kernel_looks import kernel_colour, kernel_name
from betabo.plots.style import BLACK, SURFACE, VERMILION, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

_LABEL_SHIFTS = {"rbf": (4, 3), "matern": (4, -9), "beta-paper": (-10, 3)}  # points, so that numbers do not collide


def draw_plane_searches(
    surface: DataFrame, points: DataFrame, optimum: tuple[float, float], early: int, title: str
) -> Figure:
    """The function, the first `early` steps of each search together, and all steps of each search in its own panel.

    Args:
        surface: The function on a grid: columns `x1`, `x2`, `value`.
        points: The evaluations: columns `kernel`, `iteration` (0 for starting points, then from 1), `x1`, `x2`.
        optimum: Where the function is lowest.
        early: Number of steps in the panel of the first ones.
        title: Title of the panel of the function.
    """
    kernels = list(dict.fromkeys(points["kernel"].astype(str)))
    with style():
        figure = new_figure(3.2 * max(len(kernels), 3), 7.4)
        above, below = figure.subfigures(2, 1, height_ratios=(1.12, 1))
        function, first = above.subplots(1, 2)
        image = _contours(function, surface, filled=True)
        above.colorbar(image, ax=function, shrink=0.92, label="value")
        function.set_title(title)
        _contours(first, surface)
        for kernel in kernels:
            _first_steps(first, points[points["kernel"] == kernel], kernel, early)
        first.set_title(f"The first {early} iterations")
        first.legend(loc="upper left", frameon=True, framealpha=0.85, edgecolor="none", borderpad=0.3)
        panels = below.subplots(1, len(kernels), sharey=True, squeeze=False)[0]
        for panel, kernel in zip(panels, kernels, strict=True):
            _contours(panel, surface)
            image = _all_steps(panel, points[points["kernel"] == kernel])
            panel.set_title(f"{kernel_name(kernel)}, {int(points['iteration'].max())} iterations")
        below.colorbar(image, ax=list(panels), shrink=0.92, label="iteration")
        for panel in (function, first, *panels):
            _frame(panel, surface, optimum)
        for panel in (function, first, panels[0]):
            panel.set_ylabel("$x_2$")
    return figure


def _contours(axes: Axes, surface: DataFrame, filled: bool = False) -> Any:
    from matplotlib.colors import PowerNorm

    grid = surface.pivot_table(index="x2", columns="x1", values="value")
    norm = PowerNorm(0.5, vmin=0, vmax=float(surface["value"].max()))
    if filled:
        return axes.pcolormesh(grid.columns, grid.index, grid, cmap=SURFACE, norm=norm, shading="gouraud")
    return axes.contour(grid.columns, grid.index, grid, levels=7, colors="#C8C8C8", linewidths=0.6, zorder=1)


def _first_steps(axes: Axes, points: DataFrame, kernel: str, early: int) -> None:
    steps = points[points["iteration"].between(1, early)].sort_values("iteration")
    colour = kernel_colour(kernel)
    axes.plot(steps["x1"], steps["x2"], "-", color=colour, linewidth=0.7, alpha=0.6, zorder=3)
    axes.plot(steps["x1"], steps["x2"], "o", color=colour, markersize=3.5, zorder=4, clip_on=False, label=kernel_name(kernel))
    for number, x1, x2 in zip(steps["iteration"], steps["x1"], steps["x2"], strict=True):
        axes.annotate(
            str(number), (x1, x2), _LABEL_SHIFTS.get(kernel, (4, 3)), textcoords="offset points", color=colour,
            fontsize=8, zorder=5, annotation_clip=False,
        )


def _all_steps(axes: Axes, points: DataFrame) -> Any:
    starts, steps = points[points["iteration"] == 0], points[points["iteration"] > 0]
    axes.plot(starts["x1"], starts["x2"], "s", color=BLACK, markersize=3.5, fillstyle="none", zorder=3, clip_on=False)
    return axes.scatter(
        steps["x1"], steps["x2"], c=steps["iteration"], s=11, cmap="viridis_r", linewidths=0, zorder=4, clip_on=False
    )


def _frame(axes: Axes, surface: DataFrame, optimum: tuple[float, float]) -> None:
    axes.grid(visible=False)
    axes.spines[["top", "right"]].set_visible(True)
    axes.set_xlim(surface["x1"].min(), surface["x1"].max())
    axes.set_ylim(surface["x2"].min(), surface["x2"].max())
    axes.set_aspect("equal")
    axes.set_xlabel("$x_1$")
    axes.plot(*optimum, "*", color=VERMILION, markersize=11, markeredgecolor="white", markeredgewidth=0.7, zorder=6)
