r"""Where the optimum of a problem lies in its box.

A lower bound :math:`l` is raised to :math:`l' = (x^* - \varepsilon u) / (1 - \varepsilon)`, which puts the optimum
:math:`x^*` at the share :math:`\varepsilon` of the side from :math:`l'` to the upper bound :math:`u`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

Placement: TypeAlias = Literal["centre", "face", "vertex"]
Pair: TypeAlias = tuple[float, float]

PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
"""The usual box; the first lower bound raised; all lower bounds raised."""

EPSILON = 0.05
"""Share of the side between the lower bound and the optimum, as in the paper on the Beta kernel."""


def place(bounds: Sequence[Pair], optimum: Sequence[float], placement: Placement, epsilon: float) -> list[Pair]:
    """The box that puts an optimum where it is wanted.

    Args:
        bounds: The usual box, `d` pairs (low, high).
        optimum: The optimum, `d` numbers inside the box.
        placement: `"centre"` keeps the box, `"face"` raises the lower bound of the first coordinate, `"vertex"` those
            of all coordinates.
        epsilon: Share of the new side between the new lower bound and the optimum.

    Returns:
        The box, `d` pairs (low, high), never larger than the usual one.

    Raises:
        ValueError: The placement is unknown, or `epsilon` so large that a lower bound would have to go down.
    """
    if placement not in PLACEMENTS:
        raise ValueError(f"placement is {placement!r}, expected one of {', '.join(map(repr, PLACEMENTS))}.")
    if not 0 < epsilon < 1:
        raise ValueError(f"epsilon is {epsilon!r}, expected a share of the side between 0 and 1.")
    raised = {"centre": 0, "face": 1, "vertex": len(bounds)}[placement]
    box = list(bounds)
    for i in range(raised):
        low, high = bounds[i]
        share = (optimum[i] - low) / (high - low)
        if share < epsilon:
            raise ValueError(
                f"epsilon is {epsilon!r}, expected at most {share:.4g}: so near to its lower bound the optimum lies in "
                f"coordinate {i}, and bounds are only ever raised."
            )
        box[i] = ((optimum[i] - epsilon * high) / (1 - epsilon), high)
    return box
