from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import sem

from betabo.lab.reproduce import Summary
from betabo.lab.reproduce.compression.tables import (
    QUANTITIES,
    bootstrap_interval,
    differences,
    spread_of_repeats,
)
from lab.reproduce.compression.case import objectives
from stored_searches import SEEDS


@pytest.mark.parametrize("method", ["uniform", "random", "rbf", "matern", "beta-paper", "beta-matern"])
def test_means_are_those_of_the_searches(method: str, stored: Path, drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "summary.csv").set_index(["experiment", "method"])
    acquisition = "" if method in ("random", "uniform") else "ucb"
    values = objectives(stored, "tiny-text", method, acquisition)
    row = table.loc[("tiny-text", method)]
    assert row["objective"] == pytest.approx(np.mean(values))
    assert row["objective_error"] == pytest.approx(sem(values))
    assert row["seeds"] == SEEDS
    assert row["size"] + row["error"] == pytest.approx(row["objective"])
    finals = pd.read_parquet(stored / "finals.parquet")
    finals = finals[(finals["experiment"] == "tiny-text") & (finals["method"] == method)]
    finals = finals[finals["acquisition"] == acquisition]
    assert row["test_f1"] == pytest.approx(finals["test_f1"].mean())
    assert row["latency_cpu"] == pytest.approx(finals["latency_cpu"].mean())
    assert row["objective_on_test"] == pytest.approx((finals["size"] + 1 - finals["test_f1"]).mean())


def test_search_from_levels_is_a_method_of_its_own(stored: Path, drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "summary.csv").set_index(["experiment", "method"])["objective"]
    values = objectives(stored, "tiny-images", "beta-matern", "log_ei")
    assert table["tiny-images", "from-levels"] == pytest.approx(np.mean(values))


def test_the_default_is_shown_where_it_was_run(stored: Path, drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "summary.csv").set_index(["experiment", "method"])["objective"]
    assert table["tiny-text", "default"] == pytest.approx(
        np.mean(objectives(stored, "tiny-text", "beta-additive", "log_ei"))
    )
    assert ("tiny-images", "default") not in table.index
    assert "| betabo's default | 3 |" in (drawn[0] / "table.md").read_text()
    assert table["tiny-images", "beta-matern"] == pytest.approx(
        np.mean(objectives(stored, "tiny-images", "beta-matern"))
    )
    assert "log_ei" not in set(pd.read_csv(drawn[0] / "acquisitions.csv")["acquisition"])


def test_markdown_shows_the_numbers(stored: Path, drawn: tuple[Path, Summary]) -> None:
    text = (drawn[0] / "table.md").read_text()
    head, images, words = text.split("\n## ")
    assert head.startswith("Means ± standard errors")
    assert "6 coordinates; model: tiny; training: steps 7, rate 5e-05\n" in images
    assert "`python search.py tiny-images`" in images
    values = objectives(stored, "tiny-images", "matern")
    assert f"| Matérn | 3 | {np.mean(values):.3f} ± {sem(values):.3f} |" in images
    assert "| Original | 1 | - | 1.000 | - | 0.0 |" in images
    assert "| f1 | CPU latency, ms |" in words
    assert "GPU latency" not in text
    assert "nan" not in text
    ei = objectives(stored, "tiny-text", "beta-paper", "ei")
    (row,) = [line for line in words.splitlines() if line.startswith("| EI |")]
    assert row.split(" | ")[3] == f"{np.mean(ei):.3f} ± {sem(ei):.3f}"
    assert "| EI |" not in images


def test_differences_are_seed_by_seed(stored: Path, drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "differences.csv")
    table = table.set_index(["experiment", "first", "second", "quantity"]).sort_index()
    row = table.loc[("tiny-images", "beta-paper", "matern", "objective")]
    gaps = np.subtract(objectives(stored, "tiny-images", "beta-paper"), objectives(stored, "tiny-images", "matern"))
    assert row["difference"] == pytest.approx(gaps.mean())
    assert (row["wins"], row["seeds"]) == ((gaps < 0).sum(), SEEDS)
    assert (row["low"], row["high"]) == pytest.approx((gaps.min(), gaps.max()))
    parts = [table.loc[("tiny-images", "beta-paper", "matern", name), "difference"] for name in QUANTITIES]
    assert parts[1] + parts[2] == pytest.approx(parts[0])


def test_single_run_is_compared_with_every_seed() -> None:
    rows = [{"method": "rbf", "seed": seed, "objective": 0.5 + seed} for seed in range(4)]
    rows.append({"method": "uniform", "seed": 7, "objective": 1.0})
    ends = pd.DataFrame(rows).assign(experiment="e", size=0.0, error=0.0)
    found = differences(ends)
    row = found[found["quantity"] == "objective"].iloc[0]
    assert (row["first"], row["second"], row["seeds"], row["wins"]) == ("rbf", "uniform", 4, 1)
    assert row["difference"] == pytest.approx(1.0)


def test_spread_of_repeats_is_that_of_equal_points() -> None:
    points = [np.array([0.05, 0.5]), np.array([0.05, 0.5]), np.array([0.05, 0.6]), np.array([0.1, 0.1])]
    table = pd.DataFrame({"experiment": ["e", "e", "e", "other"], "x": points, "objective": [1.0, 1.2, 5.0, 2.0]})
    found = spread_of_repeats(table.assign(failed=False))
    assert found["e"] == pytest.approx(np.std([1.0, 1.2], ddof=1))
    assert np.isnan(found["other"])


def test_interval_is_about_that_of_the_normal_distribution() -> None:
    values = np.random.default_rng(1).normal(2, 1, 400)
    low, high = bootstrap_interval(values)
    assert low == pytest.approx(values.mean() - 1.96 * sem(values), abs=0.01)
    assert high == pytest.approx(values.mean() + 1.96 * sem(values), abs=0.01)


def test_fewer_than_three_seeds_have_no_interval() -> None:
    assert np.isnan(bootstrap_interval(np.array([1.0, 2.0]))).all()
    assert bootstrap_interval(np.array([1.0, 2.0, 3.0])) == (1.0, 3.0)
