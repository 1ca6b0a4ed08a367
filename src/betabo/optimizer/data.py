"""What is known of the objective, in the unit cube."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from betabo.optimizer.turns import Step

Points = npt.NDArray[np.float64]

_DIGITS = 9  # of coordinates of the unit cube that tell points apart


@dataclass(frozen=True)
class Data:
    """Points of the unit cube with their values, and those without.

    Attributes:
        points: Points with a value, `n x d`.
        values: Their values, finite, `n`, or `n x m` for `m` objectives; less is better.
        failed: Points whose evaluation failed, `m x d`.
        pending: Points that are being evaluated, `p x d`.
        constraints: Values of the constraints at `points`, finite, `n x c`; a constraint holds where it is at most 0.
        variances: Noise variances of the values, of their shape, NaN where they are not known; none are by default.
        earlier: Which of the values are of an earlier task, which may be another one, `n`; none are by default.
        steps: Where the point of each evaluation came from, and what its value was, in the order in which they were
            told, those under way at the end; empty where it is not known, as in data from elsewhere.
        asked: Which of the values are of points that the search itself asked for, `n`; by default none is.
        profiles: The numbers of the coordinates of each profile, see `betabo.space.Profile`.
    """

    points: Points
    values: Points
    failed: Points
    pending: Points
    constraints: Points = field(default_factory=lambda: np.empty((0, 0)))
    variances: Points = field(default_factory=lambda: np.empty(0))
    steps: tuple[Step, ...] = ()
    asked: npt.NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))
    earlier: npt.NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))
    profiles: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if not self.constraints.size:
            object.__setattr__(self, "constraints", np.empty((len(self.points), 0)))
        if not self.variances.size:
            object.__setattr__(self, "variances", np.full_like(self.values, np.nan))
        if not self.asked.size:
            object.__setattr__(self, "asked", np.zeros(len(self.points), dtype=bool))
        if not self.earlier.size:
            object.__setattr__(self, "earlier", np.zeros(len(self.points), dtype=bool))

    @property
    def dims(self) -> int:
        """Number of coordinates."""
        return int(self.points.shape[1])

    @property
    def objectives(self) -> Points:
        """The values with one column for each objective, `n x m`."""
        return self.values if self.values.ndim == 2 else self.values[:, None]

    @property
    def total(self) -> int:
        """Number of points that were ever proposed or told."""
        return len(self.points) + len(self.failed) + len(self.pending)

    @property
    def places(self) -> npt.NDArray[np.intp]:
        """For each value the number of its place, `n`: values of one point have one place."""
        _, places = np.unique(self.points.round(_DIGITS), axis=0, return_inverse=True)
        return places.reshape(-1)

    @property
    def own(self) -> Data:
        """The data without those of an earlier task."""
        return self.part(~self.earlier) if self.earlier.any() else self

    def part(self, places: npt.NDArray[Any]) -> Data:
        """Some of the values, by their numbers or by a mask; failed and pending points stay."""
        return replace(
            self,
            points=self.points[places],
            values=self.values[places],
            constraints=self.constraints[places],
            variances=self.variances[places],
            asked=self.asked[places],
            earlier=self.earlier[places],
        )

    def seen(self) -> Points:
        """All points, evaluated, failed or pending."""
        return np.concatenate([self.points, self.failed, self.pending])
