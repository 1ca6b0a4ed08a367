from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import sem

from betabo.lab.bench.run import starting_points
from betabo.lab.problems import problem_by_name
from betabo.lab.reproduce import Context, placements_settings
from lab.reproduce.case import campaigns_of, do, names, verdicts

ROOT = Path(__file__).parents[3]


def table_of(ends: dict[str, float], starts: float = 300.0) -> pd.DataFrame:
    """Outcomes on Griewank, with RBF printed at its start and Matern at 25, for settings by what both kernels found."""
    rows = [
        {
            "settings": name,
            "kernel": kernel,
            "function": "griewank",
            "start": starts,
            "end": end,
            "printed": printed,
            "printed_error": printed / 20,
        }
        for name, matern in ends.items()
        for kernel, end, printed in (("rbf", starts, 300.0), ("matern", matern, 25.0))
    ]
    return pd.DataFrame(rows)


def test_settings_are_kept_where_rbf_stays_and_matern_is_near() -> None:
    found = placements_settings.compare_settings(table_of({"near": 30.0, "far": 200.0}))
    assert list(found["settings"]) == ["near", "far"]
    assert list(found["reproduced"]) == [True, False]
    assert found.loc[0, "matern, factor"] == pytest.approx(1.2)
    assert found.loc[0, "typical factor"] == pytest.approx(1.2**0.5)


def test_margin_of_matern_follows_from_the_printed_error() -> None:
    factor = 1 + 2 * 10**0.5 / 20  # two standard deviations of one of ten seeds
    found = placements_settings.compare_settings(table_of({"in": 25 * factor - 0.1, "out": 25 * factor + 0.1}))
    assert dict(zip(found["settings"], found["reproduced"], strict=True)) == {"in": True, "out": False}


def test_settings_where_rbf_gets_ahead_are_not_kept() -> None:
    table = table_of({"near": 25.0})
    table.loc[table["kernel"] == "rbf", "end"] = 100.0
    found = placements_settings.compare_settings(table)
    assert not found["reproduced"].any()
    assert found.loc[0, "rbf, end over start"] == pytest.approx(1 / 3)


def test_starting_points_are_those_of_the_searches() -> None:
    best = placements_settings.starts().set_index(["placement", "function"])
    assert len(best) == 15
    problem = problem_by_name("levy-20-face")
    lowest = [min(problem.objective()(x) for x in starting_points(problem, 60, seed)) for seed in range(10)]
    assert best.loc[("face", "levy"), "best"] == pytest.approx(np.mean(lowest))
    assert best.loc[("face", "levy"), "error"] == pytest.approx(sem(lowest))
    assert best.loc[("face", "levy"), "printed"] == 104.9


def test_starting_points_are_equal_within_two_standard_errors() -> None:
    names = {"placement": "face", "function": "levy", "best": 100.0, "error": 3.0, "printed_error": 4.0}
    best = pd.DataFrame([{**names, "printed": 109.0, "equal": True}, {**names, "printed": 50.0, "equal": False}])
    claim = placements_settings.judge_starts(best)
    assert claim.verdict == "holds in part"
    assert claim.evidence.startswith("on 1 of 2 problems")
    assert claim.evidence.endswith("; not on levy, face: 50.0 for 100.0")


def test_claim_holds_if_any_complete_setting_reproduces_the_baselines() -> None:
    found = placements_settings.compare_settings(table_of({"near": 30.0, "far": 200.0}))
    assert placements_settings.compare(found) == ()  # the nearer one has searches to come
    assert verdicts(placements_settings.compare(found.assign(cells=placements_settings.CELLS))) == ["holds"]


def test_one_search_is_enough_to_exclude_a_setting() -> None:
    found = placements_settings.compare_settings(table_of({"near": 100.0, "far": 200.0}))
    (claim,) = placements_settings.compare(found)
    assert claim.verdict == "does not hold"
    assert claim.evidence.startswith("0 of 2 settings do; 2 are excluded")


def test_unfinished_settings_are_shown_and_not_judged(tmp_path: Path) -> None:
    (campaign,) = campaigns_of("placements-settings", "paper")
    chosen = [label for label in campaign.optimizers if "+4+botorch" in label]
    campaign = replace(campaign, optimizers={label: campaign.optimizers[label] for label in chosen}, budget=61)
    folder = do(campaign, tmp_path / "runs")
    (folder / "rbf+scale+raw+4+botorch/levy-20-face/0.parquet").unlink()
    context = Context(tmp_path / "out", "paper")
    summary = placements_settings.summarize(context, folder)
    assert names(tmp_path / "out") == set(context.files)
    assert summary.figures["settings complete"] == 3
    assert summary.figures["settings excluded"] == 4
    text = (tmp_path / "out/settings.md").read_text()
    assert "| scale, raw, 4, botorch | 5 of 6 |" in text
    assert "| scale, standardized, 4, botorch | 6 of 6 |" in text
    assert "| griewank, face | " in text
    outcomes = placements_settings.outcomes(folder)
    assert (outcomes["end"] <= outcomes["start"]).all()
    assert set(outcomes.query("kernel == 'matern' and function == 'levy'")["printed"]) == {11.2}


def test_the_page_has_the_numbers_of_the_committed_searches() -> None:
    values = pd.read_csv(ROOT / "docs/reproduction/placements-settings/values.csv").query("function == 'griewank'")
    labels = values["optimizer"].str.extract(
        r"(?P<kernel>\w+)\+(?P<scale>[\w-]+)\+(?P<values>\w+)\+\S+\+(?P<engine>\w+)"
    )
    ends = pd.concat([labels, values["best"]], axis=1)
    raw = ends[ends["values"] == "raw"]
    rbf, matern = (raw[raw["kernel"] == kernel].sort_values("best") for kernel in ("rbf", "matern"))
    ours, botorch = (rbf.loc[rbf["engine"] == engine, "best"].to_list() for engine in ("betabo", "botorch"))
    page = (ROOT / "docs/reproduction.md").read_text(encoding="utf-8")

    def said(pattern: str) -> list[float]:
        match = re.search(pattern, page)
        assert match is not None
        return [float(number) for number in match.groups()]

    standardized = ends.loc[ends["values"] == "standardized", "best"]
    assert len(standardized) == 24
    lowest, highest = said(r"RBF and Matérn end between (\S+) and (\S+) in all twelve settings")
    assert [lowest, highest] == [round(standardized.min(), 1), round(standardized.max(), 1)]
    assert said(r"in five of six settings \((\d+) to (\d+) from 381") == [round(botorch[1]), round(botorch[-1])]
    assert said(r"With our engine it ends between (\d+) and (\d+)") == [round(ours[0]), round(ours[-1])]
    assert said(r"BoTorch's engine, at (\d+); in the eleven other settings .* between (\d+) and (\d+)") == [
        round(matern["best"].iloc[rank]) for rank in (0, 1, -1)
    ]
