from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from betabo.lab.bench import Campaign, OptimizerChoice, run_campaign
from betabo.lab.bench.executor import Finished, Progressed, Started
from betabo.lab.bench.results import read_runs, run_files
from betabo.lab.bench.storage import read_metadata
from waiting import wait_for

CHANCE = Campaign("chance", {"random": OptimizerChoice("random")}, ("levy-2-face", "levy-2-vertex"), (0, 1), 8, 5)


def test_each_run_is_one_file(tiny, tiny_folder) -> None:
    names = {str(path.relative_to(tiny_folder).with_suffix("")) for path in run_files(tiny_folder)}
    assert names == {run.key for run in tiny.runs()}
    assert "beta/levy-2-vertex/0" in names
    assert {(run["configuration"]["optimizer"], run["configuration"]["seed"]) for run in read_runs(tiny_folder)} == {
        (optimizer, seed) for optimizer in tiny.optimizers for seed in (0, 1)
    }
    assert json.loads((tiny_folder / "campaign.json").read_text())["name"] == "tiny"


def test_what_is_done_is_kept(tmp_path, here, listener) -> None:
    first = run_campaign(CHANCE, tmp_path, executor=here)
    assert len(first.done) == 4
    before = {path: path.stat().st_mtime_ns for path in run_files(tmp_path)}
    gone = tmp_path / "random" / "levy-2-vertex" / "1.parquet"
    gone.unlink()
    second = run_campaign(replace(CHANCE, seeds=(0, 1, 2)), tmp_path, executor=here, display=listener)
    assert sorted(second.done) == ["random/levy-2-face/2", "random/levy-2-vertex/1", "random/levy-2-vertex/2"]
    assert len(second.kept) == 3
    assert all(path.stat().st_mtime_ns == time for path, time in before.items() if path != gone)
    kinds = [type(event) for event in listener.events if not isinstance(event, Progressed)]
    assert kinds.count(Started) == kinds.count(Finished) == 3
    assert run_campaign(CHANCE, tmp_path, executor=here).done == []


def test_runs_with_other_settings_are_not_mixed(tmp_path, here) -> None:
    run_campaign(CHANCE, tmp_path, executor=here)
    with pytest.raises(ValueError, match=r"0\.parquet was made with budget = 8, the campaign has 9"):
        run_campaign(replace(CHANCE, budget=9), tmp_path, executor=here)


def test_two_campaigns_do_not_share_a_folder(tmp_path) -> None:
    with FileLock(tmp_path / ".lock"), pytest.raises(ValueError, match="another campaign is running"):
        run_campaign(CHANCE, tmp_path)


def test_failures_are_recorded_and_the_rest_goes_on(tmp_path, failing, here) -> None:
    campaign = replace(CHANCE, imports=failing, optimizers={n: OptimizerChoice(n) for n in ("raising", "random")})
    outcome = run_campaign(campaign, tmp_path, executor=here)
    assert sorted(outcome.done) == sorted(f"random/{problem}/{s}" for problem in CHANCE.problems for s in (0, 1))
    assert len(outcome.failed) == 4
    path = outcome.failed["raising/levy-2-face/0"]
    assert path == tmp_path / "raising/levy-2-face/0.error"
    assert "this optimizer always fails" in path.read_text()


def test_a_run_that_failed_is_tried_again(tmp_path, here) -> None:
    error = tmp_path / "random" / "levy-2-face" / "0.error"
    error.parent.mkdir(parents=True)
    error.write_text("Traceback")
    outcome = run_campaign(CHANCE, tmp_path, executor=here)
    assert "random/levy-2-face/0" in outcome.done
    assert not error.exists()


def test_a_number_of_workers_is_checked(tmp_path) -> None:
    with pytest.raises(ValueError, match="workers is 0"):
        run_campaign(CHANCE, tmp_path, workers=0)


CAMPAIGN = """
[campaign]
seeds = 3
budget = 14
starting_points = 5
problems = ["levy-2-vertex", "branin-2-face"]
[optimizers.beta]
kernel = "beta"
[optimizers.random]
"""


@pytest.mark.slow
def test_killed_and_started_again_it_does_what_is_missing(tmp_path) -> None:
    file, out = tmp_path / "c.toml", tmp_path / "runs"
    file.write_text(CAMPAIGN)
    program = (
        "from betabo.lab.bench import load_campaign, run_campaign\n"
        "if __name__ == '__main__':\n"
        f"    print(len(run_campaign(load_campaign({str(file)!r}), {str(out)!r}, workers=2).done))\n"
    )
    script = tmp_path / "go.py"
    script.write_text(program)
    process = subprocess.Popen([sys.executable, str(script)], start_new_session=True)
    wait_for(lambda: len(run_files(out)) >= 2)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    early = {path: path.stat().st_mtime_ns for path in run_files(out)}
    assert 2 <= len(early) < 12
    for path in early:
        assert read_metadata(path)["configuration"]["budget"] == 14
    wait_for(lambda: not _members(process.pid))
    assert not _members(process.pid)  # workers notice that nobody listens

    again = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert int(again.stdout) == 12 - len(early)
    assert len(run_files(out)) == 12
    assert all(path.stat().st_mtime_ns == time for path, time in early.items())
    assert not list(out.rglob("*.error"))


def _members(session: int) -> list[int]:
    """Living processes of a session, without those that only wait to be noticed."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found
