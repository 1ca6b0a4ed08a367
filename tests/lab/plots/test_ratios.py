from __future__ import annotations

import numpy as np
import pandas as pd

from betabo.lab.plots.ratios import draw_ratio_densities, draw_ratio_maps


def test_densities_have_a_panel_a_method_and_the_best_point_dashed() -> None:
    rows = [
        {"method": method, "iteration": iteration, "ratio": ratio, "density": 1.0 + ratio}
        for method in ("beta-paper", "rbf")
        for iteration in (1, 10, np.nan)
        for ratio in (0.05, 0.5, 0.95)
    ]
    figure = draw_ratio_densities(pd.DataFrame(rows), "a title")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["RBF", "Beta (paper)"]
    for axes in figure.axes:
        assert [line.get_label() for line in axes.lines] == ["iteration 1", "iteration 10", "best point"]
        assert [line.get_linestyle() for line in axes.lines] == ["-", "-", "--"]
        assert axes.get_xlim() == (0.05, 0.95)
    assert figure.get_suptitle() == "a title"


def test_maps_leave_places_without_a_layer_empty() -> None:
    ratios = pd.DataFrame(
        {"method": "rbf", "column": ["0", "0", "1"], "row": ["Q", "K", "Q"], "ratio": [0.1, 0.2, 0.9]}
    )
    axes, *_ = draw_ratio_maps(ratios, (0.05, 0.95), "a title").axes
    grid = np.ma.filled(axes.images[0].get_array(), np.nan)
    np.testing.assert_allclose(grid, [[0.1, 0.9], [0.2, np.nan]])
    assert [text.get_text() for text in axes.texts] == ["10", "90", "20"]
