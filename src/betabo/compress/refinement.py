"""A search that begins where sensitivities lead, and looks for what they did not see: how layers act together.

Size is exact in every design, so that the loss alone is modelled. What is searched has few dimensions: what layers of
each role are worth, how this changes with their depth, and how much of the measurements is believed. The origin is the
design of the sensitivities as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from betabo.compress.allocation import CAUTIONS
from betabo.compress.plan import CompressionPlan
from betabo.compress.sensitivity import Sensitivities
from betabo.optimizer import Config
from betabo.search import minimize

REACH = math.log(4.0)
"""At the end of its range a number of the search makes layers worth four times as much, or as little."""

Design = Callable[[Sensitivities, float], dict[str, float]]
"""Ratios from sensitivities, and from how much of the mean is in each."""


def refined_designs(
    plan: CompressionPlan,
    sensitivities: Sensitivities,
    design: Design,
    loss: Callable[[Mapping[str, float]], float],
    count: int,
    *,
    seed: int = 0,
    config: Config | None = None,
) -> list[dict[str, float]]:
    """Search for designs with a lower loss.

    Args:
        plan: The plan of the model.
        sensitivities: What each coordinate was found to be worth.
        design: Gives ratios, of the wanted size, from sensitivities that were changed.
        loss: The loss of a design.
        count: Designs that are tried.
        seed: Seed of the search.
        config: Kernel and acquisition function of the search; None for the defaults.

    Returns:
        All that were tried.
    """
    features = _features(plan)
    tried: list[dict[str, float]] = []

    def evaluate(x: NDArray[np.float64]) -> float:
        factors = np.exp(REACH * (features @ x[:-1]))
        changed = _scaled(sensitivities, dict(zip(plan.coordinates, factors.tolist(), strict=True)))
        tried.append(design(changed, float(x[-1])))
        return loss(tried[-1])

    origin = [0.0] * features.shape[1] + [CAUTIONS[1]]
    bounds = [(-1.0, 1.0)] * features.shape[1] + [(0.0, 1.0)]
    minimize(evaluate, bounds, budget=count, initial=[origin], seed=seed, config=config)
    return tried


def _features(plan: CompressionPlan) -> NDArray[np.float64]:
    """Coordinates x numbers: a column for each role, and one for the depth, from -1 to 1."""
    first = {layer.group: layer for layer in reversed(plan.layers)}
    layers = [first[name] for name in plan.coordinates]
    roles = sorted({layer.role for layer in layers})
    blocks = np.array([layer.block or 0 for layer in layers], dtype=float)
    depth = 2 * (blocks - blocks.min()) / max(1.0, float(np.ptp(blocks))) - 1
    columns = [[float(layer.role == role) for layer in layers] for role in roles] if len(roles) > 1 else []
    return np.array([*columns, depth.tolist()]).T


def _scaled(sensitivities: Sensitivities, factors: Mapping[str, float]) -> Sensitivities:
    """Each coordinate's rises times a factor."""
    base = sensitivities.base
    losses = {
        name: {ratio: base + factors[name] * (value - base) for ratio, value in row.items()}
        for name, row in sensitivities.losses.items()
    }
    return replace(sensitivities, losses=losses)
