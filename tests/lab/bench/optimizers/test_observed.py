from __future__ import annotations

import numpy as np

from betabo.lab.bench.optimizers.observed import Observed


def test_failures_count_as_the_highest_value() -> None:
    observed = Observed()
    for number, value in enumerate([2.0, float("nan"), 5.0, float("inf")]):
        observed.add(np.array([number / 4, 0.5]), value)
    points, values = observed.tensors()
    assert points.tolist() == [[0.0, 0.5], [0.25, 0.5], [0.5, 0.5], [0.75, 0.5]]
    assert values.tolist() == [2.0, 5.0, 5.0, 5.0]


def test_it_is_empty_until_there_is_a_value() -> None:
    observed = Observed()
    assert observed.empty
    observed.add(np.array([0.5]), float("nan"))
    assert observed.empty
    observed.add(np.array([0.6]), 1.0)
    assert not observed.empty
