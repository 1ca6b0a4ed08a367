"""Processes that are killed with all that they have started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from betabo.studies.process import kill_group
from waiting import LONG, wait_for

PARENT = "import subprocess, sys; print(subprocess.Popen(['sleep', '3600']).pid, flush=True); input()"


def is_running(pid: int) -> bool:
    """Whether a process is there and is more than its exit code."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_a_group_is_killed_with_its_children() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as leader:
        assert leader.stdout is not None
        child = int(leader.stdout.readline())
        assert is_running(child)
        kill_group(leader.pid)
        leader.wait(LONG)
    wait_for(lambda: not is_running(child))


def test_a_group_that_is_gone_is_no_error() -> None:
    with subprocess.Popen([sys.executable, "-c", ""], start_new_session=True) as process:
        process.wait(LONG)
    kill_group(process.pid)
    assert process.returncode == 0
