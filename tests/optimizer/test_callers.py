"""Who calls the objective: here, in threads, pools and processes, and what comes back."""

from __future__ import annotations

import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from typing import Any

import pytest

from betabo import minimize
from betabo.optimizer.callers import make_caller
from waiting import LONG

BOX = [(-5.0, 10.0), (0.0, 15.0)]


def bowl(x: Any) -> float:
    return float((x[0] - 2) ** 2 + (x[1] - 5) ** 2)


class Client:
    """As a Dask client: futures of its own, no `_max_workers`."""

    def __init__(self) -> None:
        self.options: list[dict[str, Any]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.options.append(kwargs)
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def ncores(self) -> dict[str, int]:
        return {"a": 2, "b": 1}


def test_one_worker_is_this_process() -> None:
    here = minimize(bowl, BOX, budget=8, seed=0)
    assert [e.unit for e in minimize(bowl, BOX, budget=8, seed=0, workers=1).history] == [e.unit for e in here.history]


def test_an_executor_has_as_many_points_as_it_has_workers() -> None:
    most, running = [], []

    def slow(x: Any) -> float:
        running.append(1)
        most.append(len(running))
        time.sleep(0.05)
        running.pop()
        return bowl(x)

    with ThreadPoolExecutor(3) as executor:
        result = minimize(slow, BOX, budget=9, seed=0, executor=executor)
    assert result.nfev == 9
    assert max(most) == 3


def test_a_free_worker_gets_a_point_at_once() -> None:
    """The first evaluation waits for the last one, which another worker gets in the meantime."""
    others = threading.Semaphore(0)

    def uneven(x: Any) -> float:
        if x[0] == -5:
            assert all(others.acquire(timeout=LONG) for _ in range(5))
        others.release()
        return bowl(x)

    with ThreadPoolExecutor(2) as executor:
        result = minimize(uneven, BOX, budget=6, seed=0, executor=executor, initial=[[-5, 0]], starting_points=6)
    assert sorted(e.failed for e in result.history) == [False] * 6
    assert bowl([-5, 0]) in [e.value for e in result.history]


def test_a_dask_client_is_told_that_equal_calls_may_differ() -> None:
    client = Client()
    assert minimize(bowl, BOX, budget=4, seed=0, executor=client).nfev == 4
    assert client.options == [{}] * 4
    Client.__module__, before = "distributed.client", Client.__module__
    try:
        minimize(bowl, BOX, budget=4, seed=0, executor=client)
    finally:
        Client.__module__ = before
    assert client.options[4:] == [{"pure": False}] * 4


def test_a_pool_has_callbacks() -> None:
    with ThreadPool(2) as pool:
        result = minimize(bowl, BOX, budget=5, seed=0, executor=pool)
    assert result.nfev == 5

    def fails(x: Any) -> float:
        raise ValueError("bad")

    with ThreadPool(2) as pool, pytest.raises(ValueError, match="bad"):
        minimize(fails, BOX, budget=5, seed=0, executor=pool)


def test_evaluations_that_are_under_way_at_the_end_are_waited_for() -> None:
    with ThreadPoolExecutor(3) as executor:
        result = minimize(bowl, BOX, budget=30, seed=0, executor=executor, target=1e9)
    assert result.message == "the target of 1e+09 is reached"
    assert 1 <= result.nfev <= 3


def test_what_cannot_call_is_refused() -> None:
    with pytest.raises(TypeError, match=r"executor is 4, expected one of concurrent\.futures, a Dask client"):
        minimize(bowl, BOX, executor=4)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="workers is 0, expected at least 1"):
        minimize(bowl, BOX, workers=0)

    class Plain:
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            raise NotImplementedError

    with pytest.raises(ValueError, match="Plain does not say how many workers it has; pass workers= too"):
        make_caller(bowl, None, Plain())


class Broken(Executor):
    """Takes a few points, and then no more."""

    def __init__(self, most: int) -> None:
        self.left = most

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        if self.left == 0:
            raise BrokenExecutor("a process died")
        self.left -= 1
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_an_executor_that_breaks_loses_nothing() -> None:
    result = minimize(bowl, BOX, budget=6, seed=0, workers=1, executor=Broken(3))
    assert (result.nfev, result.nfail) == (6, 3)
    assert result.history[-1].error == "BrokenExecutor: a process died"
