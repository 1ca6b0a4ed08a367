from __future__ import annotations

import numpy as np

from betabo.lab.bench.optimizers.corners import CornerSearch

BOUNDS = [(-5.0, 10.0), (0.0, 15.0), (1.0, 2.0)]


def search(seed: int) -> np.ndarray:
    adapter = CornerSearch()
    adapter.start(BOUNDS, np.array([[1.0, 2.0, 1.5]]), seed)
    return np.array([adapter.ask() for _ in range(60)])


def test_vertices_follow_the_starting_points() -> None:
    points = search(0)
    assert points[0].tolist() == [1.0, 2.0, 1.5]
    low, high = np.array(BOUNDS).T
    assert ((points[1:] == low) | (points[1:] == high)).all()
    assert len(np.unique(points[1:], axis=0)) == 8  # each vertex is among them


def test_the_seed_decides() -> None:
    np.testing.assert_array_equal(search(3), search(3))
    assert (search(3) != search(4)).any()
