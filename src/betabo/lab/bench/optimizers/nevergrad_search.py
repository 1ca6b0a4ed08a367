"""NGOpt of the package nevergrad, which chooses an algorithm by dimension and budget."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import Any

import numpy as np

from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.peer import PeerSearch, package

_SAME = 1e-9  # distance of points that are the same, in sides of the box


class NevergradSearch(PeerSearch):
    """Nevergrad's `NGOpt`, started at the best starting point, or by itself at the centre of the box.

    The other starting points are told to it too; some of the algorithms it chooses take no points but their own.

    Args:
        budget: Evaluations to plan for, given starting points left out.
    """

    def __init__(self, budget: int = 100) -> None:
        if budget < 1:
            raise ValueError(f"budget is {budget}, expected the evaluations to plan for, at least 1.")
        self._nevergrad = package("nevergrad")
        self._budget = budget

    def begin(self) -> None:
        """The optimizer is made when the starting points have values."""
        self._known: list[tuple[float, Point]] = []
        self._optimizer: Any = None

    def propose(self) -> Point:
        """The next candidate."""
        if self._optimizer is None:
            self._set_out()
        return np.asarray(self._candidate.value)

    def observe(self, point: Point, value: float) -> None:
        """Tell the candidate's value."""
        if self._optimizer is None:
            self._known.append((value, point))
        else:
            self._optimizer.tell(self._candidate, value)
            self._ask()  # at once: an algorithm in a thread works until it has its next candidate

    def fail(self, point: Point) -> None:
        """NaN, for which nevergrad puts in a very high value."""
        self.observe(point, np.nan)

    def _set_out(self) -> None:
        finite = [pair for pair in self._known if np.isfinite(pair[0])]
        lowest, best = min(finite, key=lambda pair: pair[0], default=(np.nan, (self.low + self.high) / 2))
        box = self._nevergrad.p.Array(init=best).set_bounds(self.low, self.high)
        box.random_state = np.random.RandomState(self.seed)
        self._optimizer = self._nevergrad.optimizers.NGOpt(box, budget=self._budget)
        for value, point in self._known:
            with suppress(self._nevergrad.errors.TellNotAskedNotSupportedError):
                self._optimizer.tell(box.spawn_child(new_value=point), value)
        self._ask()
        if finite and np.abs(self.to_unit(self._candidate.value) - self.to_unit(best)).max() <= _SAME:
            self.observe(best, lowest)  # most begin by asking for the point they are started at

    def _ask(self) -> None:
        self._candidate = _from_daemon(self._optimizer.ask)


def _from_daemon(function: Callable[[], Any]) -> Any:
    """Call a function from a daemon thread.

    Some of nevergrad's algorithms live in a thread of their own. It inherits being a daemon from the one that starts
    it, and else would keep the process from ending.
    """
    future: Future[Any] = Future()

    def call() -> None:
        try:
            future.set_result(function())
        except Exception as error:
            future.set_exception(error)

    Thread(target=call, daemon=True).start()
    return future.result()
