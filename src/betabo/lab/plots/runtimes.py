"""How many targets are reached after how many evaluations, as COCO draws it."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from betabo.lab.plots.log_axis import make_logarithmic
from betabo.lab.plots.style import COLOURS, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

_DASHES = ("-", "--", ":")


def draw_runtimes(curves: DataFrame, budgets: dict[str, float]) -> Figure:
    """A panel a suite and a curve an optimizer, on a logarithmic axis of evaluations for each coordinate.

    Args:
        curves: Columns `suite`, `optimizer`, `evaluations` and `share`, in the order of the evaluations.
        budgets: Evaluations for each coordinate that a curve goes on to, by suite.
    """
    names = sorted(curves["optimizer"].unique())
    looks = [{"color": colour, "linestyle": dashes} for dashes in _DASHES for colour in COLOURS]
    look = dict(zip(names, cycle(looks), strict=False))
    with style():
        figure = new_figure(6.4, 0.5 + 2.6 * len(budgets))
        panels = figure.subplots(len(budgets), 1, squeeze=False).flatten()
        for panel, (suite, budget) in zip(panels, budgets.items(), strict=True):
            for name, part in curves[curves["suite"] == suite].groupby("optimizer"):
                x, y = part["evaluations"].tolist(), part["share"].tolist()
                panel.step([*x, budget], [*y, y[-1]], where="post", label=name, **look[str(name)])
            panel.set_title(suite)
            panel.set_ylim(0, 1)
            make_logarithmic(panel, "x")
        panels[-1].set_xlabel("evaluations / d")
        figure.supylabel("share of runs and targets", fontsize=10)
        legend = {text: line for panel in panels for line, text in zip(*panel.get_legend_handles_labels(), strict=True)}
        figure.legend(legend.values(), legend.keys(), loc="outside right upper")
    return figure
