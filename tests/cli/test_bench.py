from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from betabo.cli.bench import app
from betabo.lab.bench import OPTIMIZERS, OptimizerEntry, run_campaign
from betabo.lab.bench.optimizers.random_search import RandomSearch
from betabo.lab.bench.peers import Suite
from betabo.lab.bench.runner import CampaignOutcome
from campaign_case import TINY, Here

runner = CliRunner()

CAMPAIGN = """
[campaign]
seeds = 1
budget = 6
problems = ["levy-2-vertex"]
[optimizers.random]
"""

SUITES = {
    "synthetic-6": Suite("synthetic-6", "One problem.", ("levy-6-face",), 7, 5),
    "real": Suite("real", "One problem.", ("pressure_vessel-4-centre",), 9, 6),
}


class Missing(RandomSearch):
    def __init__(self) -> None:
        raise ImportError("no such package: pip install 'betabo[peers]'")


class Failing(RandomSearch):
    def ask(self):
        if self._waiting:
            return super().ask()
        raise ArithmeticError("no more points")


@pytest.fixture(autouse=True)
def _tiny(monkeypatch) -> None:
    monkeypatch.setattr("betabo.lab.bench.peers.SUITES", SUITES)
    monkeypatch.setitem(OPTIMIZERS, "absent", OptimizerEntry("absent", "Not installed.", Missing))
    monkeypatch.setitem(OPTIMIZERS, "failing", OptimizerEntry("failing", "Fails.", Failing))

    def inside(campaign, out, *, workers, display):
        return run_campaign(campaign, out, display=display, executor=Here())

    monkeypatch.setattr("betabo.lab.bench.runner.run_campaign", inside)


def peers(out: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["peers", "--out", str(out), "--seeds", "1", *arguments], catch_exceptions=False)


def test_runs_are_made_kept_and_reported(tmp_path) -> None:
    first = peers(tmp_path, "--optimizers", "betabo,random,absent")
    assert first.exit_code == 0, first.output
    assert f"2 runs done, 0 done before, 0 failed: {tmp_path / 'real'}" in first.stdout
    assert "warning: not run: absent: no such package" in first.stderr
    assert (tmp_path / "report" / "report.md").exists()
    assert sorted(path.name for path in (tmp_path / "real" / "random").rglob("*.parquet")) == ["0.parquet"]
    again = peers(tmp_path, "--optimizers", "betabo,random")
    assert f"0 runs done, 2 done before, 0 failed: {tmp_path / 'real'}" in again.stdout


def test_a_suite_can_be_chosen_and_peers_added_later(tmp_path) -> None:
    alone = peers(tmp_path, "--suite", "real", "--optimizers", "random")
    assert alone.exit_code == 0
    assert "warning: no report yet:" in alone.stderr
    assert not (tmp_path / "synthetic-6").exists()
    assert not (tmp_path / "report").exists()
    assert peers(tmp_path, "--suite", "real", "--optimizers", "betabo").exit_code == 0
    report = peers(tmp_path, "--report")
    assert report.exit_code == 0
    assert "runs done" not in report.stdout
    assert f"report: {tmp_path / 'report' / 'report.md'}" in report.stdout


