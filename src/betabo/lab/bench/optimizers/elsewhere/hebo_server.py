"""HEBO of Huawei's Noah's Ark Lab, with its own settings; given starting points are its random phase."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO


class Search:
    """`hebo.optimizers.hebo.HEBO`. A failure is NaN, which HEBO leaves out of its model."""

    def __init__(self, bounds: Sequence[Sequence[float]], seed: int, starting_points: int) -> None:
        np.random.seed(seed)  # noqa: NPY002, HEBO uses it
        self._names = [f"x{i}" for i in range(len(bounds))]
        parameters = [
            {"name": name, "type": "num", "lb": low, "ub": high}
            for name, (low, high) in zip(self._names, bounds, strict=True)
        ]
        self._hebo = HEBO(DesignSpace().parse(parameters), rand_sample=starting_points or None, scramble_seed=seed)

    def ask(self) -> Sequence[float]:
        """The suggestion."""
        values: list[float] = self._hebo.suggest(1)[self._names].to_numpy(dtype=float)[0].tolist()
        return values

    def tell(self, point: Sequence[float], value: float | None) -> None:
        """Observe the value."""
        frame = pandas.DataFrame([dict(zip(self._names, point, strict=True))])
        self._hebo.observe(frame, np.array([[np.nan if value is None else value]]))
