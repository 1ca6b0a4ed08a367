"""Whose turn it is: a step of the global model or one near the best point, and how near.

Both questions are answered from the record of the steps alone, so that a search that was saved, or that several workers
share, goes on as if it had never stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from betabo.optimizer.history import Origin

Turn = Literal["model", "local"]

_WARM_UP = 4  # steps taken in turns before gains are compared
_LOOK_AGAIN = 5  # in so many steps each kind gets at least one

FIRST_RADIUS = 0.2
"""Radius of the first local step, in sides of the unit cube."""

LARGEST_RADIUS = 0.5
"""Radius that no local step exceeds: half of the cube."""

SMALLEST_RADIUS = 1e-6
"""Radius below which there is nothing left to be gained near the best point."""


@dataclass(frozen=True)
class Step:
    """One evaluation as the choice of the next step sees it.

    Attributes:
        origin: Where its point came from.
        value: Its value, less being better; None where it failed or is under way.
        under_way: Whether it is being evaluated: it has had its turn, and what it gains is not known.
    """

    origin: Origin
    value: float | None
    under_way: bool = False


def next_turn(steps: Sequence[Step], dims: int) -> Turn:
    """The kind of step that has gained more of late.

    The mean gain of a step, by how much it lowered the best value, is compared over the last `2 d + 4` steps of both
    kinds. Each kind gets at least every fifth step, since the one that gained nothing for long may do so again.

    Args:
        steps: The evaluations so far, in order, those under way at the end.
        dims: Number of coordinates.
    """
    turns = [step.origin for step in steps if step.origin in ("model", "local")]
    if len(turns) < _WARM_UP:
        return "local" if len(turns) % 2 == 0 else "model"
    last: Turn = "local" if turns[-1] == "local" else "model"
    gains = _gains(steps)[-(2 * dims + 4) :]
    by_turn: dict[Turn, list[float]] = {"local": [], "model": []}
    for turn, gain in gains:
        by_turn[turn].append(gain)
    means = {turn: sum(some) / len(some) if some else float("inf") for turn, some in by_turn.items()}
    better: Turn = "local" if means["local"] > means["model"] else "model"
    if means["local"] == means["model"]:
        better = other(last)
    if all(turn == better for turn in turns[-(_LOOK_AGAIN - 1) :]):
        return other(better)
    return better


def radius(steps: Sequence[Step], dims: int) -> float:
    """How far from the best point the next local step may go, in each coordinate of the unit cube.

    The radius doubles after two local steps that found a better point, and halves after `d / 2` that did not, at least
    two. Once it is too small for anything to be gained, it begins anew when another step finds a better point.

    Args:
        steps: The evaluations so far, in order.
        dims: Number of coordinates.
    """
    size, successes, failures = FIRST_RADIUS, 0, 0
    for turn, gain in _gains(steps):
        if turn == "model":
            if gain > 0 and size < SMALLEST_RADIUS:
                size, successes, failures = FIRST_RADIUS, 0, 0
        elif gain > 0:
            successes, failures = successes + 1, 0
        else:
            successes, failures = 0, failures + 1
        if successes == 2:
            size, successes = min(2 * size, LARGEST_RADIUS), 0
        if failures >= max(2, dims / 2):
            size, failures = size / 2, 0
    return size


def other(turn: Turn) -> Turn:
    """The other kind of step."""
    return "model" if turn == "local" else "local"


def _gains(steps: Sequence[Step]) -> list[tuple[Turn, float]]:
    """The steps of both kinds that are finished, and by how much each lowered the best value before it."""
    best, gains = float("inf"), list[tuple[Turn, float]]()
    for step in steps:
        if step.under_way:
            continue
        gain = 0.0 if step.value is None else max(best - step.value, 0.0)
        if step.origin in ("model", "local"):
            gains.append((step.origin, gain))
        if step.value is not None:
            best = min(best, step.value)
    return gains
