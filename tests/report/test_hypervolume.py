"""Hypervolumes."""

from __future__ import annotations

import numpy as np
import pytest

from betabo.report.hypervolume import hypervolumes, reference_point


def test_reference_lies_beyond_the_worst() -> None:
    assert reference_point([[0.0, 5.0], [10.0, 5.0], [np.inf, 0.0]]) == pytest.approx([11.0, 5.1])


@pytest.mark.parametrize("objectives", [2, 3])
def test_hypervolume_is_the_share_of_random_points_that_are_dominated(objectives: int) -> None:
    rng = np.random.default_rng(0)
    losses = rng.uniform(size=(12, objectives))
    samples = rng.uniform(size=(200_000, objectives))
    found = hypervolumes(losses, np.ones(objectives))
    for count in (1, 4, 12):
        dominated = (losses[:count, None] <= samples[None]).all(axis=-1).any(axis=0)
        assert found[count - 1] == pytest.approx(dominated.mean(), abs=5e-3)
    assert found == sorted(found)


def test_hypervolume_ignores_what_is_not_finite_or_beyond_the_reference() -> None:
    rows = [[np.inf, 0.0], [2.0, 2.0], [0.5, 0.5], [0.5, 0.5]]
    assert hypervolumes(rows, np.ones(2)) == pytest.approx([0.0, 0.0, 0.25, 0.25])
