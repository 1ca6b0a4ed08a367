from __future__ import annotations

import itertools

import numpy as np
import pytest
from torch import nn

from betabo.compress.allocation import allocate, uniform_ratio
from betabo.compress.plan import CompressionPlan
from betabo.compress.sensitivity import Sensitivities

RATIOS = (0.05, 0.15, 0.3, 0.6)


def plan_of(layers: int, width: int = 64) -> CompressionPlan:
    blocks = [nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(layers)]
    return CompressionPlan.of(nn.Sequential(*blocks))


def decaying(plan: CompressionPlan, worth: list[float]) -> Sensitivities:
    """Coordinates that are worth so much, and lose it exponentially."""
    names = zip(plan.coordinates, worth, strict=True)
    return Sensitivities(
        1.0, {name: {ratio: 1.0 + value * np.exp(-8 * ratio) for ratio in RATIOS} for name, value in names}
    )


@pytest.mark.parametrize("target", [0.1, 0.28, 0.5, 0.9])
def test_the_size_is_reached_and_used(target: float) -> None:
    plan = plan_of(6)
    ratios = allocate(plan, decaying(plan, [0.01, 0.1, 1, 1, 3, 10]), target)
    size = plan.size(ratios, 0.0) / plan.parameters
    assert target - 0.03 < size <= target


def test_what_is_worth_more_keeps_more() -> None:
    plan = plan_of(4)
    ratios = list(allocate(plan, decaying(plan, [0.01, 0.3, 3, 30]), 0.3).values())
    assert ratios == sorted(ratios)
    assert ratios[0] < 0.1 < 0.4 < ratios[3]


def test_equals_get_equal_ratios() -> None:
    plan = plan_of(5)
    ratios = list(allocate(plan, decaying(plan, [1.0] * 5), 0.3).values())
    assert max(ratios) / min(ratios) < 1.2  # one step of the rank


def test_no_other_choice_of_the_same_size_loses_less() -> None:
    plan = plan_of(3, width=40)
    worth = [0.2, 1.0, 4.0]
    caution = 0.1
    ratios = allocate(plan, decaying(plan, worth), 0.3, caution=caution)
    cautious = [(1 - caution) * value + caution * sum(worth) / len(worth) for value in worth]

    def loss(values: tuple[float, ...]) -> float:
        return sum(value * np.exp(-8 * ratio) for value, ratio in zip(cautious, values, strict=True))

    size = plan.size(ratios, 0.0)
    others = [x for x in itertools.product(np.geomspace(0.05, 0.95, 25), repeat=3) if plan.size(list(x), 0.0) <= size]
    assert loss(tuple(ratios.values())) < 1.1 * min(map(loss, others))


def test_the_more_caution_the_more_alike() -> None:
    plan = plan_of(4)
    found = decaying(plan, [0.01, 0.3, 3, 30])
    spreads = []
    for caution in (0.0, 0.1, 0.3, 1.0):
        ratios = allocate(plan, found, 0.3, caution=caution).values()
        spreads.append(max(ratios) / min(ratios))
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[-1] < 1.2 < 5 < spreads[0]


def test_what_costs_nothing_goes_first() -> None:
    plan = plan_of(2)
    first, second = plan.coordinates
    losses = {first: dict.fromkeys(RATIOS, 1.0), second: dict.fromkeys(RATIOS, 9.0)}
    ratios = allocate(plan, Sensitivities(1.0, losses), 0.6)
    assert ratios[second] > 0.8
    assert ratios[first] < 0.35


def test_what_seems_to_be_worth_nothing_is_not_given_up_altogether() -> None:
    plan = plan_of(10)
    found = decaying(plan, [0.0] * 8 + [1.0, 1.0])
    ratios = list(allocate(plan, found, 0.4).values())
    assert max(ratios[:8]) > 0.1
    assert min(ratios[8:]) > max(ratios[:8])


def test_the_last_step_goes_no_further_than_it_has_to() -> None:
    plan = plan_of(2)
    cliff = {0.05: 2.0, 0.3: 1.98, 0.6: 1.97, 0.95: 1.96}  # whose hull has one step, from whole to the smallest
    ratios = allocate(plan, Sensitivities(1.0, dict.fromkeys(plan.coordinates, cliff)), 0.75)
    assert 0.7 < plan.size(ratios, 0.0) / plan.parameters <= 0.75
    assert sorted(ratios.values())[1] == 1.0


def test_a_target_out_of_reach_is_refused_with_the_smallest() -> None:
    plan = plan_of(3)
    even = decaying(plan, [1.0] * 3)
    with pytest.raises(
        ValueError, match=r"the target size is 0\.03, but the smallest that can be had is 0\.0\d+"
    ) as no:
        allocate(plan, even, 0.03)
    smallest = float(str(no.value).rstrip(".").split()[-1])
    assert plan.size(allocate(plan, even, smallest), 0.0) <= smallest * plan.parameters
    for target in (0.0, 1.5):
        with pytest.raises(ValueError, match="expected a share above 0"):
            allocate(plan, even, target)


def test_one_ratio_for_all_is_the_highest_that_fits() -> None:
    plan = plan_of(3)
    ratio = uniform_ratio(plan, 0.4)
    assert plan.size(ratio, 0.0) <= 0.4 * plan.parameters < plan.size(ratio + 0.02, 0.0)
    assert uniform_ratio(plan, 1.0) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="which no ratio reaches"):
        uniform_ratio(plan, 0.001)
