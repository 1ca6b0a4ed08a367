from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from betabo import Config, Space
from betabo.studies import (
    CommandObjective,
    Event,
    FunctionObjective,
    Plan,
    Runner,
    StudyError,
    load_study,
    open_study,
    parse_parameters,
    run_study,
    study_names,
    trial_rows,
)
from betabo.studies.plan import logs_of
from betabo.studies.runner import _MOST_CRASHES
from waiting import LONG, wait_for

MakePlan = Callable[..., Plan]


def collect(runner: Runner, until: Callable[[Event], bool], seconds: float = LONG) -> list[Event]:
    """Events up to one that fits."""
    events: list[Event] = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for event in runner.poll():
            events.append(event)
            if until(event):
                return events
        time.sleep(0.02)
    raise AssertionError(f"did not happen; instead {[event.to_line() for event in events]}, {runner.error}")


def objective(code: str) -> FunctionObjective:
    Path("job.py").write_text(f"import os, sys, time\n{code}", encoding="utf-8")
    return FunctionObjective("job.py:f")


def test_a_study_runs_to_its_end_in_other_processes(make_plan: MakePlan) -> None:
    code = "def f(x, y):\n  print('out', x); print('err', file=sys.stderr); os.system('echo child'); return os.getpid()"
    plan = make_plan(objective=objective(code), trials=4)
    events: list[Event] = []
    study = run_study(plan, workers=2, on_event=events.append)
    rows = trial_rows(study)
    assert [row["state"] for row in rows] == ["complete"] * 4
    assert os.getpid() not in {int(row["value"]) for row in rows}
    assert sum(event.kind == "finished" for event in events) == 4
    assert {event.worker for event in events if event.kind == "stopped"} == {0, 1}
    logs = sorted(logs_of(plan, study).iterdir())
    assert [log.name for log in logs] == [f"trial-{n:05d}.log" for n in range(4)]
    assert logs[0].read_text().split()[0::2] == ["out", "err"]
    assert logs[0].read_text().split()[-1] == "child"
    with pytest.raises(StudyError, match="workers is 0"):
        Runner(plan, workers=0)


def test_a_broken_objective_is_reported_by_its_worker(make_plan: MakePlan) -> None:
    plan = make_plan(objective=objective("def f(x, y): return 'text'"))
    with pytest.raises(StudyError, match=r"job.py:f returned the str 'text'; expected a number"):
        run_study(plan)
    assert study_names(plan.storage) == []


def test_what_can_be_seen_is_refused_before_anything_is_stored(make_plan: MakePlan) -> None:
    with pytest.raises(StudyError, match="never uses the parameter y"):
        run_study(make_plan(objective=CommandObjective("echo {x}")))
    assert not Path("betabo.db").exists()


@dataclass(frozen=True)
class Checked(CommandObjective):
    """Counts how often it is checked."""

    def check(self, space: Space) -> None:
        checks.append(self.template)
        super().check(space)


checks: list[str] = []


