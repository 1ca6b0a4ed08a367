from __future__ import annotations

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from betabo.lab.bench import OptimizerChoice, run_campaign
from betabo.lab.bench.results import read_results
from betabo.lab.bench.run import Record, perform
from betabo.lab.bench.storage import encode
from example_case import EXAMPLES, load_example
from lab.reproduce.case import Here, campaigns_of


@pytest.fixture(scope="module")
def elsewhere() -> ModuleType:
    return load_example("run_elsewhere")


def test_runs_from_elsewhere_are_kept_by_the_campaign(tmp_path: Path, elsewhere: ModuleType) -> None:
    (campaign,) = campaigns_of("levy2d", "smoke")
    campaign = replace(campaign, optimizers={"rbf": OptimizerChoice("random"), "matern": OptimizerChoice("random")})
    runs = campaign.runs()
    assert elsewhere.carry_out_one(runs[0], tmp_path / "json") == ""
    stored = json.loads(gzip.decompress((tmp_path / f"json/{runs[0].key}.json.gz").read_bytes()))
    assert elsewhere.collect(tmp_path / "json", tmp_path / "runs") == 1
    assert elsewhere.collect(tmp_path / "json", tmp_path / "runs") == 0
    assert (tmp_path / f"runs/{runs[0].key}.parquet").read_bytes() == encode(Record(**stored))
    outcome = run_campaign(campaign, tmp_path / "runs", executor=Here())
    assert (outcome.kept, outcome.done) == ([runs[0].key], [runs[1].key])
    table = read_results(tmp_path / "runs").query("optimizer == 'rbf'")
    fresh = perform(runs[0])
    assert table["best"].tolist() == [row["best"] for row in fresh.rows]
    assert [list(x) for x in table["x"]] == [row["x"] for row in fresh.rows]


def test_failure_elsewhere_leaves_no_file(tmp_path: Path, elsewhere: ModuleType) -> None:
    run = replace(campaigns_of("levy2d", "smoke")[0].runs()[0], problem="no-such-problem")
    assert "ValueError" in elsewhere.carry_out_one(run, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_run_that_another_process_is_at_or_has_finished_is_left_alone(tmp_path: Path, elsewhere: ModuleType) -> None:
    run = campaigns_of("levy2d", "smoke")[0].runs()[0]
    lock = elsewhere.begin(run, tmp_path)
    hold = f"from filelock import FileLock; FileLock({lock.lock_file!r}).acquire(timeout=0)"
    other = subprocess.run([sys.executable, "-c", hold], capture_output=True, text=True, check=False)
    assert "Timeout" in other.stderr
    assert elsewhere.begin(run, tmp_path) is None
    lock.release()
    again = elsewhere.begin(run, tmp_path)
    assert again is not None
    again.release()
    elsewhere.file_of(run, tmp_path).write_bytes(b"")
    assert elsewhere.begin(run, tmp_path) is None


@pytest.mark.slow
def test_runs_elsewhere_need_little_and_stop_in_time(tmp_path: Path) -> None:
    bare = (
        "import runpy, sys\n"
        "for name in ('pandas', 'pyarrow', 'matplotlib', 'rich', 'typer', 'optuna'): sys.modules[name] = None\n"
        f"sys.argv = ['run_elsewhere.py', 'levy2d', '--scale', 'smoke', '--out', {str(tmp_path)!r}, *sys.argv[1:]]\n"
        f"runpy.run_path({str(EXAMPLES / 'run_elsewhere.py')!r}, run_name='__main__')\n"
    )
    program = tmp_path / "bare.py"
    program.write_text(bare.replace("runpy.run_path", "if __name__ == '__main__': runpy.run_path"))

    def output(*arguments: str) -> list[str]:
        command = [sys.executable, str(program), "--workers", "1", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    assert output("--only", "^rbf/", "--seconds", "0.001") == [
        "1 of 1 runs to do, 1 at a time",
        "0 runs done, 1 not started",
    ]
    assert output("--seconds", "0.001") == ["3 of 3 runs to do, 1 at a time", "0 runs done, 3 not started"]
    first, *done, last = output()
    assert first == "3 of 3 runs to do, 1 at a time"
    assert [line.split()[1] for line in done] == ["done"] * 3
    assert last == "3 runs done, 0 not started"
    assert len(list(tmp_path.glob("*/levy-2-centre/0.json.gz"))) == 3
    assert output() == ["0 of 3 runs to do, 1 at a time", "0 runs done, 0 not started"]
