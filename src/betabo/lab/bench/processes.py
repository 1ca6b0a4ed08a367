"""Runs in processes of this machine."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from betabo.lab.bench.executor import WORKER_ENVIRONMENT, Event, Failed, Finished, Progressed, Started
from betabo.lab.bench.run import Run, perform
from betabo.lab.bench.storage import encode

_BETWEEN_REPORTS = 0.2  # seconds


class ProcessExecutor:
    """Workers are processes with one thread each. One that dies is replaced.

    Args:
        workers: Number of processes.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def execute(self, runs: Sequence[Run]) -> Generator[Event]:
        """Carry out all runs, see `Executor.execute`."""
        waiting = deque(runs)
        workers: list[_Worker] = []
        try:
            while waiting or workers:
                while waiting and len(workers) < self.workers:
                    workers.append(_Worker(waiting.popleft()))
                heard = wait([worker.connection for worker in workers])
                for worker in [worker for worker in workers if worker.connection in heard]:
                    events = worker.receive()
                    yield from events
                    if isinstance(events[-1], Started | Progressed):
                        continue
                    if worker.alive and waiting:
                        worker.begin(waiting.popleft())
                    else:
                        workers.remove(worker)
                        worker.end()
        finally:
            for worker in workers:
                worker.end()


class _Worker:
    """A process that carries out one run after another."""

    def __init__(self, run: Run) -> None:
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process: SpawnProcess = context.Process(target=_work, args=(theirs,), daemon=True)
        with _environment(WORKER_ENVIRONMENT):
            self._process.start()
        theirs.close()  # so that its end is noticed when the process dies
        self.alive = True
        self.begin(run)

    def begin(self, run: Run) -> None:
        self._run = run
        self._started = False
        with suppress(BrokenPipeError):  # it died while it was waiting: `receive` says so
            self.connection.send(run)

    def receive(self) -> list[Event]:
        run = self._run
        try:
            kind, payload = self.connection.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            self.alive = False
            failed = Failed(run, f"The worker died: {_cause(self._process.exitcode)}.\n")
            return [failed] if self._started else [Started(run), failed]
        if kind == "started":
            self._started = True
            return [Started(run)]
        if kind == "progress":
            return [Progressed(run, *payload)]
        return [Finished(run, payload) if kind == "finished" else Failed(run, payload)]

    def end(self) -> None:
        self.connection.close()
        self._process.terminate()
        self._process.join()


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        hint = ", perhaps for lack of memory" if -code == signal.SIGKILL else ""
        return f"killed by {signal.Signals(-code).name}{hint}"
    return f"exit code {code}"


def _work(connection: Connection) -> None:
    """Carry out what comes through the connection, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted campaign ends its workers itself
    import torch

    torch.set_num_threads(1)
    last = time.monotonic()

    def report(evaluations: int, best: float) -> None:
        nonlocal last
        if time.monotonic() - last > _BETWEEN_REPORTS:
            last = time.monotonic()
            connection.send(("progress", (evaluations, best)))

    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            run = connection.recv()
            connection.send(("started", None))
            try:
                contents = encode(perform(run, report))
            except (BrokenPipeError, ConnectionResetError):
                raise
            except Exception:
                connection.send(("failed", traceback.format_exc()))
            else:
                connection.send(("finished", contents))


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """The variables, while a process is started."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
