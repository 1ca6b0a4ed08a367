from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import trapezoid

from betabo.lab.plots.ratios import draw_ratio_maps
from betabo.lab.reproduce import Summary
from betabo.lab.reproduce.compression.ratios import best_layers, density, describe, visits
from betabo.lab.reproduce.compression.results import (
    read_stored,
)
from betabo.lab.reproduce.compression.tables import (
    KERNELS,
    MODELS,
)
from stored_searches import SEEDS, TRIALS


def test_strategies_count_ratios_near_the_bounds(stored: Path) -> None:
    experiment = read_stored(stored).experiments["tiny-images"]
    x = np.array([0.05, 0.1, 0.11, 0.6, 0.9, 0.89], dtype=np.float32)
    ends = pd.DataFrame({"experiment": ["e"], "method": ["rbf"], "acquisition": ["ucb"], "seed": [0], "x": [x]})
    row = describe(ends, experiment).iloc[0]
    assert row["mean ratio"] == pytest.approx(2.65 / 6)
    assert row["near a bound"] == pytest.approx(3 / 6)
    assert row["near the lower bound"] == pytest.approx(2 / 6)
    assert row["above the middle"] == pytest.approx(3 / 6)


def test_visits_are_of_iterations_alone(stored: Path) -> None:
    experiment = read_stored(stored).experiments["tiny-images"]
    points = [np.full(6, 0.05)] * 5 + [np.array([0.05, 0.1, 0.3, 0.4, 0.5, 0.6]), np.full(6, 0.9)]
    names = {"experiment": "e", "method": "rbf", "acquisition": "ucb", "seed": 0}
    table = pd.DataFrame({"trial": range(7), "x": points}).assign(**names)
    (row,) = visits(pd.concat([table, table.assign(method="uniform")]), experiment).to_dict("records")
    assert row["method"] == "rbf"
    assert row["visited near a bound"] == pytest.approx((2 / 6 + 1) / 2)


@pytest.mark.parametrize(
    ("sample", "share"),
    [([0.05] * 8 + [0.95] * 2, 0.8), ([0.05] * 10, 1.0), ([0.3, 0.4, 0.5, 0.9], 0.75)],
    ids=["on both bounds", "all equal", "inside"],
)
def test_density_integrates_to_one_and_keeps_what_lies_on_the_bounds(sample: list[float], share: float) -> None:
    places, values = density(np.array(sample), (0.05, 0.95))
    assert (places[0], places[-1]) == (0.05, 0.95)
    assert (values >= 0).all()
    assert trapezoid(values, places) == pytest.approx(1, abs=0.02)
    left = places <= 0.6
    assert trapezoid(values[left], places[left]) == pytest.approx(share, abs=0.12)


def test_density_falls_from_the_bound_where_all_ratios_lie() -> None:
    _, values = density(np.full(72, 0.05), (0.05, 0.95))
    assert (np.diff(values) <= 0).all()
    assert values[0] > 50 * values[len(values) // 2]


def test_densities_are_of_all_seeds_at_each_iteration(drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "densities.csv")
    assert set(table["seeds"]) == {SEEDS}
    assert set(table["iteration"].dropna()) == {1, 10}
    assert TRIALS - 4 < 20
    assert set(table["method"]) == set(MODELS)


def test_map_has_the_best_seed_of_each_kernel(stored: Path, drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "ratios.csv")
    searches = pd.read_parquet(stored / "searches.parquet")
    for experiment, dimension in (("tiny-images", 6), ("tiny-text", 4)):
        chosen = (searches["experiment"] == experiment) & (searches["method"] == "matern")
        best = searches.loc[searches.loc[chosen & (searches["acquisition"] == "ucb"), "objective"].idxmin()]
        rows = table[(table["experiment"] == experiment) & (table["method"] == "matern")]
        assert len(rows) == dimension
        assert set(rows["seed"]) == {best["seed"]}
        np.testing.assert_allclose(rows["ratio"], best["x"], rtol=1e-6)


def test_layers_stand_by_block_and_role(stored: Path, drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "ratios.csv", dtype={"column": str})
    rows = table[table["method"] == "rbf"]
    layers = rows[rows["experiment"] == "tiny-images"]
    assert layers["column"].to_list() == ["0"] * 3 + ["1"] * 3
    assert layers["row"].to_list() == ["Q", "K", "FC1"] * 2
    blocks = rows[rows["experiment"] == "tiny-text"]
    assert blocks["column"].to_list() == ["0", "1", "2", "classifier"]
    assert set(blocks["row"]) == {"all layers"}


def test_layers_of_one_role_in_a_block_are_numbered(stored: Path) -> None:
    experiment = replace(read_stored(stored).experiments["tiny-images"], roles=("Q", "FC", "FC") * 2)
    ends = pd.DataFrame({"method": ["rbf"], "seed": [0], "objective": [1.0], "x": [np.linspace(0.05, 0.95, 6)]})
    layers = best_layers(ends, experiment, KERNELS)
    assert layers["row"].to_list() == ["Q", "FC", "FC (2)"] * 2
    (panel, _) = draw_ratio_maps(layers, (0.05, 0.95), "title").axes
    np.testing.assert_allclose(panel.images[0].get_array(), np.linspace(0.05, 0.95, 6).reshape(2, 3).T)
    assert [text.get_text() for text in panel.texts] == ["5", "59", "23", "77", "41", "95"]