def test_failed_runs_of_peers_are_reported_by_the_exit_code(tmp_path) -> None:
    outcome = peers(tmp_path, "--suite", "real", "--optimizers", "betabo,random,failing")
    assert outcome.exit_code == 1
    assert "failed: failing/pressure_vessel-4-centre/0, see" in outcome.stderr
    assert "warning: failed: failing, 1 runs: ArithmeticError('no more points')" in outcome.stderr
    assert "report: " in outcome.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--suite", "unreal"],
            "the suite is 'unreal', expected one of synthetic-6, real, sbox, bbob, bbob-boxed, all",
        ),
        (["--optimizers", "rando"], "the optimizer is 'rando'"),
        (["--suite", "sbox", "--instances", "1-x"], "--instances is '1-x', expected numbers such as 2,5"),
        (["--suite", "sbox", "--dims", "5-2"], "--dims is '5-2', expected a range that goes up"),
        (["--report"], "holds no runs"),
    ],
    ids=["suite", "optimizer", "instances", "dims", "report"],
)
def test_mistakes_in_comparing_peers_are_one_line(tmp_path, arguments, message) -> None:
    outcome = peers(tmp_path / "runs", *arguments)
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of a tiny campaign, read by several tests and written by none."""
    folder = tmp_path_factory.mktemp("tiny")
    run_campaign(TINY, folder, executor=Here())
    return folder


@pytest.fixture
def inside(monkeypatch) -> None:
    """Runs are carried out in this process."""

    def inside(campaign, out, *, workers, display) -> CampaignOutcome:
        assert workers == 2
        return run_campaign(campaign, out, display=display, executor=Here())

    monkeypatch.setattr("betabo.lab.bench.runner.run_campaign", inside)


@pytest.mark.usefixtures("inside")
def test_run_carries_out_and_resumes(tmp_path) -> None:
    (tmp_path / "c.toml").write_text(CAMPAIGN)
    command = ["run", str(tmp_path / "c.toml"), "--out", str(tmp_path / "runs"), "--workers", "2"]
    first = runner.invoke(app, command)
    assert first.exit_code == 0
    assert first.stdout.startswith("1 runs done, 0 done before, 0 failed")
    assert "1/1 random/levy-2-vertex/0 done" in first.stderr
    assert runner.invoke(app, command).stdout.startswith("0 runs done, 1 done before, 0 failed")


def test_failures_are_reported_by_the_exit_code(tmp_path, monkeypatch) -> None:
    (tmp_path / "c.toml").write_text(CAMPAIGN)
    failed = {"random/levy-2-vertex/0": Path("runs/random/levy-2-vertex/0.error")}
    monkeypatch.setattr("betabo.lab.bench.runner.run_campaign", lambda *_, **__: CampaignOutcome(failed=failed))
    outcome = runner.invoke(app, ["run", str(tmp_path / "c.toml"), "--out", str(tmp_path)])
    assert outcome.exit_code == 1
    assert "failed: random/levy-2-vertex/0, see runs/random/levy-2-vertex/0.error" in outcome.stderr


def test_mistakes_are_one_line(tmp_path) -> None:
    (tmp_path / "c.toml").write_text(CAMPAIGN.replace("budget", "budgt"))
    for command in (
        ["run", str(tmp_path / "c.toml"), "--out", str(tmp_path / "runs")],
        ["run", str(tmp_path / "none.toml"), "--out", str(tmp_path / "runs")],
        ["table", str(tmp_path)],
        ["plot", str(tmp_path), "--out", str(tmp_path)],
    ):
        outcome = runner.invoke(app, command)
        assert outcome.exit_code == 2
        assert outcome.stderr.startswith("error: ")
        assert outcome.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_table_prints_means_ranks_and_tests(tiny_folder) -> None:
    outcome = runner.invoke(app, ["table", str(tiny_folder), "--blocks", "run", "--at", "7"])
    assert outcome.exit_code == 0
    assert "**d = 2, optimum near a vertex**" in outcome.stdout
    assert "Best value after 7 evaluations" in outcome.stdout
    assert "Friedman's test over 4 runs" in outcome.stdout
    assert runner.invoke(app, ["table", str(tiny_folder), "--at", "9"]).exit_code == 2


def test_table_as_latex_and_csv(tiny_folder) -> None:
    latex = runner.invoke(app, ["table", str(tiny_folder), "--format", "latex"]).stdout
    assert latex.startswith("\\begin{tabular}")
    csv = runner.invoke(app, ["table", str(tiny_folder), "--format", "csv"]).stdout
    assert csv.splitlines()[0] == "problem,function,dim,placement,optimizer,mean,runs,standard_error"
    assert len(csv.splitlines()) == 1 + 6


def test_plot_writes_figures(tiny_folder, tmp_path) -> None:
    outcome = runner.invoke(app, ["plot", str(tiny_folder), "--out", str(tmp_path)])
    assert outcome.exit_code == 0
    assert all(Path(line).stat().st_size > 1000 for line in outcome.stdout.splitlines())


def test_list_names_problems_and_optimizers() -> None:
    outcome = runner.invoke(app, ["list"])
    for name in ("griewank", "ackley", "levy", "branin", "hartmann", "betabo", "random"):
        assert name in outcome.stdout


@pytest.mark.parametrize("command", ["run", "peers", "table", "plot", "list"])
def test_help_has_an_example(command) -> None:
    outcome = runner.invoke(app, [command, "--help"])
    assert outcome.exit_code == 0
    assert f"Example: betabo bench {command}" in " ".join(outcome.stdout.split())


def test_help_loads_nothing_heavy() -> None:
    program = "import sys, betabo.cli.bench; print({'torch', 'pandas', 'matplotlib', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ, check=True)
    assert done.stdout.strip() == "set()"
