"""Ratios for a size, or for a latency: each coordinate gets what it is worth, by its sensitivity.

Size is exact arithmetic. The rise of the loss is taken to be the sum of what each coordinate alone makes it rise. Then
the best ratios for a size follow from the convex hulls of the coordinates' curves, one step after the other: always the
step that costs the least loss for a parameter that is saved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from betabo.compress.plan import CompressionPlan, LayerInfo
from betabo.compress.sensitivity import Sensitivities

STEPS = 48
"""Ratios between the bounds that a coordinate can have."""

CAUTIONS = (0.0, 0.1, 0.3, 1.0)
"""Shares of the mean over the coordinates in what each is taken to be worth: some hundred examples say of many that
they are worth nothing, and all of these at the lowest ratio together are worth something. How much of that to believe
is decided by other examples, see `CompressionBySize.at`.
"""


Cost: TypeAlias = Callable[[LayerInfo, float], float]
"""What a layer costs at a ratio: parameters, or seconds. It is that of the whole layer at 1."""


@dataclass(frozen=True)
class _Choice:
    """What a coordinate can have: a ratio, what it costs, and how much the loss rises."""

    ratio: float
    cost: float
    rise: float


def allocate(
    plan: CompressionPlan,
    sensitivities: Sensitivities,
    target: float,
    bounds: tuple[float, float] = (0.05, 0.95),
    caution: float = CAUTIONS[1],
    keep: float = 0.0,
) -> dict[str, float]:
    """Ratios for which the layers have at most a share of their parameters, with the least loss.

    Args:
        plan: The plan of the model.
        sensitivities: How much each coordinate is worth.
        target: Parameters of the layers after compression, as a share of what they were, biases included.
        bounds: Lowest and highest ratio; a layer may also stay as it is.
        caution: Share of the mean over the coordinates in what each is taken to be worth, from 0 to 1.
        keep: Share of the rows that each layer keeps.

    Returns:
        The ratio of each coordinate by its name, 1 for those that stay as they are.

    Raises:
        ValueError: The target is out of reach; the message has the smallest size that can be had.
    """
    check_target(plan, target, bounds, keep)
    return spend(plan, sensitivities, target * plan.parameters, parameters_of(keep), bounds, caution)


def parameters_of(keep: float) -> Cost:
    """The cost of a layer in parameters, its bias included, if it keeps a share of its rows."""
    return lambda layer, ratio: layer.weights(ratio, keep) + layer.bias * layer.outputs


def spend(
    plan: CompressionPlan,
    sensitivities: Sensitivities,
    budget: float,
    cost: Cost,
    bounds: tuple[float, float] = (0.05, 0.95),
    caution: float = CAUTIONS[1],
) -> dict[str, float]:
    """Ratios that cost no more than a budget, with the least loss; those that cost least if it is too small.

    Args:
        plan: The plan of the model.
        sensitivities: How much each coordinate is worth.
        budget: The most that all layers may cost.
        cost: What a layer costs at a ratio.
        bounds: Lowest and highest ratio; a layer may also stay as it is, and does where that costs no more.
        caution: See `allocate`.

    Returns:
        The ratio of each coordinate by its name, 1 for those that stay as they are.
    """
    choices = {name: _choices(plan, sensitivities, name, bounds, caution, cost) for name in plan.coordinates}
    hulls = {name: _hull(found) for name, found in choices.items()}
    chosen = {name: hull[0] for name, hull in hulls.items()}
    excess = sum(choice.cost for choice in chosen.values()) - budget
    steps = sorted(
        (_price(before, after), name, number)
        for name, hull in hulls.items()
        for number, (before, after) in enumerate(pairwise(hull), start=1)
    )
    for _, name, number in steps:
        if excess <= 0:
            break
        before, after = chosen[name], hulls[name][number]
        if before.cost - after.cost > excess:  # the last step: no further than it has to be
            fitting = [choice for choice in choices[name] if before.cost - choice.cost >= excess]
            after = min(fitting, key=lambda choice: (choice.rise, -choice.cost))
        excess -= before.cost - after.cost
        chosen[name] = after
    return {name: choice.ratio for name, choice in chosen.items()}


def check_target(plan: CompressionPlan, target: float, bounds: tuple[float, float], keep: float = 0.0) -> None:
    """See that a size can be reached.

    Raises:
        ValueError: It cannot; the message has the smallest that can.
    """
    if not 0 < target <= 1:
        raise ValueError(f"the target size is {target!r}, expected a share above 0 and at most 1.")
    smallest = plan.size(bounds[0], keep)
    if smallest > target * plan.parameters:
        least = math.ceil(1e4 * smallest / plan.parameters) / 1e4
        raise ValueError(f"the target size is {target:g}, but the smallest that can be had is {least:g}.")


def uniform_ratio(plan: CompressionPlan, target: float, keep: float = 0.0) -> float:
    """The highest ratio, the same for all layers, for which the layers have at most a share of their parameters."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if plan.size(middle, keep) <= target * plan.parameters else (low, middle)
    if low == 0.0:
        raise ValueError(f"the target size is {target:g}, which no ratio reaches.")
    return low


def _choices(
    plan: CompressionPlan,
    sensitivities: Sensitivities,
    name: str,
    bounds: tuple[float, float],
    caution: float,
    cost: Cost,
) -> list[_Choice]:
    """What a coordinate can have that costs less than staying as it is, and that."""
    layers = [layer for layer in plan.layers if layer.group == name]
    known, own = np.array([*sensitivities.rises(name), (1.0, 0.0)]).T
    mean = np.mean([[rise for _, rise in sensitivities.rises(other)] for other in plan.coordinates], axis=0)
    values = (1 - caution) * own + caution * np.append(mean, 0.0)
    floor = 1e-3 * max(values.max(), 1e-12)  # a logarithm needs something above zero
    whole = _Choice(1.0, sum(cost(layer, 1.0) for layer in layers), 0.0)
    found = [whole]
    for ratio in np.geomspace(*bounds, STEPS).tolist():
        rise = math.exp(np.interp(ratio, known, np.log(values + floor))) - floor
        found.append(_Choice(ratio, sum(cost(layer, ratio) for layer in layers), max(0.0, rise)))
    return [choice for choice in found if choice is whole or choice.cost < whole.cost]


def _hull(choices: Iterable[_Choice]) -> list[_Choice]:
    """The choices that are worth having, from the largest to the smallest: the lower convex hull of rise by size."""
    hull: list[_Choice] = []
    for choice in sorted(choices, key=lambda choice: (-choice.cost, choice.rise)):
        if hull and choice.cost == hull[-1].cost:
            continue
        while len(hull) > 1 and _price(hull[-2], hull[-1]) >= _price(hull[-1], choice):
            hull.pop()
        hull.append(choice)
    return hull


def _price(before: _Choice, after: _Choice) -> float:
    """What it costs in loss to save one."""
    return (after.rise - before.rise) / (before.cost - after.cost)
