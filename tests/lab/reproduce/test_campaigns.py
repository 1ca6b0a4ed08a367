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
        for campaign in campaigns_of(name, "paper"):
            dims = problem_by_name(campaign.problems[0]).dim
            assert (campaign.starting_points, campaign.budget) == (3 * dims, 3 * dims + 300)
            assert campaign.seeds == tuple(range(10))
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
