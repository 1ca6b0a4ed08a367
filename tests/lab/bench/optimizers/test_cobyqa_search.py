from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize

from betabo.lab.bench.optimizers import make_adapter

BOUNDS = [(-5.0, 10.0), (0.0, 15.0)]


def quadratic(point: np.ndarray) -> float:
    return float(((point - [1.0, 4.0]) ** 2 * [1.0, 9.0]).sum())


@pytest.mark.parametrize(("name", "scale"), [("cobyqa", False), ("cobyqa-scaled", True)])
def test_cobyqa_does_what_scipy_does_by_itself(name, scale) -> None:
    points = asked_of_cobyqa(name, 30)
    expected = []

    def noted(point: np.ndarray) -> float:
        expected.append(point.copy())
        return quadratic(point)

    minimize(noted, points[0], method="COBYQA", bounds=Bounds(*np.transpose(BOUNDS)), options={"scale": scale})
    count = min(len(expected), 30)
    assert count > 10
    np.testing.assert_array_equal(points[:count], np.clip(expected[:count], *np.transpose(BOUNDS)))
    assert min(map(quadratic, points)) < 1e-8


def asked_of_cobyqa(name: str, steps: int) -> np.ndarray:
    adapter = make_adapter(name, {})
    adapter.start(BOUNDS, np.empty((0, 2)), 4)
    points = []
    for _ in range(steps):
        points.append(adapter.ask())
        adapter.tell(points[-1], quadratic(points[-1]))
    adapter.end()
    return np.array(points)
