from __future__ import annotations

import numpy as np
import pandas as pd

from betabo.lab.plots.compression import draw_acquisition_objectives, draw_objectives


def curves(*methods: str, **names: object) -> pd.DataFrame:
    parts = [
        pd.DataFrame({"method": m, "iteration": [0, 1], "mean": [1.0, 0.5 + i], "standard_error": [np.nan, 0.1]})
        for i, m in enumerate(methods)
    ]
    return pd.concat(parts).assign(**names)


def test_objectives_of_all_methods_with_the_best_level_as_a_line() -> None:
    table = pd.concat([curves("matern", "random", experiment="a"), curves("rbf", experiment="b")])
    figure = draw_objectives(table, {"a": 0.7}, {"a": "First", "b": "Second"})
    first, second = figure.axes
    assert [axes.get_title(loc="left") for axes in (first, second)] == ["First", "Second"]
    lines = {line.get_label(): line for line in first.lines}
    assert set(lines) == {"Random search", "Matérn", "One ratio for all"}
    assert lines["One ratio for all"].get_ydata() == [0.7, 0.7]
    assert lines["Random search"].get_linestyle() == "--"
    assert len(first.collections) == 1  # the band of the only method with a model
    assert [line.get_label() for line in second.lines] == ["RBF"]
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert shown == ["One ratio for all", "Random search", "RBF", "Matérn"]


def test_panels_without_an_experiment_are_empty() -> None:
    table = pd.concat([curves("rbf", experiment=str(i)) for i in range(4)])
    figure = draw_objectives(table, {}, {str(i): str(i) for i in range(4)})
    assert [axes.axison for axes in figure.axes] == [True] * 4 + [False] * 2


def test_acquisition_functions_are_columns() -> None:
    table = pd.concat([curves("rbf", experiment=e, acquisition=a) for e in "ab" for a in ("pi", "ucb")])
    figure = draw_acquisition_objectives(table, {"a": "First", "b": "Second"})
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["UCB", "PI", "", ""]
    assert [axes.get_ylabel() for axes in figure.axes] == ["First", "", "Second", ""]
