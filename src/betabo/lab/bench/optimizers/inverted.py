"""Optimizers that call the objective themselves, turned into ones that are asked and told."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from queue import Queue
from threading import Thread
from typing import Any

import numpy as np

from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.peer import PeerSearch


class InvertedSearch(PeerSearch):
    """An optimizer that takes a function and minimizes it, in a thread of its own.

    The thread works only while `ask` waits for its next point. A search that comes to an end is followed by another
    one from a random point of the box. A failed evaluation counts as the highest value so far.
    """

    @abstractmethod
    def minimize(self, function: Callable[[Any], float], start: Point) -> None:
        """Search from a point, in the problem's own units, for as long as the package wants."""

    def begin(self) -> None:
        """The thread starts with the first proposal, when the values of starting points are known."""
        self._generator = np.random.default_rng(self.seed)
        self._best: tuple[float, Point] | None = None
        self._worst = -math.inf
        self._points: Queue[Point | BaseException] = Queue()
        self._values: Queue[float | None] = Queue()
        self._thread: Thread | None = None

    def propose(self) -> Point:
        """The next point at which the package wants the function."""
        if self._thread is None:
            self._thread = Thread(target=self._work, daemon=True)
            self._thread.start()
        else:
            self._values.put(self._value)
        point = self._points.get()
        if isinstance(point, BaseException):
            raise point
        return point

    def observe(self, point: Point, value: float) -> None:
        """Give the function's value to the package; of starting points only the best is used, to start from."""
        self._worst = max(self._worst, value)
        if self._thread is not None:
            self._value = value  # which it gets when it is asked for its next point
        elif self._best is None or value < self._best[0]:
            self._best = value, point

    def fail(self, point: Point) -> None:
        """Give the highest value so far, 0 while there is none."""
        if self._thread is not None:
            self.observe(point, self._worst if math.isfinite(self._worst) else 0.0)

    def end(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._values.put(None)
            self._thread.join()

    def _work(self) -> None:
        try:
            start = self.from_unit(self._generator.random(len(self.low))) if self._best is None else self._best[1]
            while True:
                self.minimize(self._evaluate, start)
                start = self.from_unit(self._generator.random(len(self.low)))
        except _Ended:
            return
        except BaseException as error:
            self._points.put(error)

    def _evaluate(self, point: Any) -> float:
        self._points.put(np.array(point, dtype=np.float64).reshape(-1))
        value = self._values.get()
        if value is None:
            raise _Ended
        return value


class _Ended(BaseException):
    """Ends the package's search; no `except Exception` of the package stops it."""
