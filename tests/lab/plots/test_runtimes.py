from __future__ import annotations

import pandas

from betabo.lab.plots.runtimes import draw_runtimes


def test_a_suite_is_a_panel_and_an_optimizer_a_curve_up_to_the_budget() -> None:
    rows = [("a", "x", 1.0, 0.2), ("a", "x", 4.0, 0.5), ("a", "y", 2.0, 0.1), ("b", "x", 1.0, 0.3)]
    curves = pandas.DataFrame(rows, columns=["suite", "optimizer", "evaluations", "share"])
    first, second = draw_runtimes(curves, {"a": 15.0, "b": 5.0}).axes
    assert [panel.get_title(loc="left") for panel in (first, second)] == ["a", "b"]
    lines = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in first.lines}
    assert lines == {"x": ([1.0, 4.0, 15.0], [0.2, 0.5, 0.5]), "y": ([2.0, 15.0], [0.1, 0.1])}
    assert len({(line.get_color(), line.get_linestyle()) for line in first.lines}) == 2
    assert second.lines[0].get_color() == first.lines[0].get_color()
