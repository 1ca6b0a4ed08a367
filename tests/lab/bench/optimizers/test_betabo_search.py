from __future__ import annotations

import numpy as np

from betabo import minimize
from betabo.lab.bench.optimizers import make_adapter

BOUNDS = [(-5.0, 10.0), (0.0, 15.0)]
STARTS = np.array([[0.0, 1.0], [9.5, 14.0], [-5.0, 15.0], [3.0, 3.0]])


def search(settings: dict, steps: int, seed: int) -> np.ndarray:
    adapter = make_adapter("betabo", settings)
    adapter.start(BOUNDS, STARTS.copy(), seed)
    points = []
    for _ in range(steps):
        points.append(adapter.ask())
        adapter.tell(points[-1], float(((points[-1] - 1) ** 2).sum()))
    return np.array(points)


def test_betabo_does_what_minimize_does() -> None:
    points = search({"kernel": "matern", "acquisition": "ucb", "beta": 2.0}, 7, seed=1)
    result = minimize(
        lambda x: float(((x - 1) ** 2).sum()),
        BOUNDS,
        budget=7,
        seed=1,
        initial=STARTS,
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
