from __future__ import annotations

from betabo.lab.problems import problem_by_name
from betabo.lab.reproduce import (
    campaigns,
)
from betabo.lab.reproduce.campaigns import PAPER_KERNELS, expected_seconds
from lab.reproduce.case import campaigns_of


def test_paper_scale_has_the_numbers_of_the_paper() -> None:
    (table,) = campaigns_of("placements", "paper")
    assert set(table.optimizers) == {*PAPER_KERNELS, "beta", "beta-matern", "matern-control"}
    assert len(table.problems) == 15
    assert {problem_by_name(name).dim for name in table.problems} == {20}
    for name in ("levy2d", "bandwidths", "levy-convergence", "placements"):
        chosen = campaigns_of(name, "paper")
        for campaign in chosen:
            dims = problem_by_name(campaign.problems[0]).dim
            assert (campaign.starting_points, campaign.budget) == (3 * dims, 3 * dims + 300)
        assert {seed for campaign in chosen for seed in campaign.seeds} == set(range(10))
    (compared,) = campaigns_of("acquisitions", "paper")
    assert (compared.starting_points, compared.budget, len(compared.seeds)) == (5, 35, 10)
    assert len(compared.optimizers) == 10


def test_only_the_default_row_and_its_control_depart_from_the_settings_of_the_paper() -> None:
    (table,) = campaigns_of("placements", "paper")
    for label, choice in table.optimizers.items():
        if label in ("beta-matern", "matern-control"):
            assert choice.settings == {"kernel": label.removesuffix("-control")}
        else:
            expected = {"kernel": label, "acquisition": "ucb", "beta": campaigns.UCB_WEIGHT, "power_transform": False}
            assert choice.settings == expected


def test_longer_searches_with_slower_kernels_are_expected_to_take_longer() -> None:
    (table,) = campaigns_of("placements", "paper")
    seconds = {run.optimizer: expected_seconds(run) for run in table.runs()}
    assert min(seconds.values()) == seconds["rbf"]
    assert max(seconds.values()) == seconds["spectral-mixture"]
    (smoke,) = campaigns_of("placements", "smoke")
    assert max(map(expected_seconds, smoke.runs())) < min(seconds.values())


def test_calibration_looks_at_the_baselines_under_24_settings() -> None:
    (campaign,) = campaigns_of("placements-settings", "paper")
    assert len(campaign.runs()) == 2 * 3 * 24
    assert {run.settings["kernel"] for run in campaign.runs()} == {"rbf", "matern"}
    assert {run.budget - run.starting_points for run in campaign.runs()} == {100}
    for label, choice in campaign.optimizers.items():
        kernel, scale, values, weight, engine = label.split("+")
        assert choice.settings == {
            "kernel": kernel,
            "scale": scale == "scale",
            "standardize": values == "standardized",
            "weight": float(weight),
            "engine": engine,
        }


def test_decisive_searches_under_calibrated_settings_come_first() -> None:
    first, ours, *others = campaigns_of("placements-decisive", "paper")
    assert set(first.optimizers) == {f"{kernel}+calibrated" for kernel in ("beta-paper", "matern", "rbf")}
    assert first.seeds == (0, 1, 2)
    assert first.optimizers["rbf+calibrated"].settings == {"kernel": "rbf", **campaigns.CALIBRATED}
    assert len(first.runs()) == 54
    assert len(ours.runs()) == 162
    assert ours.budget - ours.starting_points == 300
    assert {c.budget - c.starting_points for c in (first, *others)} == {campaigns.CALIBRATION_ITERATIONS}


def test_calibrated_settings_are_among_those_that_were_compared() -> None:
    (campaign,) = campaigns_of("placements-settings", "paper")
    assert {"kernel": "rbf", **campaigns.CALIBRATED} in [choice.settings for choice in campaign.optimizers.values()]


def test_full_table_has_ten_seeds_of_the_baselines_and_three_of_the_papers_kernel() -> None:
    runs = [run for campaign in campaigns_of("placements-full", "paper") for run in campaign.runs()]
    assert len({run.key for run in runs}) == len(runs)
    seeds = {
        name: {run.seed for run in runs if run.optimizer == name} for name in ("rbf", "matern", "default", "beta-paper")
    }
    ten = set(range(10))
    assert seeds == {"rbf": ten, "matern": ten, "default": ten, "beta-paper": {0, 1, 2}}
    assert len(runs) == 450 + 45
