from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from torch.quasirandom import SobolEngine

from betabo import Config, Float, Optimizer, Space, minimize
from betabo.optimizer import Data, SearchResult, propose
from betabo.optimizer.earlier import best_earlier, weighed

BOX = [(0.0, 1.0), (0.0, 1.0)]
NONE = np.empty((0, 2))


def ravine(u: np.ndarray) -> float:
    x, y = u
    return float((x - 0.85) ** 2 + 5 * (y - 0.15 - 0.5 * x**2) ** 2)


def mirrored(u: np.ndarray) -> float:
    return ravine(1 - u)


TASKS: dict[str, Any] = {
    "the same": ravine,
    "higher and steeper": lambda u: 3 * ravine(u) + 40,
    "upside down": lambda u: -ravine(u),
    "mirrored": mirrored,
}


def points(count: int, seed: int) -> np.ndarray:
    return SobolEngine(2, scramble=True, seed=seed).draw(max(count, 1)).double().numpy()[:count]


def mixed(task: Any, own: int, earlier: int = 25) -> Data:
    places = np.concatenate([points(earlier, 1), points(own, 2)])
    values = np.array([task(u) for u in places[:earlier]] + [ravine(u) for u in places[earlier:]])
    return Data(places, values, NONE, NONE, earlier=np.arange(len(places)) < earlier)


def test_the_same_task_counts_as_good_as_it_is() -> None:
    data = mixed(ravine, own=4)
    found = weighed(data, Config(), 0)
    assert (found.earlier == data.earlier).all()
    assert np.abs(found.values - data.values).max() < 0.05 * np.ptp(data.values)


def test_a_task_whose_values_lie_higher_is_moved() -> None:
    data = mixed(lambda u: ravine(u) + 40, own=5)
    found = weighed(data, Config(), 0)
    assert found.earlier.sum() == 25
    assert found.values[found.earlier].mean() == pytest.approx(data.values[data.earlier].mean() - 40, abs=0.05)
    assert (found.values[~found.earlier] == data.values[~data.earlier]).all()


def test_a_misleading_task_is_left_out() -> None:
    found = weighed(mixed(lambda u: -5 * ravine(u), own=8), Config(), 0)
    assert not found.earlier.any()
    assert len(found.points) == 8


def test_without_enough_results_there_is_no_evidence() -> None:
    data = mixed(lambda u: -ravine(u), own=2)
    assert weighed(data, Config(), 0) is data


def test_the_best_earlier_point_comes_first_and_is_never_the_answer() -> None:
    data = mixed(ravine, own=0)
    first = propose(data, Config())
    assert first.origins == ["start"]
    assert (first.points[0] == data.points[np.argmin(data.values)]).all()
    assert (best_earlier(data) == first.points[0]).all()
    earlier = [(u, -100.0) for u in points(6, 1)]
    result = minimize(ravine, BOX, budget=3, earlier=earlier, seed=0)
    assert result.fun >= 0
    assert len(result.history) == 3


def test_constraints_come_before_values() -> None:
    data = Data(
        points(3, 0), np.array([1.0, 2.0, 3.0]), NONE, NONE, np.array([[1.0], [-1.0], [-1.0]]), earlier=np.ones(3, bool)
    )
    assert (best_earlier(data) == data.points[1]).all()


@pytest.fixture(scope="module")
def alone() -> list[list[float]]:
    """The best value after each evaluation of searches that know nothing."""
    return [best_of(minimize(ravine, BOX, budget=12, seed=seed)) for seed in range(3)]


def best_of(result: SearchResult) -> list[float]:
    return np.minimum.accumulate([e.value for e in result.history]).tolist()


@pytest.mark.parametrize("task", TASKS)
def test_what_an_earlier_study_is_worth(task: str, alone: list[list[float]]) -> None:
    """A matching one saves evaluations, and a misleading one costs no more than six."""
    earlier = [(u, TASKS[task](u)) for u in points(30, 3)]
    found = [best_of(minimize(ravine, BOX, budget=12, seed=seed, earlier=earlier)) for seed in range(3)]
    if task in ("the same", "higher and steeper"):
        assert np.median([best[5] for best in found]) < np.median([best[11] for best in alone])
    else:
        assert np.median([best[11] for best in found]) < 3 * np.median([best[5] for best in alone])


def test_a_saved_search_keeps_them() -> None:
    space = Space({"a": Float(0, 1), "b": Float(0, 1)})
    earlier = [{"a": float(u[0]), "b": float(u[1]), "value": ravine(u)} for u in points(6, 1)]
    optimizer = Optimizer(space, earlier=earlier, seed=0)
    for _ in range(4):
        point = optimizer.ask()
        optimizer.tell(point, ravine(np.array([point["a"], point["b"]])))
    again = Optimizer.from_json(optimizer.to_json())
    assert again.ask() == optimizer.ask()
    assert len(again.earlier) == 6
    optimizer.move_box({"a": (0.0, 0.5)})
    assert 0 < len(optimizer.earlier) < 6


def test_several_objectives() -> None:
    earlier = [(u, (ravine(u), u[0])) for u in points(12, 1)]
    result = minimize(
        lambda u: (ravine(u), u[0]),
        BOX,
        budget=6,
        earlier=earlier,
        seed=0,
        objectives={"a": "minimize", "b": "minimize"},
    )
    assert result.nfev == 6
