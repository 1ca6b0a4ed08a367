"""Run a study with worker processes, watch over them, and stop them."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO

from optuna.study import Study

from betabo.files import end_of, private_folder
from betabo.optimizer.stopping import Stopping
from betabo.optuna.attributes import REASON
from betabo.studies.database_errors import patience
from betabo.studies.errors import StudyError
from betabo.studies.events import Event
from betabo.studies.manage import forget_if_empty
from betabo.studies.plan import Plan, logs_of, open_study
from betabo.studies.process import kill_group
from betabo.studies.recovery import Recovery, close_trial
from betabo.studies.stopping import study_progress

_MOST_CRASHES = 3  # times that the same parameters may take their worker down before the trial counts as failed
_MOST_DEATHS = 10  # of workers in a row without a finished trial in between
_PATIENCE = 3.0  # seconds for a worker to go by itself when it has to
_TICK = 0.05  # seconds between two looks at the workers


class Runner:
    """Worker processes on one study.

    Workers that die are replaced, and their trials repeated. Used as a context, it kills what still runs at the end.

    Args:
        plan: What to do.
        workers: Number of processes.
        study: The study that was opened from the plan, if it is open already.

    Attributes:
        study: The study, once it is open.
        error: Why the study cannot go on, empty if it can.
    """

    def __init__(self, plan: Plan, workers: int = 1, study: Study | None = None) -> None:
        if not isinstance(workers, int) or workers < 1:
            raise StudyError(f"workers is {workers!r}, expected a whole number of at least 1.")
        self._plan, self._workers = plan, workers
        self._order = plan.to_json()
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._processes: dict[int, _Process] = {}
        self._deaths = 0
        self._crashes: Counter[str] = Counter()
        self._stopping = False
        self._home = plan.logs
        self.study = study
        self.error = ""

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.alive:
            self.kill()

    def start(self) -> None:
        """Open the study, if need be, and start the workers.

        Raises:
            StudyError: The objective, the storage or the study does not fit the plan.
        """
        if self.study is None:
            self.study = open_study(self._plan, lambda line: self._events.put(Event("warning", message=line)))
        self._home = logs_of(self._plan, self.study)
        private_folder(self._home)
        for number in range(self._workers):
            self._launch(number)

    @property
    def alive(self) -> bool:
        """Whether a worker is still there."""
        return any(process.alive for process in self._processes.values())

    @property
    def processes(self) -> list[int]:
        """The process ids of the workers, in the order of their numbers."""
        return [process.pid for _, process in sorted(self._processes.items())]

    def poll(self) -> list[Event]:
        """What has happened since the last call. Dead workers are replaced here and in `wait`."""
        self._supervise()
        events = []
        with suppress(queue.Empty):
            while True:
                events.append(self._events.get_nowait())
        return events

    def stop(self) -> None:
        """Ask the workers to end after their running trials."""
        self._stopping = True
        for process in self._processes.values():
            process.stop()

    def kill(self) -> None:
        """End the workers at once. What is stored stays; their running trials will be repeated."""
        self._stopping = True
        for process in self._processes.values():
            process.abandon()
        deadline = time.monotonic() + _PATIENCE
        while self.alive and time.monotonic() < deadline:
            time.sleep(_TICK)
        for process in self._processes.values():
            process.kill()
            process.finish()
            process.reported = True
        if self.study is not None:
            with suppress(StudyError), patience(0):  # the next run will find them too
                for number, why in Recovery(self.study).recover("it was stopped at once"):
                    self._events.put(Event("interrupted", trial=number, message=why))

    def wait(self) -> None:
        """Wait until all workers have ended."""
        while self.alive:
            self._supervise()
            time.sleep(_TICK)
        self._supervise()

    def _launch(self, number: int) -> None:
        environment = dict(os.environ)
        if self._workers > 1:
            cores = os.cpu_count() or 1
            environment.setdefault("OMP_NUM_THREADS", str(max(1, cores // self._workers)))
        log = self._home / f"worker-{number}.log"
        self._processes[number] = _Process(number, self._order, environment, log, self._receive)

    def _receive(self, event: Event) -> None:
        if event.kind == "finished":
            self._deaths = 0
        if event.kind == "error":
            self.error = self.error or event.message
            self.stop()
        self._events.put(event)

    def _supervise(self) -> None:
        """Replace workers that died."""
        for number, process in list(self._processes.items()):
            if process.alive or process.reported:
                continue
            process.finish()
            process.reported = True
            if process.ended_well or self._stopping:
                continue
            self._deaths += 1
            self._note_crash(process)
            if not process.was_ready and not process.was_killed:
                self._receive(Event("error", number, message=f"a worker could not start: {process.last_words()}"))
            elif self._deaths > _MOST_DEATHS:
                message = f"workers died {self._deaths} times without a finished trial, {process.cause()} at last"
                self._receive(Event("error", number, message=f"{message}; see {process.log}."))
            else:
                self._receive(
                    Event("died", number, message=f"worker {number} died ({process.cause()}); a new one starts")
                )
                self._launch(number)

    def _note_crash(self, process: _Process) -> None:
        """Give up on parameters that take every worker down that tries them."""
        if process.trial is None:
            return
        key = json.dumps(process.trial.parameters, sort_keys=True)
        self._crashes[key] += 1
        if self._crashes[key] < _MOST_CRASHES:
            return
        reason = f"its worker died {self._crashes[key]} times ({process.cause()})"
        number = process.trial.trial
        assert number is not None
        assert self.study is not None
        closed = False
        with suppress(StudyError), patience(0):  # it will be tried once more
            closed = close_trial(self.study, number, REASON, reason)
        if closed:
            self._receive(replace(process.trial, kind="finished", state="failed", message=reason))


class _Process:
    """One worker process, and the thread that listens to it."""

    def __init__(
        self,
        number: int,
        order: dict[str, object],
        environment: dict[str, str],
        log: Path,
        receive: Callable[[Event], None],
    ) -> None:
        self.log, self.reported, self.was_ready, self.ended_well = log, False, False, False
        self.trial: Event | None = None  # that it began and has not finished
        self._receive = receive
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "betabo.studies.worker_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env=environment,
                text=True,
                encoding="utf-8",
                start_new_session=True,  # a Ctrl-C is for whoever watches, who then says stop
            )
        self._say(json.dumps({"plan": order, "worker": number}))
        self._listener = threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True)
        self._listener.start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        self._say("stop")

    def abandon(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def kill(self) -> None:
        if self.alive:
            kill_group(self._process.pid)
        self._process.wait()

    def finish(self) -> None:
        """Hear what the ended process said last, and let go of it."""
        self._process.wait()
        self.abandon()
        self._listener.join(2)  # a process that the objective left behind may hold the pipe open
        if not self._listener.is_alive():
            assert self._process.stdout is not None
            self._process.stdout.close()
        if self.log.exists() and not self.log.stat().st_size:
            self.log.unlink()

    @property
    def was_killed(self) -> bool:
        return self._process.returncode < 0

    def cause(self) -> str:
        code = self._process.returncode
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def last_words(self) -> str:
        lines = end_of(self.log).decode("utf-8", "replace").split("\n") if self.log.exists() else []
        said = [line.strip() for line in lines if line.strip()]
        return f"{said[-1]} (see {self.log})" if said else self.cause()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # it may be gone already
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def _listen(self, stream: IO[str]) -> None:
        for line in stream:
            event = Event.from_line(line)
            self.was_ready = self.was_ready or event.kind == "ready"
            if event.kind in ("began", "finished", "lost"):
                self.trial = event if event.kind == "began" else None
            self.ended_well = self.ended_well or event.kind in ("stopped", "error")
            self._receive(event)


def run_study(
    plan: Plan,
    workers: int = 1,
    on_event: Callable[[Event], None] | None = None,
    study: Study | None = None,
    stopping: Stopping | None = None,
) -> Study:
    """Run a study to its end, or resume it.

    Args:
        plan: What to do.
        workers: Number of processes.
        on_event: Called with what happens, in this thread.
        study: The study that was opened from the plan, if it is open already.
        stopping: What may end the run before the study has its trials, see `as_stopping`; running trials end first.

    Returns:
        The study.

    Raises:
        StudyError: The study cannot go on; everything until then is stored.
    """
    with Runner(plan, workers, study) as runner:
        runner.start()
        assert runner.study is not None
        running, is_enough = True, stopping is None or stopping.is_empty
        while running:
            running = runner.alive
            for event in runner.poll():
                if on_event is not None:
                    on_event(event)
            if stopping is not None and not is_enough and stopping.reason(study_progress(runner.study, plan)):
                is_enough = True
                runner.stop()
            running = running or runner.alive
            time.sleep(_TICK)
        if runner.error:
            with suppress(StudyError), patience(0):
                forget_if_empty(runner.study)
            raise StudyError(runner.error)
        return runner.study
