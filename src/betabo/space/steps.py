"""An evenly spaced grid of values: `low`, `low + step`, and so on up to `high`."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import numpy.typing as npt

from betabo.space.checks import Array

_MOST_STEPS = 2**52  # up to here an index is exact in float64


class Steps:
    """Values `low + k * step` for `k` from 0 to `count - 1`, at the coordinates `k / (count - 1)`.

    Values are computed in decimal, so that three steps of 0.1 from 0 are 0.3 and nothing else.

    Args:
        low: Smallest value.
        high: Largest value, a whole number of steps above `low`.
        step: Distance between values.
    """

    def __init__(self, low: float, high: float, step: float) -> None:
        if not step > 0:
            raise ValueError(f"step is {step!r}, expected a number > 0.")
        self._low, self._step = Decimal(repr(low)), Decimal(repr(step))
        steps = (Decimal(repr(high)) - self._low) / self._step
        if abs(steps - round(steps)) > Decimal("1e-9") or steps < 1:
            last = self._low + max(int(steps), 1) * self._step
            raise ValueError(
                f"high is {high!r}, expected a whole number of steps of {step!r} above low = {low!r}; use {last}."
            )
        if steps >= _MOST_STEPS:
            raise ValueError(f"step is {step!r}, which is too small for the interval; leave the step out.")
        self.count = round(steps) + 1

    def value(self, index: int) -> float:
        """The value of the index `k`."""
        return float(self._low + index * self._step)

    def index(self, value: float) -> int:
        """The index `k` of a value.

        Raises:
            ValueError: If the value is not on the grid.
        """
        steps = (Decimal(repr(value)) - self._low) / self._step
        if abs(steps - round(steps)) > Decimal("1e-6"):
            near = float(self._low + round(steps) * self._step)
            raise ValueError(f"value is {value!r}, expected a step of {self._step} from {self._low}, such as {near!r}.")
        return round(steps)

    def coordinate(self, index: npt.NDArray[np.number]) -> Array:
        """Coordinates of indices, of any shape."""
        return index.astype(np.float64) / (self.count - 1)

    def nearest(self, u: Array) -> Array:
        """Indices with the nearest coordinates, the smaller one half-way."""
        return np.clip(np.ceil(u * (self.count - 1) - 0.5), 0, self.count - 1)

    def beside(self, u: Array) -> Array:
        """Coordinates, `k x 1` with `k` at most 2, of the values next to the one at `u`, of shape 1."""
        here = self.nearest(u)
        near = np.concatenate([here - 1, here + 1])
        return self.coordinate(near[(near >= 0) & (near <= self.count - 1)])[:, None]
