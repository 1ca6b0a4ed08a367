"""A worker as a process of its own: its pipes, its commands, its end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from betabo.studies import Event, FunctionObjective, Plan, Workspace, open_study
from betabo.studies.plan import logs_of
from betabo.studies.worker_process import print_to_log

MakePlan = Callable[..., Plan]


def run_worker_process(order: str, *commands: str) -> tuple[int, list[Event]]:
    """Exit code and events of a worker that is given an order, and whose input then stays open until its end."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "betabo.studies.worker_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in (order, *commands):
            process.stdin.write(line + "\n")
            process.stdin.flush()
        events = [Event.from_line(line) for line in process.stdout]
        process.stdin.close()
    return process.returncode, events


def test_it_works_and_tells_who_it_is(make_plan: MakePlan) -> None:
    Path("job.py").write_text("def f(x, y):\n  print('said')\n  return input() if x > 2 else x")
    plan = make_plan(objective=FunctionObjective("job.py:f"), trials=2)
    code, events = run_worker_process(json.dumps({"plan": plan.to_json(), "worker": 5}))
    assert code == 0
    assert [event.kind for event in events] == ["ready", "began", "finished", "began", "finished", "stopped"]
    assert {event.worker for event in events} == {5}
    assert events[-1].message == "done"
    assert (logs_of(plan, open_study(plan)) / "trial-00001.log").read_text() == "said\n"


def test_it_stops_when_it_is_told_to(make_plan: MakePlan) -> None:
    plan = make_plan(trials=10_000)
    code, events = run_worker_process(json.dumps({"plan": plan.to_json(), "worker": 0}), "stop")
    assert code == 0
    assert (events[-1].kind, events[-1].message) == ("stopped", "stopped")
    assert len(open_study(plan).trials) < 10_000


def test_an_objective_that_is_broken_is_an_error(make_plan: MakePlan) -> None:
    plan = make_plan()
    order = {"plan": {**plan.to_json(), "objective": FunctionObjective("train.py:nothing").to_json()}, "worker": 1}
    code, events = run_worker_process(json.dumps(order))
    assert code == 1
    assert [event.kind for event in events] == ["error"]
    assert "train.py has no function nothing; it has write, objective" in events[0].message


class TestLog:
    def test_has_what_the_process_and_its_children_print(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        workspace = Workspace.of(tmp_path / "test", 0)
        with capfd.disabled(), print_to_log(workspace):
            subprocess.run([sys.executable, "-S", "-c", "print('child')"], check=True)
            sys.__stdout__.write("out\n")  # type: ignore[union-attr]
            sys.__stdout__.flush()  # type: ignore[union-attr]
            sys.__stderr__.write("err\n")  # type: ignore[union-attr]
        assert workspace.log.read_text() == "child\nout\nerr\n"

    def test_that_is_empty_is_taken_away(self, tmp_path: Path) -> None:
        workspace = Workspace.of(tmp_path / "test", 0)
        with print_to_log(workspace):
            pass
        assert workspace.log.parent.exists()
        assert not workspace.log.exists()

    def test_of_a_failure_is_kept(self, tmp_path: Path) -> None:
        workspace = Workspace.of(tmp_path / "test", 0)
        code = "import sys; print('before'); sys.exit(3)"
        with pytest.raises(subprocess.CalledProcessError), print_to_log(workspace):
            subprocess.run([sys.executable, "-S", "-c", code], check=True)
        assert workspace.log.read_text() == "before\n"
