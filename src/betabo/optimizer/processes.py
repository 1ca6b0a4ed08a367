"""Processes that evaluate a function, one point at a time each; one that dies is replaced."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from typing import Any

from betabo.optimizer.evaluation import call

_PATIENCE = 3.0  # seconds that a process may take to end
_LOOK = 1.0  # seconds between two looks of a process at whether its parent is still there


class WorkerDiedError(RuntimeError):
    """The process that evaluated a point died."""


class WorkerProcesses:
    """Processes with a function to evaluate.

    Where processes can be forked they have the function as it is, and it may be a lambda, a closure or a cell of a
    notebook. Elsewhere, and when CUDA is in use, which does not survive a fork, it is pickled: there it has to be
    defined at the top of a module, and a script needs `if __name__ == "__main__":`.

    Args:
        fun: The function, of one point.
        count: Number of processes.
    """

    def __init__(self, fun: Callable[[Any], Any], count: int) -> None:
        self._fun, self._count = fun, count
        self._context: Any = get_context("fork" if _can_fork() else "spawn")
        if self._context.get_start_method() == "spawn":
            _check_pickles(fun)
        self._starting = threading.Lock()
        self._closed = False
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._workers: set[_Worker] = set()
        for _ in range(count):
            self._idle.put(self._start())
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="betabo-worker")

    def submit(self, point: Any) -> Future[Any]:
        """Evaluate a point in the next free process."""
        return self._threads.submit(self._evaluate, point)

    def close(self) -> None:
        """End all processes, those that evaluate too."""
        self._closed = True
        for worker in list(self._workers):
            worker.end()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _start(self) -> _Worker:
        with self._starting:
            worker = _Worker(self._context, self._fun, self._count)
            self._workers.add(worker)
        return worker

    def _evaluate(self, point: Any) -> Any:
        worker = self._idle.get()
        try:
            value = worker.evaluate(point)
        except WorkerDiedError:
            self._workers.discard(worker)
            if not self._closed:
                worker = self._start()
            raise
        finally:
            self._idle.put(worker)
        return value


class _Worker:
    """One process, seen from outside."""

    def __init__(self, context: Any, fun: Callable[[Any], Any], count: int) -> None:
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(fun, theirs, os.getpid(), count), daemon=True)
        with warnings.catch_warnings():
            # Python warns of forks beside threads, whose locks a child may find closed. It uses none of ours.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        theirs.close()

    def evaluate(self, point: Any) -> Any:
        with suppress(OSError):  # it is gone, as is seen next
            self._connection.send(point)
        wait([self._connection, self._process.sentinel])
        try:
            succeeded, found = self._connection.recv()
        except (EOFError, OSError):
            self._process.join()
            raise WorkerDiedError(f"the process that evaluated it died ({self._cause()})") from None
        if not succeeded:
            raise found
        return found

    def end(self) -> None:
        self._process.terminate()
        self._process.join(_PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _cause(self) -> str:
        code = self._process.exitcode
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _serve(fun: Callable[[Any], Any], connection: Connection, parent: int, count: int) -> None:
    """Evaluate the points that come, until nobody is there to send any."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for whoever waits for the result
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    _share_cores(count)
    with suppress(EOFError, OSError):
        while True:
            point = connection.recv()
            try:
                answer: tuple[bool, Any] = (True, call(fun, point))
                pickle.dumps(answer)
            except BaseException as error:
                error.add_note(
                    "".join(["In the process that evaluated it:\n", *traceback.format_tb(error.__traceback__)])
                )
                answer = (False, _picklable(error))
            connection.send(answer)


def _leave_with(parent: int) -> None:
    """End this process when its parent has died; its pipes do not tell, since other children hold their ends too."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)


def _share_cores(count: int) -> None:
    """Leave threads to the other processes; one to torch, whose threads do not survive a fork."""
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    threadpool_limits(max(1, (os.cpu_count() or 1) // count), user_api="blas")


def _picklable(error: BaseException) -> BaseException:
    """The error, or one that says the same, if the error itself cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")


def _can_fork() -> bool:
    import torch

    return sys.platform.startswith("linux") and not torch.cuda.is_initialized()


def _check_pickles(fun: Callable[[Any], Any]) -> None:
    try:
        pickle.dumps(fun)
    except Exception as error:
        raise TypeError(
            f"fun is {fun!r}, which cannot be sent to another process ({error}); define it at the top of a module, or "
            "pass an executor that sends functions by value, such as a Dask client."
        ) from error
