"""The picture of a search beside a plain kernel's, and what is said of it."""

from __future__ import annotations

from types import ModuleType

import pytest

from example_case import EXAMPLES, load_example


@pytest.fixture(scope="module")
def script() -> ModuleType:
    pytest.importorskip("matplotlib")
    return load_example("search_in_a_box")


def test_published_numbers_are_those_of_the_kept_searches(script: ModuleType) -> None:
    pandas = pytest.importorskip("pandas")
    runs = pandas.read_csv(script.RUNS)
    found = script.medians(runs)
    said = " ".join((EXAMPLES.parent / "docs" / "faq.md").read_text(encoding="utf-8").split())
    branin, valley = found.loc[script.DRAWN], found.loc[script.BESIDE]
    assert f"the default is {branin['beta-additive']:.6f} above the lowest value" in said
    assert f"plain Matérn kernel {branin['matern']:.4f}" in said
    assert f"it is {valley['beta-additive']:.3f} and {valley['matern']:.3f}, so" in said
    counts = runs.groupby(["function", "kernel", "seed"]).size()
    assert len(counts) == 2 * 2 * script.SEEDS
    assert set(counts) == {script.BUDGET}


def test_kept_values_are_those_of_the_functions(script: ModuleType) -> None:
    pandas = pytest.importorskip("pandas")
    runs = pandas.read_csv(script.RUNS)
    for name, (function, box, lowest) in script.functions().items():
        for row in runs[runs.function == name].sample(20, random_state=0).itertuples():
            point = [min(max(x, low), high) for x, (low, high) in zip((row.x0, row.x1), box, strict=True)]
            assert point == pytest.approx([row.x0, row.x1])  # kept with ten digits
            assert function(point) - lowest == pytest.approx(row.regret, rel=1e-5, abs=1e-7)


def test_the_picture_has_every_moment_and_all_seeds(script: ModuleType) -> None:
    pandas = pytest.importorskip("pandas")
    figure = script.draw(pandas.read_csv(script.RUNS))
    *boxes, ends = figure.axes
    assert len(boxes) == 2 * len(script.SNAPSHOTS)
    assert [line.get_label() for line in ends.lines] == list(script.KERNELS.values())
