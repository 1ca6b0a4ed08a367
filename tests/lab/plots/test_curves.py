from __future__ import annotations

import numpy as np
import pandas as pd

from betabo.lab.plots.curves import draw_acquisitions, draw_bandwidths, draw_convergence_and_distance, draw_mean
from betabo.lab.plots.style import new_figure


def curve(**names: object) -> pd.DataFrame:
    return pd.DataFrame({"iteration": [1, 2, 3], "mean": [3.0, 2.0, 1.0], "standard_error": [0.5, 0.5, 0.25]}).assign(
        **names
    )


def test_mean_has_a_band_of_one_standard_error() -> None:
    axes = new_figure(3, 3).subplots()
    draw_mean(axes, curve(), "red", "a name")
    (line,) = axes.lines
    assert line.get_xydata().tolist() == [[1, 3], [2, 2], [3, 1]]
    assert line.get_label() == "a name"
    corners = axes.collections[0].get_paths()[0].vertices
    assert {2.5, 3.5, 0.75, 1.25} <= set(corners[:, 1])


def test_single_run_has_no_band() -> None:
    axes = new_figure(3, 3).subplots()
    draw_mean(axes, curve(standard_error=np.nan), "red", "a name")
    corners = axes.collections[0].get_paths()[0].vertices
    assert set(corners[:, 1]) == {1.0, 2.0, 3.0}


def test_convergence_has_a_column_a_number_of_dimensions_and_weight() -> None:
    best = pd.concat(
        [curve(dim=d, weight=w, kernel=k) for d in (8, 4) for w in (4.0, 0.1) for k in ("matern", "beta-paper")]
    )
    best.loc[(best["dim"] == 8) & (best["weight"] == 4), "mean"] = 7.0
    figure = draw_convergence_and_distance(best, best.assign(mean=0.1))
    above, below = figure.axes[:4], figure.axes[4:]
    titles = ["$d$ = 4, weight 0.1", "$d$ = 4, weight 4", "$d$ = 8, weight 0.1", "$d$ = 8, weight 4"]
    assert [axes.get_title(loc="left") for axes in above] == titles
    assert above[0].get_yscale() == "log"
    assert below[0].get_yscale() == "linear"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["Matérn", "Beta"]
    assert all(len(axes.lines) == 2 for axes in figure.axes)
    assert [axes.lines[0].get_ydata()[0] for axes in above] == [3, 3, 3, 7]


def test_bandwidths_show_every_run_and_their_median() -> None:
    t = [1, 2, 3]
    runs = [
        pd.DataFrame({"kernel": k, "seed": s, "iteration": t, "h1": 0.1, "h2": 1.0 + s, "boundary weight": 0.5})
        for k in ("beta-paper", "beta")
        for s in (0, 1)
    ]
    paths = pd.concat(runs)
    medians = paths.groupby(["kernel", "iteration"])[["h1", "h2", "boundary weight"]].median().reset_index()
    paper, learned, weight = draw_bandwidths(paths, medians).axes
    assert [len(axes.lines) for axes in (paper, learned, weight)] == [6, 6, 3]
    thick = [line for line in paper.lines if line.get_linewidth() == 2]
    assert [line.get_ydata().tolist() for line in thick] == [[0.1] * 3, [1.5] * 3]


def test_acquisitions_have_a_row_a_placement_and_a_column_a_function() -> None:
    curves = pd.concat(
        [curve(placement=p, acquisition=a, kernel="matern") for p in ("centre", "vertex") for a in ("ei", "ucb")]
    )
    figure = draw_acquisitions(curves)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["UCB", "EI", "", ""]
    assert [axes.get_ylabel() for axes in figure.axes] == ["the usual box", "", "optimum near a vertex", ""]
