from __future__ import annotations

import pandas as pd
from matplotlib.colors import to_hex

from betabo.lab.plots.peer_ratios import draw_peer_ratios
from betabo.lab.plots.style import BLUE, VERMILION


def test_ratios_have_their_interval_and_are_blue_where_the_optimizer_is_ahead() -> None:
    rows = [("levy", "turbo", 0.5, 0.4, 0.7), ("ackley", "ax", 2.0, 1.5, 3.0)]
    figure = draw_peer_ratios(pd.DataFrame(rows, columns=["problem", "peer", "ratio", "low", "high"]), "a title")
    (axes,) = figure.axes
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in dots] == [(0.5, 0), (2.0, 1)]
    assert [to_hex(line.get_color()).upper() for line in dots] == [BLUE, VERMILION]
    intervals = [list(line.get_xdata()) for line in axes.lines if line.get_marker() == "None"]
    assert intervals[1:] == [[0.4, 0.7], [1.5, 3.0]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["levy, turbo", "ackley, ax"]
    assert axes.get_xscale() == "log"
    assert axes.get_title(loc="left") == "a title"
