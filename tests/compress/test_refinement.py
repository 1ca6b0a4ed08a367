from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from betabo.compress.allocation import CAUTIONS, allocate
from betabo.compress.plan import CompressionPlan
from betabo.compress.refinement import REACH, refined_designs
from betabo.compress.sensitivity import RATIOS, Sensitivities
from tiny_models import make_bert

PLAN = CompressionPlan.of(make_bert())
KNOWN = Sensitivities(1.0, {name: {ratio: 1 + 0.1 / ratio for ratio in RATIOS} for name in PLAN.coordinates})


def spent(sensitivities: Sensitivities, caution: float) -> dict[str, float]:
    return allocate(PLAN, sensitivities, 0.4, caution=caution)


def test_it_begins_where_the_sensitivities_lead_and_never_leaves_the_size() -> None:
    tried = refined_designs(PLAN, KNOWN, spent, lambda _: 1.0, 4, seed=0)
    assert len(tried) == 4
    assert tried[0] == spent(KNOWN, CAUTIONS[1])
    for ratios in tried:
        assert 0.35 < PLAN.size(ratios, 0.0) / PLAN.parameters <= 0.4
    assert len({tuple(ratios.values()) for ratios in tried}) > 1


def test_it_finds_what_single_layers_did_not_say() -> None:
    """Layers seem to be worth the same, but the second block is all that matters."""

    def loss(ratios: Mapping[str, float]) -> float:
        return -sum(ratio for name, ratio in ratios.items() if name.startswith("1"))

    tried = refined_designs(PLAN, KNOWN, spent, loss, 15, seed=0)
    losses = [loss(ratios) for ratios in tried]
    assert min(losses) < losses[0] - 0.3


def test_a_design_is_given_rises_that_are_scaled_within_reach() -> None:
    given: list[Sensitivities] = []

    def noted(sensitivities: Sensitivities, caution: float) -> dict[str, float]:
        given.append(sensitivities)
        assert 0 <= caution <= 1
        return spent(sensitivities, caution)

    refined_designs(PLAN, KNOWN, noted, lambda _: 1.0, 5, seed=1)
    assert given[0].rises(PLAN.coordinates[0]) == KNOWN.rises(PLAN.coordinates[0])
    for found in given:
        factors = [
            rise / before
            for name in PLAN.coordinates
            for (_, rise), (_, before) in zip(found.rises(name), KNOWN.rises(name), strict=True)
        ]
        assert np.abs(np.log(factors)).max() <= 2 * REACH + 1e-9  # of its role, and of its depth
