from __future__ import annotations

import shutil
from pathlib import Path

import pandas
import pytest

from betabo.lab.bench import run_campaign
from betabo.lab.bench.peers import Suite, plan_peers, record_not_run
from betabo.lab.bench.peers_report import write_report
from betabo.lab.bench.peers_runs import read_packed, read_peer_runs
from betabo.lab.bench.peers_statistics import compared, ranking
from lab.bench.conftest import Here

SUITES = (
    Suite("synthetic-2", "Two problems.", ("levy-2-face", "branin-2-centre"), 10, 5),
    Suite("real", "One.", ("pressure_vessel-4-centre",), 9, 6),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """The runs of betabo, random points and corners in tiny suites."""
    made = tmp_path_factory.mktemp("peers")
    plan = plan_peers(SUITES, ["betabo", "random", "corners"], seeds=2)
    plan.not_run["absent"] = "this optimizer needs nothing"
    record_not_run(plan, made)
    for name, campaign in plan.campaigns.items():
        assert not run_campaign(campaign, made / name, executor=Here()).failed
    return made


@pytest.fixture
def folder(made, tmp_path) -> Path:
    """A copy of those runs."""
    return Path(shutil.copytree(made, tmp_path / "runs"))


def test_the_report_says_losses_first_and_what_is_missing(folder) -> None:
    files, notes = write_report(folder)
    assert [path.name for path in files] == ["report.md", "ranking.csv", "runtimes.png", "runs.parquet"]
    assert notes == ["not run: absent: this optimizer needs nothing"]
    text = files[0].read_text()
    assert "3 optimizers, 3 problems, 18 runs; each optimizer started from its own design." in text
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings[0] == "## Where betabo loses"
    assert headings[-1] == "## What is missing"
    assert "**synthetic-2, after 5 d**, 4 runs" in text
    assert "**real, after the end**, 2 runs" in text


def test_the_report_can_be_computed_again_from_its_packed_runs(folder) -> None:
    write_report(folder)
    again = ranking(compared(read_packed(folder / "report" / "runs.parquet"))[0])
    published = pandas.read_csv(folder / "report" / "ranking.csv")
    pandas.testing.assert_frame_equal(again, published, check_dtype=False, rtol=1e-12)


def test_failures_and_optimizers_that_have_done_less_are_noted(folder) -> None:
    for path in (folder / "real" / "corners" / "pressure_vessel-4-centre").glob("*.parquet"):
        path.with_suffix(".error").write_text("Traceback\nRuntimeError: no luck\n")
        path.unlink()
    next((folder / "synthetic-2" / "corners").glob("*/*.parquet")).unlink()
    files, notes = write_report(folder)
    assert "failed: corners, 2 runs: RuntimeError: no luck" in notes
    assert "not ranked: corners has done 3 of 4 runs of synthetic-2" in notes
    table = pandas.read_csv(files[1])
    assert set(table["optimizer"]) == {"betabo", "random"}
    rows = [line for line in files[0].read_text().splitlines() if line.startswith("| synthetic-2, 5 d | corners |")]
    assert [row.endswith("| 3 |") for row in rows] == [True]


def test_a_report_without_betabo_or_peers_is_refused(folder) -> None:
    with pytest.raises(ValueError, match="holds no runs; `betabo bench peers"):
        write_report(folder / "nothing")
    for suite in ("real", "synthetic-2"):
        shutil.rmtree(folder / suite / "random")
        shutil.rmtree(folder / suite / "corners")
    with pytest.raises(ValueError, match="no other optimizer that has done all runs of betabo"):
        write_report(folder)
    assert set(read_peer_runs(folder)["optimizer"]) == {"betabo"}
    for suite in ("real", "synthetic-2"):
        (folder / suite / "betabo").rename(folder / suite / "kept")
        for path in (folder / suite / "kept").glob("*/*.parquet"):
            path.unlink()
    with pytest.raises(ValueError, match="holds no runs"):
        write_report(folder)
