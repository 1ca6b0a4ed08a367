"""Figures of a campaign, drawn from tables."""

from __future__ import annotations

import math
from itertools import cycle, product
from typing import TYPE_CHECKING, Any

from betabo.lab.bench.extras import require
from betabo.lab.bench.statistics import Comparison
from betabo.lab.plots.style import BLACK, COLOURS, KERNEL_COLOURS, new_figure, style

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHES = ("-", "--", ":", "-.")


def draw_convergence(curves: pandas.DataFrame, label: str = "regret") -> Figure:
    """Mean after each evaluation with a band of one standard error, a panel a problem.

    Args:
        curves: The table of `betabo.lab.bench.statistics.convergence`.
        label: What the means are. `"regret"` has a logarithmic axis.
    """
    looks = _looks(curves["optimizer"])
    problems = [str(name) for name in curves["problem"].cat.categories]
    columns = _columns(curves, len(problems))
    rows = math.ceil(len(problems) / columns)
    with style():
        figure = new_figure(3.1 * columns + 0.4, 2.3 * rows + 0.6)
        panels = figure.subplots(rows, columns, squeeze=False).flatten()
        for panel, problem in zip(panels, problems, strict=False):
            for name, part in curves[curves["problem"] == problem].groupby("optimizer", observed=True):
                x, mean, error = part["evaluation"], part["mean"], part["standard_error"].fillna(0)
                panel.plot(x, mean, label=name, **looks[str(name)])
                panel.fill_between(x, mean - error, mean + error, color=looks[str(name)]["color"], alpha=0.18, lw=0)
            panel.set_title(problem)
            panel.locator_params(axis="x", integer=True)
            if label == "regret":
                _make_logarithmic(panel, curves[curves["problem"] == problem])
        for panel in panels[len(problems) :]:
            panel.remove()
        figure.supxlabel("evaluations", fontsize=10)
        figure.supylabel(label, fontsize=10)
        handles, names = panels[0].get_legend_handles_labels()
        across = int(figure.get_figwidth() / (0.6 + 0.09 * max(map(len, names))))
        figure.legend(handles, names, loc="outside upper center", ncols=max(1, min(across, len(names))))
    return figure


def draw_ranks(curves: pandas.DataFrame) -> Figure:
    """Mean rank of each optimizer after each evaluation with a band of one standard error, 1 the best.

    Args:
        curves: The table of `betabo.lab.bench.statistics.rank_curves`.
    """
    names = list(dict.fromkeys(curves["optimizer"]))
    looks = _looks(names)
    with style():
        figure = new_figure(6.2, 3.2)
        panel = figure.subplots()
        for name in names:
            part = curves[curves["optimizer"] == name]
            x, rank, error = part["evaluation"], part["rank"], part["standard_error"].fillna(0)
            panel.plot(x, rank, label=name, **looks[name])
            panel.fill_between(x, rank - error, rank + error, color=looks[name]["color"], alpha=0.18, lw=0)
        panel.set_xlabel("evaluations")
        panel.set_ylabel("mean rank, 1 is the best")
        panel.set_ylim(len(names) + 0.2, 0.8)
        panel.set_yticks(range(1, len(names) + 1))
        panel.locator_params(axis="x", integer=True)
        figure.legend(loc="outside right upper")
    return figure


def draw_critical_difference(comparison: Comparison, alpha: float = 0.05) -> Figure:
    """Mean ranks on a line; bars join optimizers that do not differ significantly.

    Args:
        comparison: The comparison; its p-values are those of Wilcoxon's test after Holm's correction.
        alpha: Level of significance.
    """
    posthocs = require("scikit_posthocs")
    count = len(comparison.ranks)
    with style():
        figure = new_figure(6.4, 1.3 + 0.28 * count)
        panel = figure.subplots()
        panel.grid(visible=False)
        panel.spines["top"].set_visible(True)
        posthocs.critical_difference_diagram(
            comparison.ranks,
            comparison.p_matrix(),
            alpha=alpha,
            ax=panel,
            label_fmt_left="{label} ({rank:.2f})  ",
            label_fmt_right="  ({rank:.2f}) {label}",
            elbow_props={"color": BLACK, "linewidth": 1.0, "clip_on": False},
            marker_props={"s": 18},
            crossbar_props={"color": COLOURS[0], "linewidth": 4, "solid_capstyle": "round"},
            text_h_margin=0.08 * count,
        )
        panel.set_xlim(1, count)
        panel.set_xticks(range(1, count + 1))
        panel.set_title(f"Mean rank. Bars join what does not differ at {alpha:g} (Wilcoxon, Holm).", pad=14)
    return figure


def _looks(names: Any) -> dict[str, dict[str, Any]]:
    """A colour and dashes for each optimizer: kernels have their own, the others what is left, then other dashes."""
    order = [str(name) for name in (names.cat.categories if hasattr(names, "cat") else names)]
    looks = {name: {"color": KERNEL_COLOURS[name], "linestyle": "-"} for name in order if name in KERNEL_COLOURS}
    taken = {look["color"] for look in looks.values()}
    free = [
        {"color": colour, "linestyle": dashes}
        for dashes, colour in product(_DASHES, COLOURS)
        if dashes != "-" or colour not in taken
    ]
    looks.update(zip((name for name in order if name not in looks), cycle(free), strict=False))
    return looks


def _columns(curves: pandas.DataFrame, count: int) -> int:
    """As many panels side by side as there are placements, if each function has all of them."""
    placements = curves["placement"].nunique()
    return int(placements) if placements > 1 and count % placements == 0 else min(3, count)


def _make_logarithmic(panel: Axes, part: pandas.DataFrame) -> None:
    """A logarithmic axis with limits by the means, so that a band that reaches down to zero does not stretch it."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    panel.set_yscale("log", nonpositive="clip")
    positive = part.loc[part["mean"] > 0, "mean"]
    if positive.empty:
        return
    low, high = positive.min() / 1.6, (part["mean"] + part["standard_error"].fillna(0)).max() * 1.2
    panel.set_ylim(low, high)
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 100 else (1.0,)))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
