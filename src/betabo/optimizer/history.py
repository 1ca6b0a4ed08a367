"""The record of a search: every evaluation, in the order in which it was told."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Origin = Literal["start", "model", "local", "user"]

MODELLED: tuple[Origin, ...] = ("model", "local")
"""The origins of points that a model proposed."""

Points = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of the objective.

    Attributes:
        unit: The point in the unit cube.
        value: Its value, None where the evaluation failed.
        error: Why it failed, empty where it did not.
        origin: `"start"` for a starting point, `"model"` for a proposal of the model, `"local"` for one near the best
            point, `"user"` for a point that was told without having been asked for.
        diagnostics: Figures of the step that proposed the point.
    """

    unit: tuple[float, ...]
    value: float | None
    error: str = ""
    origin: Origin = "user"
    diagnostics: dict[str, Any] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether the evaluation failed."""
        return self.value is None

    def to_json(self) -> dict[str, Any]:
        """The evaluation as JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Evaluation:
        """The evaluation that `to_json` wrote."""
        return cls(**{**data, "unit": tuple(data["unit"])})


@dataclass(frozen=True)
class Pending:
    """A point that was asked for and not yet told."""

    unit: tuple[float, ...]
    origin: Origin
    diagnostics: dict[str, Any] = field(default_factory=dict)


def stack(units: list[tuple[float, ...]], dims: int) -> Points:
    """Points as an array, `n x d`, also for none."""
    return np.array(units, dtype=np.float64).reshape(len(units), dims)
