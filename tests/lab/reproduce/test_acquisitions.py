from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from betabo.lab.bench.results import read_results
from betabo.lab.reproduce import (
    Context,
    acquisitions,
)
from betabo.lab.reproduce.campaigns import ACQUISITIONS
from lab.reproduce.case import campaigns_of, do, names, verdicts


def test_acquisitions_draws_the_runs(tmp_path: Path) -> None:
    (campaign,) = campaigns_of("acquisitions", "smoke")
    folder = do(replace(campaign, seeds=(0, 1)), tmp_path / "runs")
    context = Context(tmp_path / "out", "smoke")
    summary = acquisitions.summarize(context, folder)
    assert names(tmp_path / "out") == set(context.files)
    shares = acquisitions.read_shares(folder)
    assert (shares.loc[shares["iteration"] == 0, "share"] == 1).all()
    assert len(shares) == 10 * 2 * 2 * 4
    results = read_results(folder, columns=[])
    run = results[(results["optimizer"] == "beta-paper+corrected_ei") & (results["problem"] == "levy-14-vertex")]
    regret = run[run["seed"] == 1].set_index("evaluation")["best"]  # Levy's optimal value is zero
    same = shares.query("kernel == 'beta-paper' and acquisition == 'corrected_ei' and placement == 'vertex'")
    last = same[(same["seed"] == 1) & (same["iteration"] == 3)]["share"]
    assert last.item() == pytest.approx(regret[8] / regret[5])
    assert len(verdicts(summary.claims)) == 3


def test_acquisitions_claims_follow_from_the_shares() -> None:
    index = pd.MultiIndex.from_product(
        [("centre", "vertex"), ACQUISITIONS, ("matern", "beta-paper")], names=["placement", "acquisition", "kernel"]
    )
    order = {"ucb": 0.1, "corrected_ei": 0.2, "pi": 0.3, "ei": 0.4, "corrected_pi": 0.5}
    left = pd.Series([order[a] + (0.3 if kernel == "matern" else 0) for _, a, kernel in index], index)
    assert verdicts(acquisitions.compare(left)) == ["holds"] * 3
    left["centre"] = 1 - left["centre"]
    assert verdicts(acquisitions.compare(left)) == ["holds in part"] * 3
    left["vertex"] = 1 - left["vertex"]
    assert verdicts(acquisitions.compare(left)) == ["does not hold"] * 3
    assert acquisitions.compare(left.drop(index=[("centre", "ei", "matern"), ("vertex", "ei", "matern")])) == ()
