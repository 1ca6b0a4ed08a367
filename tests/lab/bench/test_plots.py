from __future__ import annotations

import numpy as np
import pandas
import pytest

from betabo.lab.bench.plots import draw_convergence, draw_critical_difference, draw_ranks
from betabo.lab.bench.results import read_results, values_at
from betabo.lab.bench.statistics import compare, convergence, rank_curves
from betabo.lab.plots.style import KERNEL_COLOURS


@pytest.fixture(scope="module")
def results(tiny_folder):
    return read_results(tiny_folder, columns=[])


def test_convergence_has_a_panel_a_problem_and_a_curve_an_optimizer(results) -> None:
    curves = convergence(results)
    figure = draw_convergence(curves)
    assert [panel.get_title(loc="left") for panel in figure.axes] == ["levy-2-vertex", "branin-2-centre-noise0.5"]
    for panel in figure.axes:
        assert panel.get_yscale() == "log"
        assert [line.get_label() for line in panel.lines] == ["beta", "matern", "random"]
        assert len(panel.collections) == 3
        part = curves[(curves["problem"] == panel.get_title(loc="left")) & (curves["optimizer"] == "matern")]
        np.testing.assert_allclose(panel.lines[1].get_ydata(), part["mean"])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["beta", "matern", "random"]


def test_best_values_have_a_linear_axis(results) -> None:
    figure = draw_convergence(convergence(results, "best"), label="best value")
    assert {panel.get_yscale() for panel in figure.axes} == {"linear"}


def test_ranks_have_the_best_on_top(results) -> None:
    curves = rank_curves(results)
    (panel,) = draw_ranks(curves).axes
    bottom, top = panel.get_ylim()
    assert bottom > 3 > 1 > top
    for line in panel.lines:
        np.testing.assert_allclose(line.get_ydata(), curves[curves["optimizer"] == line.get_label()]["rank"])


def test_critical_differences_show_every_rank(results) -> None:
    comparison = compare(values_at(results), "run")
    (panel,) = draw_critical_difference(comparison).axes
    shown = {text.get_text().strip() for text in panel.texts}
    for name, rank in comparison.ranks.items():
        assert {f"{name} ({rank:.2f})", f"({rank:.2f}) {name}"} & shown


def test_optimizers_look_different_and_kernels_as_everywhere() -> None:
    names = ["random", "beta", *(f"peer-{i}" for i in range(12)), "matern"]
    curves = pandas.DataFrame({"optimizer": names, "evaluation": 1, "rank": 1.0, "standard_error": 0.0})
    (panel,) = draw_ranks(curves).axes
    looks = {line.get_label(): (line.get_color(), line.get_linestyle()) for line in panel.lines}
    assert len(set(looks.values())) == len(names)
    assert looks["beta"] == (KERNEL_COLOURS["beta"], "-")
    assert looks["matern"] == (KERNEL_COLOURS["matern"], "-")
