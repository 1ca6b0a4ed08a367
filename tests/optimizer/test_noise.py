"""What a search does where its model sees noise: a second look, no steps near the best point, repeats."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from betabo import Config, Optimizer, minimize
from betabo.optimizer import Data
from betabo.optimizer.noise import SEEN, is_seen, noise_model
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


def test_repeats_that_agree_show_that_there_is_none() -> None:
    points = [[0.1, 0.2], [0.3, 0.4], [0.1, 0.2]]
    config = Config()
    assert noise_model(data(points, [1.0, 2.0, 1.0]), config) == "none"
    assert noise_model(data(points, [1.0, 2.0, 1.1]), config) == "unknown"
    assert noise_model(data(points[:2], [1.0, 2.0]), config) == "unknown"
    assert noise_model(data(points, [1.0, 2.0, 1.0]), Config(noise=0.1)) == 0.1


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
    result = minimize(lambda x: bowl(x) + 0.5 * noise.standard_normal(), BOX, budget=24, confirm=0.25, seed=0)
    units = [evaluation.unit for evaluation in result.history]
    assert set(units[18:]) <= set(units[:18])
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
