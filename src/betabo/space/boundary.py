"""Where a point lies between the bounds of its numbers: on which faces of the box, and how far from its boundary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

Side = Literal["lower", "upper"]

SIDES: tuple[Side, ...] = get_args(Side)


def face(position: float, within: float = 0.0) -> Side | None:
    """The bound that a number is on.

    Args:
        position: Where the number lies in its range, 0 at the lower bound and 1 at the upper one.
        within: How far from a bound still counts as on it, as a share of the range.

    Returns:
        None for a number on neither.
    """
    if within < position < 1 - within:
        return None
    return "lower" if position <= within else "upper"


def faces(positions: Mapping[str, float], within: float = 0.0) -> dict[str, Side]:
    """The numbers that are on a bound, by name, and which bound it is, see `face` and `Space.positions`."""
    found = {name: face(position, within) for name, position in positions.items()}
    return {name: side for name, side in found.items() if side is not None}


def boundary_distance(positions: Iterable[float]) -> float | None:
    r"""Normalized distance to the boundary, :math:`1 - 2\lVert x - c\rVert_\infty`: 1 at the centre, 0 on a face.

    Args:
        positions: Where each number lies in its range, see `Space.positions`.

    Returns:
        None without numbers.
    """
    furthest = max((abs(position - 0.5) for position in positions), default=None)
    return None if furthest is None else 1 - 2 * furthest
