"""A search whose box has moved: what lies in the new one, and what is kept outside until a box reaches it again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from betabo.optimizer.history import Evaluation, evaluation_schema
from betabo.schema import anything, record
from betabo.space import Space

Unit = tuple[float, ...]


@dataclass(frozen=True)
class Outside:
    """A result outside the box.

    Attributes:
        point: The point in the user's units: a dictionary, or a list of numbers of a box.
        evaluation: What came of it; its unit point is that of a box before, and says nothing.
    """

    point: Any
    evaluation: Evaluation

    def to_json(self) -> dict[str, Any]:
        """The result as JSON."""
        return {"point": self.point, "evaluation": self.evaluation.to_json()}

    @classmethod
    def from_json(cls, data: Any, dims: int, place: str) -> Outside:
        """The result that `to_json` wrote; `place` says where it stands."""
        record({"point": anything, "evaluation": evaluation_schema(dims)})(data, place)
        return cls(data["point"], Evaluation.from_json(data["evaluation"]))


def place_in(point: Any, space: Space) -> Unit | None:
    """A point, in the user's units, in the unit cube of a space; None if it lies outside."""
    try:
        return cast("Unit", tuple(space.to_unit(point).tolist()))
    except ValueError:
        return None


def moved_units(units: Iterable[Unit], before: Space, after: Space) -> list[Unit | None]:
    """Points of the unit cube of one space in that of another one; None for those outside."""
    return [place_in(before.from_unit(unit), after) for unit in units]


def moved_history(
    history: Sequence[Evaluation], outside: Sequence[Outside], before: Space, after: Space
) -> tuple[list[Evaluation], list[Outside]]:
    """The results in a new box, those that come back last, and those outside it."""
    inside, left = list[Evaluation](), list[Outside]()
    everything = [Outside(_plain(before.from_unit(e.unit)), e) for e in history] + list(outside)
    for kept in everything:
        unit = place_in(kept.point, after)
        if unit is None:
            left.append(kept)
        else:
            inside.append(replace(kept.evaluation, unit=unit))
    return inside, left


def _plain(point: Any) -> Any:
    return point.tolist() if isinstance(point, np.ndarray) else point
