from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from betabo.cli.bench import app
from betabo.lab.bench import OPTIMIZERS, OptimizerEntry, run_campaign
from betabo.lab.bench.executor import Failed, Finished, Started
from betabo.lab.bench.optimizers.random_search import RandomSearch
from betabo.lab.bench.peers import Suite
from betabo.lab.bench.run import perform
from betabo.lab.bench.storage import encode

TINY = {
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


class Here:
    """Carries out runs in this process."""

    workers = 1

    def execute(self, runs):
        for run in runs:
            yield Started(run)
            try:
                yield Finished(run, encode(perform(run)))
            except ArithmeticError as error:
                yield Failed(run, repr(error))


@pytest.fixture(autouse=True)
def _tiny(monkeypatch) -> None:
    monkeypatch.setattr("betabo.lab.bench.peers.SUITES", TINY)
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


def test_failed_runs_are_reported_by_the_exit_code(tmp_path) -> None:
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
def test_mistakes_are_one_line(tmp_path, arguments, message) -> None:
    outcome = peers(tmp_path / "runs", *arguments)
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_help_has_an_example() -> None:
    outcome = CliRunner().invoke(app, ["peers", "--help"])
    assert "Example: betabo bench peers" in " ".join(outcome.stdout.split())
