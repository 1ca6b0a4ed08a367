"""What a campaign asks of an optimizer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Point: TypeAlias = npt.NDArray[np.float64]


class OptimizerAdapter(ABC):
    """An optimizer that minimizes by ask and tell, one point at a time, in the problem's own units."""

    @abstractmethod
    def start(self, bounds: Sequence[tuple[float, float]], starting_points: Point, seed: int) -> None:
        """Begin a search.

        Args:
            bounds: The box, `d` pairs (low, high).
            starting_points: Points `n x d` that the first `n` calls of `ask` must return, in this order. With none of
                them the optimizer starts as it would by itself.
            seed: Seed of everything random. The same seed must give the same search.
        """

    @abstractmethod
    def ask(self) -> Point:
        """The next point to evaluate, `d` numbers inside the box."""

    @abstractmethod
    def tell(self, point: Point, value: float) -> None:
        """Take note of a value. It is called once after each `ask`; a value that is not finite is a failure."""

    def end(self) -> None:
        """The search is over: whatever it holds, such as a thread, a process or a lock, is given back.

        It must be called at the end of each search. SciPy's COBYQA, for one, runs once at a time in a process.
        """
        return

    def answer(self) -> Point | None:
        """The point that the optimizer itself gives as its answer, `d`; None where that is the lowest value told."""
        return None

    def diagnostics(self) -> dict[str, Any]:
        """Figures of the step that proposed the last point told.

        Those that a run records are `fit`, `fit_seconds`, `acquisition_seconds`, `bandwidth`, `boundary_weight`,
        `lengthscale` and `noise`; all may be missing.
        """
        return {}
