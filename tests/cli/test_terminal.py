"""The command in a terminal of its own: the live table, Ctrl-C once and twice, and going on afterwards."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from waiting import LONG

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal"),
]

OBJECTIVE = """
import os, time

def objective(x, n):
    with open("evaluated.txt", "a") as log:
        log.write(f"{x!r} {n}\\n")
    time.sleep(1.5)
    return x + n
"""


class Terminal:
    """A process on a pseudo-terminal of 80 columns and 24 lines."""

    def __init__(self, *arguments: str) -> None:
        self._master, slave = os.openpty()
        os.set_blocking(self._master, False)
        environment = {**os.environ, "COLUMNS": "80", "LINES": "24", "TERM": "xterm-256color", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "betabo", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(slave)
        self.output = ""

    def until(self, pattern: str, seconds: float = LONG) -> str:
        """Read until a pattern appears in what comes from now on."""
        start, deadline = len(self.output), time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._read(0.2)
            if re.search(pattern, self.output[start:]):
                return self.output[start:]
        raise AssertionError(f"no {pattern!r} in {self.output[start:][-3000:]!r}")

    def interrupt(self) -> None:
        """Type Ctrl-C: the terminal sends the signal to the whole foreground group."""
        os.write(self._master, b"\x03")

    def end(self, seconds: float = LONG) -> int:
        """Wait for the end; returns the exit code."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.output[-3000:]
            self._read(0.2)
        self._read(0.0)
        os.close(self._master)
        return self.process.returncode

    def _read(self, seconds: float) -> None:
        while select.select([self._master], [], [], seconds)[0]:
            try:
                chunk = os.read(self._master, 65536)
            except (BlockingIOError, OSError):  # Linux says EIO when nobody holds the other side any more
                return
            if not chunk:
                return
            self.output += chunk.decode("utf-8", "replace")
            seconds = 0.0


def _take_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text(OBJECTIVE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BETABO_STORAGE", raising=False)
    return tmp_path


def minimize(trials: int) -> list[str]:
    space = ["--param", "x=0..1", "--param", "n=1..9:int"]
    return ["minimize", "train.py:objective", *space, "--trials", str(trials), "--workers", "2", "--seed", "0"]


def rows(path: Path = Path("rows.json")) -> list[dict[str, object]]:
    command = [sys.executable, "-m", "betabo", "export", "train-objective", "--out", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    found: list[dict[str, object]] = json.loads(path.read_text())
    return found


def is_complete(found: list[dict[str, object]], total: int) -> bool:
    """Whether every trial that counts is stored with its value."""
    complete = [row for row in found if row["state"] == "complete"]
    return len(complete) == total and all(row["value"] == row["x"] + row["n"] for row in complete)


def test_first_interrupt_finishes_the_running_trials(folder: Path) -> None:
    terminal = Terminal(*minimize(30))
    terminal.until(r"2/30")
    terminal.interrupt()
    terminal.until(r"Stopping after the running trials")
    assert terminal.end() == 130
    assert "everything is stored; the same command again goes on" in terminal.output
    found = rows()
    complete = [row for row in found if row["state"] == "complete"]
    assert 2 <= len(complete) < 30
    assert len(Path("evaluated.txt").read_text().splitlines()) == len(complete)
    # A worker may have been about to begin the next trial.
    assert {row["reason"] for row in found} <= {None, "stopped before it began"}

    total = len(complete) + 2
    again = Terminal(*minimize(total))
    again.until(rf"it goes on after {len(complete)} trials")
    assert again.end() == 0
    assert is_complete(rows(), total)


def test_second_interrupt_stops_at_once_and_repeats_next_time(folder: Path) -> None:
    terminal = Terminal(*minimize(6))
    terminal.until(r"2/6")
    terminal.until(r"running")
    terminal.interrupt()
    terminal.until(r"Stopping after the running trials")
    terminal.interrupt()
    assert terminal.end() == 130
    found = rows()
    assert not any(row["state"] == "running" for row in found)
    again = Terminal(*minimize(6))
    assert again.end() == 0
    found = rows()
    assert is_complete(found, 6)
    repeated = {row["retry_of"]: (row["x"], row["n"]) for row in found if row["retry_of"] is not None}
    interrupted = {row["number"]: (row["x"], row["n"]) for row in found if row["state"] == "interrupted"}
    assert repeated == interrupted


def test_termination_stores_everything(folder: Path) -> None:
    terminal = Terminal(*minimize(30))
    terminal.until(r"2/30")
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.end() == 130
    assert not any(row["state"] == "running" for row in rows())


def test_pipe_gets_a_line_for_each_trial(folder: Path) -> None:
    command = [sys.executable, "-m", "betabo", *minimize(3)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LONG)
    assert re.findall(r"^\[(\d)/3\] trial \d  value ", done.stdout, re.MULTILINE) == ["1", "2", "3"]
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


def test_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m betabo kernels | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
