"""What the adapters of other packages share: where they start, failures, and a package that leaves no traces."""

from __future__ import annotations

import logging
import math
import random
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np
import torch
from torch.quasirandom import SobolEngine

from betabo.lab.bench.extras import require
from betabo.lab.bench.optimizers.adapter import OptimizerAdapter, Point


class PeerSearch(OptimizerAdapter):
    """An optimizer of another package.

    Starting points that a campaign gives are handed out here, so that they are the same to the last digit. With none
    of them the package starts as it does by itself; one that leaves its first points to the user says in `own_design`
    which its examples take. A subclass says how the package begins, proposes, and learns of values and failures. Each
    of its methods runs in `alone`.

    Attributes:
        low: Lower bounds, `d` numbers.
        high: Upper bounds, `d` numbers.
        starts: Number of starting points that the campaign gave, 0 for the package's own design.
        seed: Seed of the search.
    """

    low: Point
    high: Point
    starts: int
    seed: int

    @abstractmethod
    def begin(self) -> None:
        """Set the package up. The values of the starting points come first, and then it is asked to propose."""

    @abstractmethod
    def propose(self) -> Point:
        """The package's next point, `d` numbers in the problem's own units."""

    @abstractmethod
    def observe(self, point: Point, value: float) -> None:
        """Tell the package a finite value: of a starting point, which it did not propose, or of its last proposal."""

    @abstractmethod
    def fail(self, point: Point) -> None:
        """Tell the package in its own way that the evaluation of a point failed."""

    def own_design(self) -> Point:
        """Points `n x d` to begin with in place of starting points, for a package that has no design of its own."""
        return np.empty((0, len(self.low)))

    def start(self, bounds: Sequence[tuple[float, float]], starting_points: Point, seed: int) -> None:
        """Begin a search, see `OptimizerAdapter.start`."""
        self.low, self.high = np.array(bounds, dtype=np.float64).T
        self.starts, self.seed = len(starting_points), seed
        self._waiting: list[Point] = list(starting_points if self.starts else self.own_design())
        self._seeds = (int(np.random.SeedSequence([seed, step]).generate_state(1)[0]) for step in count())
        with alone(next(self._seeds)):
            self.begin()

    def ask(self) -> Point:
        """The next point."""
        if self._waiting:
            return self._waiting.pop(0)
        with alone(next(self._seeds)):
            point = np.asarray(self.propose(), dtype=np.float64)
        return np.clip(point, self.low, self.high)

    def tell(self, point: Point, value: float) -> None:
        """Take note of a value."""
        with alone(next(self._seeds)):
            if math.isfinite(value):
                self.observe(point, value)
            else:
                self.fail(point)

    def sobol(self, count: int) -> Point:
        """Scrambled Sobol points of the box, `count x d`, for `own_design`."""
        engine = SobolEngine(len(self.low), scramble=True, seed=self.seed)
        return self.from_unit(engine.draw(count, dtype=torch.float64).numpy())

    def to_unit(self, point: Point) -> Point:
        """A point in the problem's own units as one of the unit cube."""
        return np.asarray((point - self.low) / (self.high - self.low))

    def from_unit(self, unit: Point) -> Point:
        """A point of the unit cube in the problem's own units."""
        return np.asarray(self.low + (self.high - self.low) * unit)

    def named(self, point: Point) -> dict[str, float]:
        """The coordinates under names, `x0` to `x(d-1)`, for packages that have parameters."""
        return {f"x{i}": float(coordinate) for i, coordinate in enumerate(point)}


def package(module: str) -> Any:
    """Import a package of the extra `peers`, or say how to install it."""
    with alone(0):
        return require(module, "peers")


@contextmanager
def alone(seed: int) -> Iterator[None]:
    """Keep global random numbers, warnings and the log as they are, whatever a package does to them in the block.

    Args:
        seed: Seed of the global generators of Python, NumPy and torch; their states are put back at the end.
    """
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002, other packages use it
    threads, disabled = torch.get_num_threads(), logging.root.manager.disable
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.default_generator.manual_seed(seed)
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        torch.set_rng_state(states[2])
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
