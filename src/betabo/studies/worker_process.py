"""A worker as a process of its own: `python -m betabo.studies.worker_process`.

It reads a plan as one line of JSON from its standard input, and then commands: `stop` ends it after the running trial.
The end of the input means that whoever started it has died, and it goes at once, with everything that it runs. Events
are lines of JSON on its standard output. What the objective prints goes to the trial's log.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import IO

from betabo.files import private_folder
from betabo.studies.command import kill_running
from betabo.studies.errors import StudyError
from betabo.studies.events import Event
from betabo.studies.process import kill_group
from betabo.studies.workspace import Workspace


def main() -> int:
    """Work; returns the exit code, 0 unless the study cannot go on."""
    commands = os.fdopen(os.dup(0), encoding="utf-8")
    events = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    _silence()
    order = json.loads(commands.readline())
    stop = threading.Event()
    threading.Thread(target=_obey, args=(commands, stop), daemon=True).start()

    def emit(event: Event) -> None:
        events.write(replace(event, worker=order["worker"]).to_line() + "\n")

    try:
        # Imported here, so that a plan that waits on the pipe is read, and a dead parent noticed, without delay.
        from betabo.studies.plan import Plan
        from betabo.studies.storage import quiet_optuna
        from betabo.studies.worker import run_worker

        with quiet_optuna():
            outcome = run_worker(Plan.from_json(order["plan"]), stop=stop, on_event=emit, redirect=print_to_log)
    except StudyError as error:
        emit(Event("error", message=str(error)))
        return 1
    except Exception as error:
        traceback.print_exc()
        emit(Event("error", message=f"{type(error).__name__}: {error}"))
        return 1
    emit(Event("stopped", message=outcome.reason))
    return 0


@contextmanager
def print_to_log(workspace: Workspace) -> Iterator[None]:
    """Send what this process and its children print to the log of a trial."""
    private_folder(workspace.log.parent)
    _flush()
    kept = os.dup(1), os.dup(2)
    log = os.open(workspace.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    try:
        yield
    finally:
        _flush()
        for descriptor, original in zip((1, 2), kept, strict=True):
            os.dup2(original, descriptor)
            os.close(original)
        if not workspace.log.stat().st_size:
            workspace.log.unlink()


def _obey(commands: IO[str], stop: threading.Event) -> None:
    for line in commands:
        if line.strip() == "stop":
            stop.set()
    kill_running()
    if hasattr(os, "getpgrp") and os.getpgrp() == os.getpid():
        kill_group(os.getpid())  # with whatever the objective has started
    os._exit(1)


def _silence() -> None:
    """Keep the objective away from the two pipes: no input, and output to standard error."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
