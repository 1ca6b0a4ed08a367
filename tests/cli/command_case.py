"""What the tests of commands share: an objective, a runner without processes, a check of errors."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, redirect_stderr

from optuna.study import Study
from typer.testing import Result

from betabo.studies import Event, Plan, StudyError, Workspace, run_worker

Betabo = Callable[..., Result]
"""Runs a command with the given arguments."""

OBJECTIVE = """
def paraboloid(x, layers, act):
    if layers == 3:
        raise RuntimeError("three layers do not work")
    return (x - 0.25) ** 2 + (8 - layers) / 10 + (act == "relu")

def two(x, layers, act):
    return x, layers

def text(x, layers, act):
    return "hello"

def deep(x, layers, act):
    return 8 - layers + x / 100

def broken(x, layers, act):
    raise RuntimeError("never works")
"""
SPACE = ["--param", "x=0..1", "--param", "layers=1..8:int", "--param", "act=relu|gelu"]


def _silence(_: Workspace) -> AbstractContextManager[object]:
    return redirect_stderr(io.StringIO())


class ThreadRunner:
    """A `Runner` whose one worker is a thread of this process, where torch is loaded already."""

    def __init__(self, plan: Plan, workers: int = 1, study: Study | None = None) -> None:
        self.error = ""
        self._plan, self._stop, self._events = plan, threading.Event(), []
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        try:
            run_worker(self._plan, stop=self._stop, on_event=self._events.append, redirect=_silence)
        except StudyError as error:
            self.error = str(error)

    def start(self) -> None:
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def poll(self) -> list[Event]:
        count = len(self._events)
        events, self._events[:count] = self._events[:count], []
        return events

    def stop(self) -> None:
        self._stop.set()

    def kill(self) -> None:
        self._stop.set()
        self._thread.join()


def one_line(result: Result) -> str:
    """The error of a command, which is one line with exit code 2."""
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: "), result.stderr
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr.removeprefix("error: ").rstrip("\n")
