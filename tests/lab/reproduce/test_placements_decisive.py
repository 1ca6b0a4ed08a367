from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from betabo.lab.problems import problem_by_name
from betabo.lab.reproduce import Context, placements_decisive
from lab.reproduce.case import campaigns_of, do, names, verdicts


def test_each_setting_is_judged_by_itself() -> None:
    rows = [
        {"placement": "face", "function": "levy", "kernel": kernel, "settings": settings, "mean": mean}
        for settings, means in {"ours-1": (1.0, 2.0, 3.0), "ours-4": (3.0, 2.0, 1.0)}.items()
        for kernel, mean in zip(placements_decisive.KERNELS, means, strict=True)
    ]
    table = pd.DataFrame([*rows, {**rows[0], "settings": "tutorial"}])
    claims = placements_decisive.compare(table)
    assert verdicts(claims) == ["holds", "does not hold"]  # of the third setting only one kernel is there
    assert [claim.text.split("under ")[1] for claim in claims] == [
        "betabo's settings, weight 1",
        "betabo's settings, weight 4",
    ]


def test_every_label_of_the_searches_has_a_meaning() -> None:
    labels = {label for campaign in campaigns_of("placements-decisive", "paper") for label in campaign.optimizers}
    assert {label.partition("+")[2] for label in labels} <= set(placements_decisive.SETTINGS)


def test_draws_the_runs_and_the_value_at_the_vertex(tmp_path: Path) -> None:
    for campaign in campaigns_of("placements-decisive", "smoke"):
        do(replace(campaign, seeds=(0, 1)), tmp_path / "runs")
    context = Context(tmp_path / "out", "smoke")
    summary = placements_decisive.summarize(context, tmp_path / "runs")
    assert names(tmp_path / "out") == set(context.files)
    problem = problem_by_name("levy-4-vertex")
    corner = problem.objective()([low for low, _ in problem.box])
    assert summary.figures["value at all lower bounds"] == {"levy": pytest.approx(corner, abs=1e-4)}
    assert f"| value at all lower bounds | {corner:.4g} |" in (tmp_path / "out/vertices.md").read_text()
    assert len(verdicts(summary.claims)) == 5


def test_the_page_has_the_numbers_of_the_committed_searches() -> None:
    root = Path(__file__).parents[3]
    cells = pd.read_csv(root / "docs/reproduction/placements-decisive/cells.csv").query("placement == 'vertex'")
    means = cells.pivot_table("mean", "function", "kernel").rename(columns=lambda name: name.split("+")[0])
    page = (root / "docs/reproduction.md").read_text(encoding="utf-8")
    section = page[page.index("**Under weight 1**") : page.index("**At full length**")]
    griewank, ackley, levy = (means.loc[function] for function in ("griewank", "ackley", "levy"))
    order = ["beta-paper", "matern", "rbf"]
    expected = [f"{value:.2f}" for part in (griewank, ackley, levy) for value in part[order]]
    assert re.findall(r"\d\.\d\d(?!\d)", section) == expected
    corner = problem_by_name("levy-20-vertex")
    lowest = corner.objective()([low for low, _ in corner.box])
    assert f"{lowest:.3f}" == "1.339"
    assert levy["beta-paper"] == pytest.approx(lowest, abs=1e-6)
