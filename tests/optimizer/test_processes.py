"""Processes that evaluate: they have closures, they die and are replaced, and end when nobody needs them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from betabo import minimize
from betabo.optimizer import processes
from betabo.optimizer.processes import WorkerDiedError, WorkerProcesses
from waiting import LONG, wait_for

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are forked on Linux alone")
BOX = [(-5.0, 10.0), (0.0, 15.0)]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_evaluate_a_closure_at_the_same_time_in_several_processes() -> None:
    shift = 2.0

    def slow(x: Any) -> float:
        time.sleep(0.3)
        return float((x[0] - shift) ** 2 + os.getpid())

    result = minimize(slow, BOX, budget=4, seed=0, workers=4)
    assert result.nfev == 4
    pids = {round(e.value - (result.space.from_unit(e.unit)[0] - shift) ** 2) for e in result.history}
    assert len(pids) == 4
    assert os.getpid() not in pids
    assert not any(is_running(pid) for pid in pids)


def test_an_exception_comes_back_with_where_it_was_raised() -> None:
    def fails(x: Any) -> float:
        raise KeyError("from inside")

    with pytest.raises(KeyError, match="from inside") as caught:
        minimize(fails, BOX, budget=4, seed=0, workers=2)
    assert any("in fails" in note for note in caught.value.__notes__)


def test_an_error_that_cannot_be_sent_is_told() -> None:
    class OddError(Exception):
        def __init__(self, a: int, b: int) -> None:
            super().__init__("odd")

    def fails(x: Any) -> float:
        raise OddError(1, 2)

    pool = WorkerProcesses(fails, 1)
    with pytest.raises(RuntimeError, match="OddError: odd"):
        pool.submit({}).result()
    pool.close()


def test_a_process_that_dies_is_replaced() -> None:
    def kills(x: Any) -> float:
        if x["n"] == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return float(x["n"])

    pool = WorkerProcesses(kills, 1)
    with pytest.raises(WorkerDiedError, match=r"died .SIGKILL"):
        pool.submit({"n": 1}).result()
    assert pool.submit({"n": 2}).result() == 2
    pool.close()


def test_a_death_is_a_failed_evaluation() -> None:
    def leaves(x: Any) -> float:
        if x[0] > 5:
            os._exit(7)
        return float(x[0])

    result = minimize(leaves, BOX, budget=8, seed=0, workers=2, on_error="record")
    assert result.nfev == 8
    assert result.nfail
    assert all("exit code 7" in e.error for e in result.history if e.failed)


def test_processes_end_with_the_search_that_is_interrupted(tmp_path: Path) -> None:
    script = tmp_path / "search.py"
    script.write_text(
        textwrap.dedent("""
            import os, signal, time
            from pathlib import Path
            from betabo import minimize

            signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it

            def slow(x):
                Path(f"pid-{os.getpid()}").touch()
                time.sleep(0.1 if len(list(Path(".").glob("value-*"))) < 2 else 3600)
                Path(f"value-{time.time()}").touch()
                return float(x[0])

            result = minimize(slow, [(0, 1)], budget=50, seed=0, workers=2, starting_points=50)
            print(result.message, flush=True)
            """)
    )
    child = subprocess.Popen([sys.executable, script], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    wait_for(lambda: child.poll() is not None or len(list(tmp_path.glob("value-*"))) >= 2)
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=LONG)
    assert "interrupted after" in said
    assert not any(is_running(int(path.name[4:])) for path in tmp_path.glob("pid-*"))


def test_processes_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "search.py"
    script.write_text(
        textwrap.dedent("""
            import os, time
            from pathlib import Path
            from betabo import minimize

            def slow(x):
                Path(f"pid-{os.getpid()}").touch()
                time.sleep(3600)

            minimize(slow, [(0, 1)], seed=0, workers=2)
            """)
    )
    child = subprocess.Popen([sys.executable, script], cwd=tmp_path)
    wait_for(lambda: child.poll() is not None or len(list(tmp_path.glob("pid-*"))) >= 2)
    child.kill()
    child.wait()
    pids = [int(path.name[4:]) for path in tmp_path.glob("pid-*")]
    assert len(pids) == 2
    wait_for(lambda: not any(is_running(pid) for pid in pids))


def test_a_function_that_cannot_be_sent_is_refused_where_processes_are_not_forked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "_can_fork", lambda: False)
    with pytest.raises(TypeError, match=r"cannot be sent to another process .* define it at the top of a module"):
        minimize(lambda x: 1.0, BOX, budget=4, seed=0, workers=2)
