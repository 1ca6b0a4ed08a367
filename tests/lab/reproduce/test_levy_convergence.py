from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from betabo.lab.bench.results import read_results
from betabo.lab.reproduce import (
    Context,
    levy_convergence,
)
from lab.reproduce.case import campaigns_of, do, names, verdicts


def test_levy_convergence_draws_the_runs(tmp_path: Path) -> None:
    for campaign in campaigns_of("levy-convergence", "smoke"):
        do(replace(campaign, seeds=(0, 1, 2)), tmp_path / "runs")
    context = Context(tmp_path / "out", "smoke")
    summary = levy_convergence.summarize(context, tmp_path / "runs")
    assert names(tmp_path / "out") == set(context.files)
    best = pd.read_csv(tmp_path / "out/best.csv")
    assert len(best) == 2 * 3 * 2 * 8
    results = read_results(tmp_path / "runs", columns=[])
    chosen = (results["dim"] == 8) & (results["optimizer"] == "matern+4") & (results["evaluation"] == 24 + 3)
    of_matern = (best["dim"] == 8) & (best["kernel"] == "matern") & (best["weight"] == 4)
    row = best[of_matern & (best["iteration"] == 3)].iloc[0]
    assert row["mean"] == pytest.approx(results.loc[chosen, "best"].mean())
    assert row["standard_error"] == pytest.approx(results.loc[chosen, "best"].std() / np.sqrt(3))
    assert len(verdicts(summary.claims)) == 3 * 4


def test_seeds_come_one_after_another_with_all_weights() -> None:
    campaigns = campaigns_of("levy-convergence", "paper")
    assert [campaign.seeds for campaign in campaigns] == [(seed,) for seed in range(10) for _ in (4, 8)]
    names = {f"{kernel}+{weight}" for kernel in ("matern", "beta-paper") for weight in ("0.1", "1", "4")}
    assert {frozenset(campaign.optimizers) for campaign in campaigns} == {frozenset(names)}


def test_levy_convergence_claims_follow_from_the_measures() -> None:
    def means(early: tuple[float, ...], end: tuple[float, ...], distance: tuple[float, ...], near: tuple[float, ...]):
        index = pd.MultiIndex.from_product([(4, 8), ("matern", "beta-paper")], names=["dim", "kernel"])
        columns = ("best early", "best at the end", "boundary distance", "iterations near the boundary", "iterations")
        return pd.DataFrame(dict(zip(columns, (early, end, distance, near, (100.0,) * 4), strict=True)), index=index)

    as_claimed = means((1, 2, 3, 4), (1, 0.5, 2, 1), (0.5, 0.1, 0.5, 0.1), (5, 50, 6, 90))
    assert verdicts(levy_convergence.compare_under(as_claimed, 4.0)) == ["holds"] * 4
    otherwise = means((2, 1, 3, 4), (1, 2, 1, 2), (0.1, 0.2, 0.1, 0.2), (5, 50, 6, 50))
    assert verdicts(levy_convergence.compare_under(otherwise, 4.0)) == ["holds in part", *["does not hold"] * 3]
    saturated = means((1, 2, 3, 4), (1, 0.5, 2, 1), (0.5, 0.1, 0.5, 0.1), (5, 95, 6, 100))
    assert verdicts(levy_convergence.compare_under(saturated, 4.0))[-1] == "holds in part"
    assert len(levy_convergence.compare_under(as_claimed.loc[[8]], 4.0)) == 3
    assert levy_convergence.compare_under(as_claimed.drop(index=[(4, "matern"), (8, "matern")]), 4.0) == ()
    both = pd.concat({0.1: as_claimed, 4.0: otherwise}, names=["weight"]).reorder_levels(["dim", "weight", "kernel"])
    claims = levy_convergence.compare(both)
    assert [claim.text.split(",")[0] for claim in claims] == ["with weight 0.1"] * 4 + ["with weight 4"] * 4
    assert verdicts(claims[:4]) == ["holds"] * 4


def test_the_page_has_the_numbers_of_the_committed_searches() -> None:
    root = Path(__file__).parents[3]
    kept, page = (
        root / "docs/reproduction/levy-convergence",
        (root / "docs/reproduction.md").read_text(encoding="utf-8"),
    )
    assert (kept / "table.md").read_text() in page
    best = pd.read_csv(kept / "best.csv").query("kernel == 'beta-paper'")
    idle = [int((run["mean"] >= run["mean"].iloc[0]).sum()) for _, run in best.groupby(["dim", "weight"])]
    said = re.search(r"In its first (\d+) to (\d+) iterations it finds nothing better", page)
    assert said is not None
    assert [int(number) for number in said.groups()] == [min(idle), max(idle)]
    distance = pd.read_csv(kept / "measures.csv").pivot_table("boundary distance", ["dim", "weight"], "kernel")
    assert (distance["beta-paper"] < distance["matern"]).sum() == 4
    assert "in four cases of six" in page
