from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from betabo.lab.bench import Campaign, OptimizerChoice, run_campaign
from betabo.lab.bench.results import read_results, read_runs
from betabo.lab.reproduce import REPRODUCTIONS, Context
from betabo.lab.reproduce.finished_searches import how_much, pack, unpack
from lab.reproduce.case import Here, do

KEPT = Path(__file__).parents[3] / "docs/reproduction"

CAMPAIGN = Campaign(
    name="some",
    optimizers={"two": OptimizerChoice("random"), "one": OptimizerChoice("random")},
    problems=("levy-4-face",),
    seeds=(0, 1),
    budget=30,
    starting_points=10,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return do(CAMPAIGN, tmp_path / "runs")


def test_curves_and_configurations_come_back_as_they_were(folder: Path, tmp_path: Path) -> None:
    assert pack(folder, tmp_path / "searches.parquet") == 4
    assert unpack(tmp_path / "searches.parquet", tmp_path / "again") == 4
    columns = ["origin", "boundary_distance"]
    before, after = (read_results(place, columns=columns) for place in (folder, tmp_path / "again"))
    np.testing.assert_allclose(after.pop("boundary_distance"), before.pop("boundary_distance"), rtol=1e-6)
    pd.testing.assert_frame_equal(after, before)
    assert [run["configuration"] for run in read_runs(tmp_path / "again")] == [
        run["configuration"] for run in read_runs(folder)
    ]


def test_best_point_is_kept_through_packing_twice(folder: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    pack(folder, first)
    unpack(first, tmp_path / "again")
    pack(tmp_path / "again", second)
    assert pq.read_table(second).to_pylist() == pq.read_table(first).to_pylist()
    run = read_results(folder, columns=["x", "true_value"]).query("optimizer == 'two' and seed == 1")
    best = run.loc[run["true_value"].idxmin(), "x"]
    (row,) = [row for row in pq.read_table(first).to_pylist() if row["search"] == "two/levy-4-face/1"]
    np.testing.assert_allclose(row["best_point"], best, rtol=1e-6)


def test_campaign_goes_on_from_a_packed_file(folder: Path, tmp_path: Path) -> None:
    pack(folder, tmp_path / "searches.parquet")
    unpack(tmp_path / "searches.parquet", tmp_path / "again")
    outcome = run_campaign(replace(CAMPAIGN, seeds=(0, 1, 2)), tmp_path / "again", executor=Here())
    assert (len(outcome.kept), sorted(outcome.done)) == (4, ["one/levy-4-face/2", "two/levy-4-face/2"])
    with pytest.raises(ValueError, match="was made with budget = 30"):
        run_campaign(replace(CAMPAIGN, budget=40), tmp_path / "again", executor=Here())


def test_searches_that_are_there_are_left_alone(folder: Path, tmp_path: Path) -> None:
    pack(folder, tmp_path / "searches.parquet")
    before = {path: path.read_bytes() for path in folder.rglob("*.parquet")}
    next(iter(before)).unlink()
    assert unpack(tmp_path / "searches.parquet", folder) == 1
    assert [path.read_bytes() for path in list(before)[1:]] == list(before.values())[1:]


def test_nothing_finished_makes_no_file(tmp_path: Path) -> None:
    assert pack(tmp_path, tmp_path / "searches.parquet") == 0
    assert not list(tmp_path.iterdir())


def test_table_says_how_much_is_there(folder: Path) -> None:
    (folder / "two/levy-4-face/0.parquet").unlink()
    count, text = how_much(folder, CAMPAIGN.runs())
    assert count == 3
    assert text.startswith("3 of 4 searches are finished.")
    assert "| one | 2 | 2 | 0, 1 |" in text
    assert "| two | 1 | 2 | 1 |" in text


@pytest.mark.parametrize("name", [file.parent.name for file in sorted(KEPT.glob("*/searches-paper.parquet"))])
def test_committed_tables_and_claims_follow_from_the_committed_searches(name: str, tmp_path: Path) -> None:
    unpack(KEPT / name / "searches-paper.parquet", tmp_path / "runs")
    summary = REPRODUCTIONS[name].module().summarize(Context(tmp_path / "out", "paper"), tmp_path / "runs")
    assert (tmp_path / "out/table.md").read_text() == (KEPT / name / "table.md").read_text()
    record = json.loads((KEPT / name / "reproduction.json").read_text())
    assert [claim.evidence for claim in summary.claims] == [claim["evidence"] for claim in record["claims"]]
