"""What a search does where its model sees noise: a second look, no steps near the best point, repeats."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from betabo import Optimizer, minimize
from betabo.optimizer import Data
from betabo.optimizer.noise import SEEN, Repeats, chance_of_agreement, is_seen
from betabo.surrogate import FitState

BOX = [(0.0, 1.0)] * 2


def bowl(x: Any) -> float:
    return float(4 * ((np.asarray(x) - 0.3) ** 2).sum())


def ripples(x: Any) -> float:
    """Without noise, and yet the model sees some: ripples far too short for so few points."""
    return float(3 * np.sin(1e4 * np.asarray(x)).sum() + 8 * bowl(x))


def run(objective: Any, steps: int, deviation: float = 0.0, seed: int = 0, **settings: Any) -> Optimizer:
    optimizer = Optimizer(BOX, seed=seed, **settings)
    noise = deviation * np.random.default_rng(seed).standard_normal(steps)
    for number in range(steps):
        x = optimizer.ask()
        optimizer.tell(x, objective(x) + noise[number])
    return optimizer


def repeats(optimizer: Optimizer) -> int:
    units = [evaluation.unit for evaluation in optimizer.history]
    return len(units) - len(set(units))


def data(points: list[list[float]], values: list[float]) -> Data:
    return Data(np.array(points), np.array(values), np.empty((0, 2)), np.empty((0, 2)))


def test_noise_is_seen_from_a_tenth_of_a_deviation_on() -> None:
    assert is_seen(FitState({}, SEEN**2))
    assert not is_seen(FitState({}, 0.99 * SEEN**2))


@pytest.mark.parametrize("step", [0.01, 0.5, 2.0, 20.0])
def test_coarse_values_agree_as_often_as_rounded_noise_does(step: float) -> None:
    generator = np.random.default_rng(0)
    without = step * generator.random(200_000)
    first, second = (np.round((without + 0.7 * generator.standard_normal(200_000)) / step) for _ in range(2))
    shares = (first == second).mean()
    assert float(chance_of_agreement(step, np.array([0.7]))[0]) == pytest.approx(shares, abs=4e-3)


def test_values_that_are_all_the_same_agree_for_sure() -> None:
    assert chance_of_agreement(math.inf, np.array([0.1, 9.0])).tolist() == [1.0, 1.0]


@pytest.mark.filterwarnings("error")
def test_multiples_of_a_huge_number_agree_where_the_noise_is_less() -> None:
    assert chance_of_agreement(1e300, np.array([1e10, 1e299])).tolist() == pytest.approx([1.0, 0.887], abs=1e-3)


def repeated(values: list[float], own: list[bool]) -> tuple[Repeats, np.ndarray]:
    """As many values of each point as there are, a point for each of the first half."""
    count = len(values) // 2
    some = data([[0.1 * i, 0.2] for i in range(count)] * 2, values)
    return Repeats.of(replace(some, asked=np.array(own)), some.values), some.values


def test_values_of_one_point_are_repeats_of_the_first() -> None:
    repeats, _ = repeated([1.0, 2.0, 1.0, 2.0], [True, False, True, False])
    assert repeats.again.tolist() == [False, False, True, True]
    assert repeats.own.tolist() == [False, False, True, False]
    assert repeats.agree
    assert repeats.leave_open
    assert not repeated([1.0, 2.0, 1.0, 2.1], [False] * 4)[0].leave_open
    single = data([[0.1, 0.2], [0.3, 0.4]], [1.0, 2.0])
    assert not Repeats.of(single, single.values).leave_open


def speaks(values: list[float], own: list[bool], likelier: float, deviation: float = 0.4) -> bool:
    repeats, found = repeated(values, own)
    return repeats.speak_for_noise(found, np.full(len(found), deviation), likelier)


def test_a_second_value_that_a_search_asked_for_outweighs_what_the_model_says() -> None:
    values = [*np.random.default_rng(0).random(20)] * 2
    assert not speaks(values, [False] * 39 + [True], likelier=100.0)


def test_copies_that_were_told_speak_against_noise_however_many_there_are_only_a_little() -> None:
    values = [*np.random.default_rng(0).random(20)] * 2
    assert speaks(values, [False] * 40, likelier=3.0)
    assert not speaks(values, [False] * 40, likelier=2.0)


def test_coarse_values_that_agree_say_little() -> None:
    values = np.array([*np.random.default_rng(0).normal(0, 3, 20)] * 2)
    own = [False] * 39 + [True]
    assert speaks(values.round().tolist(), own, likelier=3.5, deviation=0.5)
    assert not speaks(values.tolist(), own, likelier=3.5, deviation=0.5)


def test_rounding_is_not_taken_for_a_step_of_the_values() -> None:
    values = [0.1, 0.2, 0.3, 0.4, 0.1 + 0.2, 0.4]  # and 0.1 + 0.2 is not 0.3
    gaps = np.diff(np.unique(values))
    assert 0 < gaps.min() < 1e-15
    chances = chance_of_agreement(0.1, np.array([0.4]))
    some = data([[0.0, 0.0], [0.1, 0.0], [0.2, 0.0], [0.3, 0.0], [0.4, 0.0], [0.3, 0.0]], values)
    repeats = Repeats.of(replace(some, asked=np.arange(6) == 5), some.values)
    likelier = -math.log(chances[0])
    assert repeats.speak_for_noise(some.values, np.full(6, 0.4), likelier + 0.01)
    assert not repeats.speak_for_noise(some.values, np.full(6, 0.4), likelier - 0.01)


@pytest.mark.parametrize("copies", [1, 12])
def test_rows_that_were_told_twice_do_not_hide_the_noise(copies: int) -> None:
    generator = np.random.default_rng(0)
    points = generator.random((12, 2))
    rows = [(point, bowl(point) + 0.5 * generator.standard_normal()) for point in points]
    optimizer = Optimizer(BOX, seed=0)
    for point, value in rows + rows[:copies]:
        optimizer.tell(point, value)
    for _ in range(16):
        x = optimizer.ask()
        optimizer.tell(x, bowl(x) + 0.5 * generator.standard_normal())
    assert optimizer.result().sees_noise


def test_noise_is_seen_though_values_are_so_coarse_that_second_ones_agree() -> None:
    generator = np.random.default_rng(1)
    optimizer = Optimizer(BOX, seed=1)
    for _ in range(30):
        x = optimizer.ask()
        optimizer.tell(x, round(bowl(x) + 0.5 * generator.standard_normal()))
    assert optimizer.result().sees_noise


def test_one_pair_that_agrees_among_others_that_do_not_is_no_proof() -> None:
    generator = np.random.default_rng(2)
    points = generator.random((8, 2))
    rows = [(point, bowl(point) + 0.5 * generator.standard_normal()) for point in np.concatenate([points, points[:4]])]
    optimizer = Optimizer(BOX, seed=0)
    for point, value in [*rows, rows[7]]:
        optimizer.tell(point, value)
    optimizer.tell(optimizer.ask(), 1.0)
    assert optimizer.result().sees_noise


def test_without_noise_no_point_is_measured_twice() -> None:
    assert repeats(run(bowl, 20)) == 0


def test_what_looks_like_noise_is_measured_once_more_and_then_known_to_be_none() -> None:
    optimizer = run(ripples, 30)
    assert repeats(optimizer) == 1
    result = optimizer.result()
    assert not result.sees_noise
    assert result.fun == min(e.value for e in optimizer.history)


def test_with_noise_promising_points_are_measured_again() -> None:
    optimizer = run(bowl, 30, deviation=0.5)
    assert repeats(optimizer) >= 1
    result = optimizer.result()
    assert result.sees_noise
    assert result.message.endswith("x_observed has the best value")
    last = [e.origin for e in optimizer.history[-10:]]
    assert set(last) == {"model"}


def test_with_much_noise_the_answer_is_better_than_the_lowest_value() -> None:
    found = [run(bowl, 25, deviation=0.6, seed=seed).result() for seed in range(4)]
    assert np.mean([bowl(r.x) for r in found]) < np.mean([bowl(r.x_observed) for r in found])
    assert all(abs(r.estimate.mean - bowl(r.x)) < 4 * r.estimate.deviation for r in found)
    assert all(r.fun_observed <= r.fun for r in found)


@pytest.mark.parametrize("settings", [{"noise": "none"}, {"acquisition": "ucb"}])
def test_other_settings_are_obeyed(settings: dict[str, Any]) -> None:
    assert repeats(run(bowl, 14, deviation=0.5, **settings)) == 0


def test_a_search_with_noise_goes_on_from_a_file_as_it_would_have(tmp_path: Any) -> None:
    optimizer = run(bowl, 12, deviation=0.5)
    optimizer.save(tmp_path / "search.json")
    assert Optimizer.load(tmp_path / "search.json").ask().tolist() == optimizer.ask().tolist()


def test_points_of_a_batch_are_apart_with_noise_too() -> None:
    optimizer = run(bowl, 12, deviation=0.5)
    batch = np.array(optimizer.ask(4))
    distance = np.abs(batch[:, None] - batch[None]).max(axis=-1)[np.triu_indices(4, 1)]
    assert 0 < distance.min() < math.inf


def test_the_end_of_the_budget_confirms_what_is_best() -> None:
    noise = np.random.default_rng(0)
    result = minimize(lambda x: bowl(x) + 0.5 * noise.standard_normal(), BOX, budget=40, confirm=0.25, seed=0)
    units = [evaluation.unit for evaluation in result.history]
    assert set(units[30:]) <= set(units[:30])
    assert result.sees_noise


def test_without_noise_there_is_nothing_to_confirm() -> None:
    plain = minimize(bowl, BOX, budget=12, seed=0)
    confirmed = minimize(bowl, BOX, budget=12, confirm=0.5, seed=0)
    assert [e.unit for e in confirmed.history] == [e.unit for e in plain.history]


def test_points_that_are_measured_again_at_a_time_differ() -> None:
    optimizer = run(bowl, 14, deviation=0.5, noise=0.25)
    units = {evaluation.unit for evaluation in optimizer.history}
    batch = [tuple(optimizer._unit(point)) for point in optimizer.ask(3, confirm=True)]
    assert len(set(batch)) == 3
    assert set(batch) <= units


@pytest.mark.parametrize("share", [-0.1, 1.0, math.nan, "some"])
def test_what_is_no_share_is_refused(share: Any) -> None:
    with pytest.raises(ValueError, match=r"confirm is .*, expected a share of the budget"):
        minimize(bowl, BOX, budget=5, confirm=share)
