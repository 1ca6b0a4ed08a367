"""Which of many evaluations a model is conditioned on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from betabo import Optimizer
from betabo.optimizer import core, many
from betabo.optimizer.config import Config
from betabo.optimizer.core import propose
from betabo.optimizer.data import Data
from betabo.optimizer.many import choose, distance_to, most_points, near

Points = np.ndarray


def bowl(points: Points) -> Points:
    return np.square(points - 0.3).sum(axis=-1)


def known(count: int, dims: int = 3, failed: int = 0) -> Data:
    generator = np.random.default_rng(count)
    points = generator.random((count, dims))
    return Data(points, bowl(points), generator.random((failed, dims)), np.empty((0, dims)))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "_MOST", 40)


def rows(points: Points) -> set[bytes]:
    return {row.tobytes() for row in points}


def test_as_many_as_fit_are_taken_as_they_are() -> None:
    data = known(most_points(3))
    assert choose(data).data is data
    assert choose(data).others is None


def test_fewer_data_are_taken_in_many_coordinates() -> None:
    assert most_points(5) == most_points(40) == 1000
    assert 200 < most_points(500) < most_points(100) < 1000
    assert most_points(5000) == 200


@pytest.mark.usefixtures("few")
def test_the_choice_and_the_others_are_the_data() -> None:
    data = known(200)
    choice = choose(data)
    assert choice.others is not None
    assert len(choice.data.points) == 40
    assert rows(choice.data.points) | rows(choice.others.points) == rows(data.points)
    assert len(choice.data.points) + len(choice.others.points) == 200
    np.testing.assert_array_equal(choice.data.values, bowl(choice.data.points))
    assert len(choice.data.variances) == len(choice.data.constraints) == 40


@pytest.mark.usefixtures("few")
def test_the_best_and_what_is_around_them_is_in_the_choice() -> None:
    data = known(200)
    taken = rows(choose(data).data.points)
    order = np.argsort(data.values)
    assert rows(data.points[order[:10]]) <= taken
    around = np.argsort(cdist(data.points[order[:5]], data.points), axis=1)[:, :2]
    assert rows(data.points[around.ravel()]) <= taken


@pytest.mark.usefixtures("few")
def test_the_rest_is_from_all_of_the_record() -> None:
    data = known(4000)
    taken = rows(choose(data).data.points)
    places = [i for i, point in enumerate(data.points) if point.tobytes() in taken and data.values[i] > 0.3]
    assert np.diff([0, *places, 4000]).max() < 1000


@pytest.mark.usefixtures("few")
def test_most_of_the_choice_stays_when_one_evaluation_is_added() -> None:
    data = known(300)
    before = Data(data.points[:-1], data.values[:-1], data.failed, data.pending)
    assert len(rows(choose(before).data.points) & rows(choose(data).data.points)) >= 37


@pytest.mark.usefixtures("few")
def test_feasible_evaluations_come_before_others() -> None:
    data = known(200)
    constraints = data.points[:, :1] - 0.5
    constrained = Data(data.points, data.values, data.failed, data.pending, constraints)
    feasible = data.points[constraints[:, 0] <= 0]
    best = feasible[np.argsort(bowl(feasible))[:10]]
    assert rows(best) <= rows(choose(constrained).data.points)


@pytest.mark.usefixtures("few")
def test_the_front_is_in_the_choice() -> None:
    data = known(200)
    values = np.stack([bowl(data.points), bowl(1 - data.points)], axis=1)
    behind = (values[:, None] >= values[None]).all(axis=-1) & (values[:, None] > values[None]).any(axis=-1)
    front = data.points[~behind.any(axis=1)]
    chosen = choose(Data(data.points, values, data.failed, data.pending)).data
    assert len(rows(front) & rows(chosen.points)) >= min(len(front), 10)


@pytest.mark.usefixtures("few")
def test_failures_leave_room_for_values() -> None:
    choice = choose(known(200, failed=500))
    assert len(choice.data.failed) == 10
    assert len(choice.data.points) == 30
    assert choose(known(20, failed=500)).others is None


def test_what_is_near_is_what_is_nearest() -> None:
    data, centres = known(100), np.array([[0.1, 0.1, 0.1], [0.9, 0.9, 0.9]])
    expected = np.argsort(cdist(centres, data.points), axis=1)[:, :4]
    assert rows(near(data, centres, 4).points) == rows(data.points[expected.ravel()])


@pytest.mark.parametrize("block", [1, 7, 10**6])
def test_distances_are_the_same_in_blocks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "_BLOCK", block)
    first, second = known(30).points, known(20).points
    expected = cdist(first, second, "chebyshev").min(axis=1)
    np.testing.assert_array_equal(distance_to(first, second), expected)


def test_without_others_everything_is_far_away() -> None:
    assert np.isinf(distance_to(known(3).points, np.empty((0, 3)))).all()


@pytest.mark.usefixtures("few")
def test_a_step_with_many_data_finds_the_bottom() -> None:
    data = known(400)
    found = propose(data, Config(local_steps=False), seed=0)
    assert found.origins == ["model"]
    assert found.surrogate is not None
    assert len(found.surrogate.objectives[0].process.x) == 40
    assert bowl(found.points)[0] < data.values.min()


@pytest.mark.usefixtures("few")
def test_a_step_is_told_what_is_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Points] = []

    def watched(others: Data, centres: Points, count: int) -> Data:
        asked.append(centres)
        return near(others, centres, count)

    monkeypatch.setattr(core, "near", watched)
    propose(known(400), Config(local_steps=False), seed=0)
    (centres,) = asked
    apart = cdist(centres, centres, "chebyshev") + np.eye(len(centres))
    assert 1 <= len(centres) <= 5
    assert apart.min() > 0.01


@pytest.mark.usefixtures("few")
def test_the_same_search_proposes_the_same_with_many_data() -> None:
    first, second = (propose(known(300), Config(), count=3, seed=4).points for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.usefixtures("few")
def test_nothing_is_asked_for_twice_even_if_it_was_left_out() -> None:
    search = Optimizer([(0.0, 1.0)], seed=0, starting_points=5)
    for place in np.linspace(0, 1, 101):
        search.tell([place], float((place - 0.5) ** 2))
    known_places = [e.unit[0] for e in search.history]
    for _ in range(3):
        point = search.ask()
        assert np.abs(np.array(known_places) - point[0]).min() > 1e-7
        known_places.append(point[0])
        search.tell(point, float((point[0] - 0.5) ** 2))
