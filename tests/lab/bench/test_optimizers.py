from __future__ import annotations

import numpy as np
import pytest

from betabo.lab.bench.optimizers import OPTIMIZERS, OptimizerEntry, make_adapter, register_optimizer
from betabo.lab.bench.optimizers.random_search import RandomSearch
from betabo.optimizer import minimize

BOUNDS = [(-5.0, 10.0), (0.0, 15.0)]
STARTS = np.array([[0.0, 1.0], [9.5, 14.0], [-5.0, 15.0], [3.0, 3.0]])


def search(name: str, settings: dict, steps: int, seed: int) -> np.ndarray:
    adapter = make_adapter(name, settings)
    adapter.start(BOUNDS, STARTS.copy(), seed)
    points = []
    for _ in range(steps):
        points.append(adapter.ask())
        adapter.tell(points[-1], float(((points[-1] - 1) ** 2).sum()))
    return np.array(points)


@pytest.mark.parametrize("name", ["betabo", "random"])
def test_starting_points_come_first_and_the_seed_decides_on_the_rest(name) -> None:
    points = search(name, {}, 6, seed=3)
    np.testing.assert_allclose(points[:4], STARTS, atol=1e-12)
    low, high = np.array(BOUNDS).T
    assert ((points >= low) & (points <= high)).all()
    np.testing.assert_array_equal(search(name, {}, 6, seed=3), points)
    assert (search(name, {}, 6, seed=4)[4:] != points[4:]).any()


def test_betabo_does_what_minimize_does() -> None:
    points = search("betabo", {"kernel": "matern", "acquisition": "ucb", "beta": 2.0}, 7, seed=1)
    result = minimize(
        lambda x: float(((x - 1) ** 2).sum()),
        BOUNDS,
        budget=7,
        seed=1,
        initial_points=STARTS,
        starting_points=4,
        kernel="matern",
        acquisition="ucb",
        beta=2.0,
    )
    np.testing.assert_array_equal(points, [result.space.from_unit(e.unit) for e in result.history])


def test_figures_of_the_model_are_handed_out() -> None:
    adapter = make_adapter("betabo", {"kernel": "beta"})
    adapter.start(BOUNDS, STARTS, 0)
    assert adapter.diagnostics() == {}
    for _ in range(5):
        point = adapter.ask()
        adapter.tell(point, float(point.sum()))
    assert len(adapter.diagnostics()["bandwidth"]) == 2
    assert make_adapter("random", {}).diagnostics() == {}


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("randon", {}, "the optimizer is 'randon', expected one of 'betabo', 'random'.*Did you mean 'random'"),
        ("betabo", {"kernal": "beta"}, "unknown setting 'kernal'.*Did you mean 'kernel'"),
        ("betabo", {"kernel": "bta"}, "kernel is 'bta'.*Did you mean 'beta'"),
        ("betabo", {"kernel": 3}, "kernel is a int, expected a name"),
        ("betabo", {"starting_points": 3}, "unknown setting 'starting_points'"),
        ("random", {"kernel": "beta"}, "unknown setting 'kernel' of the optimizer 'random', which takes none"),
    ],
)
def test_bad_settings_are_explained(name, settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        make_adapter(name, settings)


def test_optimizers_can_be_registered(monkeypatch) -> None:
    monkeypatch.setattr("betabo.lab.bench.optimizers.catalogue.OPTIMIZERS", known := dict(OPTIMIZERS))
    register_optimizer(OptimizerEntry("again", "Random once more.", RandomSearch))
    assert isinstance(make_adapter("again", {}), RandomSearch)
    with pytest.raises(ValueError, match="taken by: Random once more"):
        register_optimizer(known["again"])
