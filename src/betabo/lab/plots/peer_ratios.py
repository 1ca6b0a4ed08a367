"""One optimizer beside the best of its peers, problem by problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from betabo.lab.plots.log_axis import make_logarithmic
from betabo.lab.plots.style import BLUE, GREY, VERMILION, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


def draw_peer_ratios(ratios: DataFrame, title: str) -> Figure:
    """A dot a problem with its interval, on a logarithmic axis; left of 1 the optimizer is better than every peer.

    Args:
        ratios: Columns `problem`, `peer`, `ratio`, `low`, `high`, in the order in which they are drawn.
        title: Title of the figure.
    """
    places = list(range(len(ratios)))
    with style():
        figure = new_figure(7.4, 0.24 * len(ratios) + 1.2)
        panel = figure.subplots()
        panel.axvline(1.0, color=GREY, linewidth=1.0)
        for place, row in zip(places, ratios.itertuples(), strict=True):
            colour = BLUE if row.ratio <= 1 else VERMILION
            panel.plot([row.low, row.high], [place, place], color=colour, linewidth=1.2)
            panel.plot(row.ratio, place, "o", color=colour, markersize=5)
        panel.set_yticks(places, [f"{row.problem}, {row.peer}" for row in ratios.itertuples()])
        panel.set_ylim(len(ratios) - 0.4, -0.6)
        panel.tick_params(axis="y", length=0)
        panel.set_xlabel("regret relative to the best peer, named at the left")
        make_logarithmic(panel, "x")
        panel.set_title(title)
    return figure
