"""Figures of a search."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from betabo import Categorical, Float, Int, minimize
from betabo.optimizer import SearchResult

pytest.importorskip("matplotlib", reason="`make dev` installs it")

SPACE = {"rate": Float(1e-4, 1e-1, log=True), "n": Int(1, 5), "act": Categorical(["relu", "tanh"])}


def mixed(point: dict[str, Any]) -> float:
    return float(4 * (math.log10(point["rate"]) + 2) ** 2 + 0.1 * abs(point["n"] - 3) + 0.2 * (point["act"] == "relu"))


@pytest.fixture(scope="module")
def result() -> SearchResult:
    return minimize(mixed, space=SPACE, budget=14, seed=0)


def test_all_at_once(result: SearchResult, tmp_path: Path) -> None:
    figure = result.plot()
    assert [axes.get_title() for axes in figure.axes[:3]] == ["Convergence", "Importance", "rate"]
    assert {axes.get_title() for axes in figure.axes} >= {"n", "act"}
    figure.savefig(tmp_path / "search.png")
    assert (tmp_path / "search.png").stat().st_size > 10_000


def test_the_line_of_convergence_is_the_best_so_far(result: SearchResult) -> None:
    (axes,) = result.plot("convergence").axes
    assert list(axes.lines[1].get_ydata()) == [row["best"] for row in result.rows()]


def test_the_most_important_parameter_comes_first(result: SearchResult) -> None:
    (axes,) = result.plot(["importance"]).axes
    bars = {label.get_text(): bar.get_width() for label, bar in zip(axes.get_yticklabels(), axes.patches, strict=True)}
    assert max(bars, key=lambda name: bars[name]) == "rate"
    assert bars["rate"] > 0.7
    assert bars["n"] < 0.2


def test_a_slice_goes_through_the_best_point(result: SearchResult) -> None:
    axes = next(axes for axes in result.plot("slices").axes if axes.get_title() == "rate")
    assert axes.get_xscale() == "log"
    model, _, best = axes.lines
    assert (best.get_xdata()[0], best.get_ydata()[0]) == (result.x["rate"], result.fun)
    pairs = zip(model.get_xdata(), model.get_ydata(), strict=True)
    near = min(pairs, key=lambda pair: abs(math.log(pair[0] / result.x["rate"])))
    assert near[1] == pytest.approx(result.fun, abs=0.3)


def test_a_front_and_its_volume() -> None:
    found = minimize(
        lambda x: {"a": x[0] ** 2, "b": (x[0] - 1) ** 2},
        [(0, 1), (0, 1)],
        objectives={"a": "minimize", "b": "minimize"},
        budget=8,
        seed=0,
    )
    convergence, front = found.plot(["convergence", "front"]).axes
    assert convergence.get_ylabel() == "hypervolume"
    assert len(front.lines[1].get_xdata()) == len(found.front)


def test_what_cannot_be_drawn(result: SearchResult) -> None:
    with pytest.raises(ValueError, match=r"kind is 'slice', expected some of convergence.*Did you mean 'slices'"):
        result.plot("slice")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one objective, expected several for a front"):
        result.plot("front")
    failed = minimize(lambda x: math.nan, [(0, 1)], budget=2, seed=0, on_error="record")
    with pytest.raises(ValueError, match="no evaluation has succeeded"):
        failed.plot()
