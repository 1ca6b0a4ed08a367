from __future__ import annotations

import math
import re
from pathlib import Path

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
import torch

from betabo.kernels.catalogue import KERNELS, make_kernel
from betabo.lab.reproduce import Context, selection_profile
from betabo.lab.reproduce.selection_profile import DIMS, FACE, chosen, lowest_bound, prior_ratio, uniform
from lab.reproduce.case import names, verdicts
from oracles import log_paper_kernel

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("dims", [1, 4])
def test_prior_ratio_is_that_of_the_definition(dims: int) -> None:
    kernel = make_kernel("beta-paper", dims).double()
    h = kernel.base_kernel.bandwidth.detach().flatten().tolist()
    logs = [log_paper_kernel([x] * dims, [x] * dims, h) for x in (0, 0.5)]
    assert prior_ratio(kernel, dims) == pytest.approx(float(mp.exp((logs[0] - logs[1]) / 2)))


@pytest.mark.parametrize("kernel", ["matern", "rbf", "beta-correlation"])
def test_stationary_kernels_and_weight_zero_have_a_flat_prior(kernel: str) -> None:
    assert prior_ratio(make_kernel(kernel, 5).double(), 5) == pytest.approx(1)


@pytest.mark.parametrize("name", KERNELS)
def test_no_point_of_the_cube_has_a_lower_bound_than_the_chosen_one(name: str) -> None:
    kernel = make_kernel(name, 2).double()
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(6, 2, generator=generator, dtype=torch.float64)
    y = torch.randn(6, generator=generator, dtype=torch.float64)
    point = lowest_bound(kernel, x, y, seed=0)
    side = torch.linspace(0, 1, 41, dtype=torch.float64)
    grid = torch.cat([point.unsqueeze(0), torch.cartesian_prod(side, side)])
    with torch.no_grad():
        noisy = kernel(x).to_dense() + selection_profile.NOISE * torch.eye(6, dtype=torch.float64)
        cross, inverse = kernel(grid, x).to_dense(), torch.linalg.inv(noisy)
        mean = (inverse.sum(0) @ y) / inverse.sum()
        means = mean + cross @ inverse @ (y - mean)
        variances = kernel(grid, diag=True) - (cross @ inverse * cross).sum(-1)
    bounds = means - 2 * variances.clamp_min(0).sqrt()
    assert bounds[0] <= bounds[1:].min() + 1e-6


def test_points_are_counted_by_their_coordinates(monkeypatch: pytest.MonkeyPatch) -> None:
    point = torch.tensor([0.0, 1 - FACE / 2, 0.4, 0.1], dtype=torch.float64)
    monkeypatch.setattr(selection_profile, "lowest_bound", lambda *_, **__: point)
    (row,) = chosen("matern", 4, repeats=1)
    assert row["share on faces"] == 0.5
    assert row["boundary distance"] == 0
    point[:2] = 0.3
    (row,) = chosen("matern", 4, repeats=1)
    assert row["share on faces"] == 0
    assert row["boundary distance"] == pytest.approx(0.2)


def test_uniform_points_are_as_far_away_as_uniform_points() -> None:
    u = np.random.default_rng(0).random((20_000, max(DIMS)))
    for row in uniform().to_dict("records"):
        sample = 2 * np.minimum(u, 1 - u)[:, : row["d"]].min(axis=1)
        assert row["boundary distance"] == pytest.approx(sample.mean(), rel=0.03)


def table_of(beta: float, without: float, ratio: float) -> pd.DataFrame:
    shares = {"beta-paper": beta, "beta-correlation": without, "matern": 0.2}
    rows = [
        {"kernel": kernel, "d": d, "share on faces": share, "prior ratio": ratio if kernel == "beta-paper" else 1.0}
        for kernel, share in shares.items()
        for d in (2, 5)
    ]
    return pd.DataFrame(rows)


def test_claims_follow_from_the_shares() -> None:
    assert verdicts(selection_profile.compare(table_of(1.0, 0.2, 3.0))) == ["holds", "holds"]
    assert verdicts(selection_profile.compare(table_of(0.1, 0.9, 1.0))) == ["does not hold", "does not hold"]
    assert verdicts(selection_profile.compare(table_of(0.1, 0.0, 3.0))) == ["holds in part", "holds"]


def test_every_kernel_of_the_catalogue_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection_profile, "DIMS", (2, 3))
    context = Context(tmp_path, "smoke")
    summary = selection_profile.summarize(context)
    assert names(tmp_path) == set(context.files)
    table = pd.read_csv(tmp_path / "selection-profile.csv")
    assert set(table["kernel"]) == {*KERNELS, selection_profile.UNIFORM}
    assert math.isnan(table.set_index("kernel").loc[selection_profile.UNIFORM, "prior ratio"].iloc[0])
    assert len(verdicts(summary.claims)) == 2
    assert (tmp_path / "table.md").read_text().count("| Beta (paper) |") == 3


def committed() -> pd.DataFrame:
    return pd.read_csv(ROOT / "docs/reproduction/selection-profile/points.csv")


@pytest.mark.parametrize(
    ("name", "dims"), [("beta-paper", 20), ("beta-additive", 5), ("matern", 10), ("cylindrical", 5)]
)
def test_the_committed_points_are_those_of_the_code(name: str, dims: int) -> None:
    kept = committed().query("kernel == @name and d == @dims")
    for row in chosen(name, dims, repeats=1):
        first = kept[kept["repeat"] == row["repeat"]].iloc[0]
        for column in ("prior ratio", "share on faces", "boundary distance"):
            assert row[column] == pytest.approx(first[column], abs=1e-5)


def test_the_page_has_the_numbers_of_the_committed_points() -> None:
    points = committed()
    assert set(points["kernel"]) == set(KERNELS)
    assert set(points.groupby(["kernel", "d"]).size()) == {selection_profile.REPEATS["standard"]}
    shares = points.groupby(["kernel", "d"])["share on faces"].mean().unstack("kernel").loc[5:]
    ratios = points.groupby(["kernel", "d"])["prior ratio"].mean().unstack("kernel")
    page = (ROOT / "docs/reproduction.md").read_text(encoding="utf-8")
    section = page[page.index("### Where each kernel would go by itself") : page.index("### Where the evaluations go")]
    assert [f"to {ratios.loc[50, 'beta-paper']:.1f} in 50"] == re.findall(r"to \S+ in 50", section)
    assert ratios["beta-paper"].is_monotonic_increasing
    assert set(ratios.columns[(ratios > 1.01).any()]) == {"beta", "beta-paper", "cylindrical"}
    assert "From 5 dimensions on" in section
    assert (shares["beta-paper"] == 1).all()
    assert (shares.idxmin(axis=1) == "cylindrical").all()
    for kernel in ("beta-additive", "beta", "beta-correlation", "rbf", "matern", "cylindrical"):
        low, high = shares[kernel].min(), shares[kernel].max()
        assert f"{100 * low:.0f} to {100 * high:.0f} %" in section
    assert len(re.findall(r"\d+ to \d+ %", section)) == 6
