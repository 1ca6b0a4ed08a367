from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from betabo.lab.problems import problem_by_name
from betabo.lab.reproduce import (
    Context,
    levy2d,
)
from lab.reproduce.case import campaigns_of, do, names, verdicts


def test_levy2d_measures_where_points_went() -> None:
    steps = [(0, 0.0, 0.0), (1, 1.0, 1.0), (2, 0.55, 0.55), (3, 0.02, 0.5), (30, 0.52, 0.52)]
    run = pd.DataFrame(steps, columns=["iteration", "u1", "u2"])
    run["boundary distance"] = 1 - 2 * (run[["u1", "u2"]] - 0.5).abs().max(axis=1)
    run["regret"] = [5.0, 4.0, 3.0, 3.0, 3.0]
    assert levy2d.measure(run) == {
        "near the boundary": 0.5,
        "near the boundary early": pytest.approx(2 / 3),
        "both corners early": 0.0,  # a starting point does not count
        "central": 0.5,
        "at the optimum": 0.5,
        "cells visited": 0.03,
        "regret": 3.0,
    }


def test_levy2d_draws_the_runs(tmp_path: Path) -> None:
    (campaign,) = campaigns_of("levy2d", "smoke")
    folder = do(replace(campaign, seeds=(0, 1), budget=200), tmp_path / "runs")
    context = Context(tmp_path / "out", "smoke")
    summary = levy2d.summarize(context, folder)
    assert names(tmp_path / "out") == set(context.files)
    points = pd.read_csv(tmp_path / "out/points.csv")
    assert len(points) == 3 * 2 * 200
    assert (points["iteration"] == 0).sum() == 3 * 2 * 6
    problem = problem_by_name("levy-2-centre")
    for _, row in points.sample(5, random_state=0).iterrows():
        assert problem.objective()([row["x1"], row["x2"]]) == pytest.approx(row["value"])
    shares = pd.read_csv(tmp_path / "out/measures.csv")
    for name, share in levy2d.UNIFORM.items():  # random points are as near to everything as uniform ones
        assert shares[name].mean() == pytest.approx(share, abs=0.03)
    assert len(verdicts(summary.claims)) == 4


def test_levy2d_without_all_kernels_makes_no_claim(tmp_path: Path) -> None:
    (campaign,) = campaigns_of("levy2d", "smoke")
    folder = do(replace(campaign, optimizers={"matern": campaign.optimizers["matern"]}), tmp_path / "runs")
    assert levy2d.summarize(Context(tmp_path / "out", "smoke"), folder).claims == ()


@pytest.mark.parametrize(
    ("rbf", "verdict"), [((0.8, 0.7), "holds"), ((0.8, 0.3), "holds in part"), ((0.1, 0.3), "does not hold")]
)
def test_over_exploring_is_judged_seed_by_seed(rbf: tuple[float, float], verdict: str) -> None:
    visited = {"rbf": rbf, "matern": (0.4, 0.5), "beta-paper": (0.3, 0.3)}
    columns = [
        "near the boundary",
        "near the boundary early",
        "both corners early",
        "central",
        "at the optimum",
        "regret",
    ]
    rows = [
        {"kernel": kernel, "seed": seed, "cells visited": share} | dict.fromkeys([*columns, "regret"], 0.5)
        for kernel, shares in visited.items()
        for seed, share in enumerate(shares)
    ]
    measures = pd.DataFrame(rows)
    means = measures.drop(columns="seed").groupby("kernel").mean()
    assert levy2d.compare(means, measures)[1].verdict == verdict