def test_a_study_is_opened_once_and_its_objective_checked_once(
    make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(objective=Checked("echo {x}{y}"))
    monkeypatch.setattr("betabo.studies.runner._Process", lambda *_: SimpleNamespace(alive=False))
    checks.clear()
    opened = open_study(plan)
    runner = Runner(plan, study=opened)
    monkeypatch.setattr("betabo.studies.runner.open_study", None)
    runner.start()
    assert runner.study is opened
    assert len(checks) == 1


@pytest.mark.slow
def test_stop_lets_the_running_trial_finish(make_plan: MakePlan) -> None:
    plan = make_plan(objective=objective("def f(x, y): time.sleep(1); return x"), trials=50)
    with Runner(plan) as runner:
        runner.start()
        collect(runner, lambda event: event.kind == "began")
        runner.stop()
        runner.wait()
        assert not runner.alive
        assert not runner.error
        kinds = [event.kind for event in runner.poll()]
    assert kinds == ["finished", "stopped"]
    assert [row["state"] for row in trial_rows(load_study("test", plan.storage))] == ["complete"]


@pytest.mark.slow
def test_kill_ends_everything_at_once_and_the_trial_is_repeated(make_plan: MakePlan) -> None:
    plan = make_plan(
        objective=CommandObjective(f"{sys.executable} -S -c 'import os, time; print(os.getpid(), flush=True); "
                                   "time.sleep(float(open(\"pause\").read())); print({x})'"),
        space=parse_parameters(["x=0..1"]),
        trials=1,
    )  # fmt: skip
    Path("pause").write_text("60")
    log = logs_of(plan, open_study(plan)) / "trial-00000.log"
    with Runner(plan) as runner:
        runner.start()
        (*_, began) = collect(runner, lambda event: event.kind == "began")
        while not (log.exists() and log.read_text().strip()):
            time.sleep(0.02)
        before = time.monotonic()
        runner.kill()
        assert time.monotonic() - before < 20
        assert not runner.alive
        assert [event.kind for event in runner.poll()] == ["interrupted"]
    program = int(log.read_text())
    assert not Path(f"/proc/{program}").exists() or "Z" in Path(f"/proc/{program}/stat").read_text()
    Path("pause").write_text("0")
    first, second = trial_rows(run_study(plan))
    assert first["state"] == "interrupted"
    assert (second["state"], second["retry_of"], second["x"]) == ("complete", 0, began.parameters["x"])


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_and_its_trial_repeated(make_plan: MakePlan) -> None:
    code = (
        "def f(x, y):\n  if not os.path.exists('died'):\n    open('died', 'w').close(); os.kill(os.getpid(), 9)\n"
        "  return x"
    )
    plan = make_plan(objective=objective(code), trials=2)
    events: list[Event] = []
    rows = trial_rows(run_study(plan, on_event=events.append))
    assert [row["state"] for row in rows] == ["interrupted", "complete", "complete"]
    assert rows[1]["x"] == rows[0]["x"]
    (death,) = (event for event in events if event.kind == "died")
    assert "SIGKILL" in death.message


@pytest.mark.slow
def test_parameters_that_kill_every_worker_fail_in_the_end(make_plan: MakePlan) -> None:
    plan = make_plan(objective=objective("def f(x, y):\n  os.abort()"), trials=1)
    rows = trial_rows(run_study(plan))
    assert [row["state"] for row in rows] == ["interrupted"] * (_MOST_CRASHES - 1) + ["failed"]
    assert rows[-1]["reason"] == f"its worker died {_MOST_CRASHES} times (SIGABRT)"


def test_a_worker_that_cannot_start_says_why(make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("betabo.py").write_text("raise RuntimeError('this is not betabo')", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    with pytest.raises(StudyError, match=r"could not start: RuntimeError: this is not betabo \(see .*worker-0.log\)"):
        run_study(make_plan())


@pytest.mark.slow
def test_a_changed_kernel_is_an_event(make_plan: MakePlan) -> None:
    run_study(make_plan(trials=1))
    events: list[Event] = []
    run_study(make_plan(trials=2, config=Config(kernel="beta", starting_points=1000)), on_event=events.append)
    changed = [event.message for event in events if event.kind == "warning"]
    assert changed == [f"kernel was {Config.kernel} and is beta now."]


@pytest.mark.slow
def test_workers_go_when_their_parent_dies(make_plan: MakePlan) -> None:
    plan = make_plan(objective=objective("def f(x, y):\n  print(os.getpid(), flush=True); time.sleep(60)"), trials=2)
    Path("plan.json").write_text(json.dumps(plan.to_json()), encoding="utf-8")
    code = "import json; from betabo.studies import *; run_study(Plan.from_json(json.load(open('plan.json'))))"
    parent = subprocess.Popen([sys.executable, "-c", code])
    log = logs_of(plan, open_study(plan)) / "trial-00000.log"
    wait_for(lambda: log.exists() and bool(log.read_text().strip()))
    worker = int(log.read_text())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    wait_for(lambda: not Path(f"/proc/{worker}").exists())
    (row,) = trial_rows(load_study("test", plan.storage))
    assert row["state"] == "interrupted"  # before anybody has closed it
