"""Compressions to several sizes on disk: what they lose, and the ratios from which any of them can be made again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from betabo.compress.preparation import write_json
from betabo.compress.problem import CompressionResult
from betabo.compress.store import CompressedModel

FRONT_FILE = "front.json"


@dataclass(frozen=True)
class SizedModel:
    """A compression to a size.

    Attributes:
        target: The size that was asked for.
        ratios: The ratio of each coordinate.
        result: How small and how good it is.
        losses: The loss at each step of training, none without any.
        model: The model; None if it was read from a file.
    """

    target: float
    ratios: Mapping[str, float]
    result: CompressionResult
    losses: Sequence[float] = ()
    model: CompressedModel | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON types, without the model."""
        return {
            "target": self.target,
            "ratios": dict(self.ratios),
            "result": self.result.to_json(),
            "losses": list(self.losses),
        }


def write_front(path: Path, front: Sequence[SizedModel], about: Mapping[str, Any]) -> None:
    """Write the points of a front, with what it is of, of plain JSON types."""
    write_json(path, {"about": about, "points": [point.to_json() for point in front]})


def read_front(path: Path) -> tuple[list[SizedModel], dict[str, Any]]:
    """The points that `write_front` wrote, and what they are of.

    Raises:
        ValueError: There are none, or they are damaged.
    """
    if not path.is_file():
        raise ValueError(f"{path} is missing; expected the folder of `betabo compress --front`.")
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        points = [
            SizedModel(p["target"], p["ratios"], CompressionResult(**p["result"]), p.get("losses", ()))
            for p in stored["points"]
        ]
        return points, dict(stored["about"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}); make it again.") from error


def largest_within(front: Sequence[SizedModel], size: float) -> SizedModel:
    """The largest point of a front that is not larger than a size.

    Raises:
        ValueError: All are larger.
    """
    fitting = [point for point in front if point.result.size <= size]
    if not fitting:
        least = min((point.result.size for point in front), default=1.0)
        raise ValueError(f"the size is {size:g}, but the smallest point of the front has {least:.4f}.")
    return max(fitting, key=lambda point: point.result.size)
