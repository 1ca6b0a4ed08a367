from __future__ import annotations

import pandas as pd

from betabo.lab.plots.weights import draw_weights


def test_every_fit_is_a_point_and_every_group_has_its_median() -> None:
    rows = [
        {"d": d, "drawn": drawn, "prior": prior, "fitted": fitted}
        for d in (2, 5)
        for drawn in (0.0, 1.0)
        for prior in ("strong", "weak")
        for fitted in (0.1, 0.9, 0.3 * drawn + 0.1 * d)
    ]
    figure = draw_weights(pd.DataFrame(rows))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["$d$ = 2", "$d$ = 5"]
    medians = [[float(line.get_ydata()[0]) for line in axes.lines if line.get_marker() == "D"] for axes in figure.axes]
    assert [[round(value, 9) for value in panel] for panel in medians] == [[0.2, 0.5, 0.2, 0.5], [0.5, 0.8, 0.5, 0.8]]
    clouds = [line.get_ydata().tolist() for line in figure.axes[0].lines if line.get_marker() == "."]
    assert clouds[0] == [0.1, 0.2, 0.9]
    dashed = [line.get_ydata().tolist() for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    assert dashed == [[0.0, 0.0], [1.0, 1.0]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["strong", "weak"]
