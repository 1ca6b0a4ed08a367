from __future__ import annotations

import pandas as pd

from betabo.lab.plots.selection import PANELS, draw_selection


def test_each_panel_has_the_numbers_of_its_column() -> None:
    rows = [
        {"kernel": kernel, "d": d, "prior ratio": 1.0 + d, "share on faces": d / 10, "boundary distance": 0.125 * d}
        for kernel in ("matern", "rbf")
        for d in (2, 5)
    ]
    rows[3]["prior ratio"] = float("nan")
    figure = draw_selection(pd.DataFrame(rows))
    assert [axes.get_title(loc="left") for axes in figure.axes] == [title for title, _ in PANELS.values()]
    written = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert written == [["3", "6", "3"], ["20%", "50%"] * 2, ["0.25", "0.62"] * 2]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["Matérn", "RBF"]
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["2", "5"]
