"""Who calls the objective: this process, processes of our own, or an executor of the user's."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from types import TracebackType
from typing import Any, Protocol, TypeAlias, runtime_checkable

from betabo.optimizer.evaluation import call
from betabo.optimizer.processes import WorkerProcesses
from betabo.space.checks import integer

_LOOK = 0.2  # seconds after which a Ctrl-C is seen, where a wait without a limit would hide it


@runtime_checkable
class SubmitExecutor(Protocol):
    """What `concurrent.futures` and Dask call an executor or a client."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function elsewhere; returns a future."""
        ...


@runtime_checkable
class PoolExecutor(Protocol):
    """What `multiprocessing` and Ray call a pool."""

    def apply_async(
        self, func: Callable[..., Any], args: tuple[Any, ...], *, callback: Any, error_callback: Any
    ) -> Any:
        """Call a function elsewhere, and pass what comes of it to one of the callbacks."""
        ...


Executor: TypeAlias = SubmitExecutor | PoolExecutor


class Caller:
    """Calls the objective in this process, one point at a time.

    Used as a context, it lets go of what it holds at the end.

    Args:
        fun: The objective.
    """

    def __init__(self, fun: Callable[[Any], Any]) -> None:
        self._fun = fun
        self._waiting: list[Any] = []

    @property
    def is_free(self) -> bool:
        """Whether it takes another point now."""
        return not self._waiting

    @property
    def is_busy(self) -> bool:
        """Whether a point is under way."""
        return bool(self._waiting)

    def submit(self, point: Any) -> None:
        """Begin to evaluate a point."""
        self._waiting.append(point)

    def take(self) -> tuple[Any, Callable[[], Any]]:
        """The next point that has ended, and what returns what the objective returned, or raises what went wrong."""
        point = self._waiting.pop()
        return point, partial(call, self._fun, point)

    def __enter__(self) -> Caller:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class ParallelCaller(Caller):
    """Calls the objective elsewhere, several points at a time; whoever is free gets a point at once.

    Args:
        fun: The objective.
        workers: Number of points at a time.
        executor: Who evaluates them; None starts as many processes.
    """

    def __init__(self, fun: Callable[[Any], Any], workers: int, executor: Executor | None) -> None:
        super().__init__(fun)
        self._workers, self._executor = workers, executor
        self._processes: WorkerProcesses | None = None
        self._under_way: dict[int, Any] = {}
        self._count = 0
        self._ended: queue.Queue[tuple[int, Callable[[], Any]]] = queue.Queue()

    @property
    def is_free(self) -> bool:
        """Whether a worker has nothing to do."""
        return len(self._under_way) < self._workers

    @property
    def is_busy(self) -> bool:
        """Whether a point is under way."""
        return bool(self._under_way)

    def submit(self, point: Any) -> None:
        """Give a point to a worker."""
        self._count += 1
        number = self._count
        self._under_way[number] = point
        if self._processes is not None:
            self._hear(number, self._processes.submit(point))
        elif isinstance(self._executor, SubmitExecutor):
            # Dask answers an equal call from its memory, unless it is told that a function may have other results.
            options = {"pure": False} if type(self._executor).__module__.startswith("distributed") else {}
            try:
                self._hear(number, self._executor.submit(call, self._fun, point, **options))
            except Exception as error:  # a pool that broke takes no more points, and what is known must not be lost
                self._ended.put((number, partial(_raise, error)))
        elif self._executor is not None:
            self._executor.apply_async(
                call,
                (self._fun, point),
                callback=lambda value: self._ended.put((number, lambda: value)),
                error_callback=lambda error: self._ended.put((number, partial(_raise, error))),
            )

    def take(self) -> tuple[Any, Callable[[], Any]]:
        """The next point that has ended, and what returns what the objective returned, or raises what went wrong."""
        while True:
            try:
                number, outcome = self._ended.get(timeout=_LOOK)
            except queue.Empty:
                continue
            return self._under_way.pop(number), outcome

    def __enter__(self) -> ParallelCaller:
        if self._executor is None:
            self._processes = WorkerProcesses(self._fun, self._workers)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._processes is not None:
            self._processes.close()

    def _hear(self, number: int, future: Future[Any]) -> None:
        future.add_done_callback(lambda done: self._ended.put((number, done.result)))


def make_caller(fun: Callable[[Any], Any], workers: int | None, executor: Executor | None) -> Caller:
    """Who calls an objective.

    Args:
        fun: The objective.
        workers: Number of points at a time; None is 1, or what the executor says that it has.
        executor: Who evaluates them, see `betabo.minimize`.

    Raises:
        TypeError: The executor is none.
        ValueError: There are less than one worker, or the executor does not say how many it has.
    """
    if executor is not None and not isinstance(executor, SubmitExecutor | PoolExecutor):
        raise TypeError(
            f"executor is {executor!r}, expected one of concurrent.futures, a Dask client, or a pool of "
            "multiprocessing or Ray: something with submit or apply_async."
        )
    if workers is not None and integer("workers", workers) < 1:
        raise ValueError(f"workers is {workers}, expected at least 1.")
    if executor is None:
        return Caller(fun) if workers in (None, 1) else ParallelCaller(fun, int(workers or 1), None)
    return ParallelCaller(fun, _size(executor) if workers is None else workers, executor)


def _size(executor: Executor) -> int:
    """How many points an executor evaluates at a time."""
    for name in ("_max_workers", "_processes"):  # of concurrent.futures; of pools
        if isinstance(size := getattr(executor, name, None), int):
            return size
    if callable(cores := getattr(executor, "ncores", None)):  # of a Dask client
        return max(1, sum(int(count) for count in cores().values()))
    raise ValueError(f"{type(executor).__name__} does not say how many workers it has; pass workers= too.")


def _raise(error: BaseException) -> Any:
    raise error
