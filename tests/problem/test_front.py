"""Fronts and hypervolumes."""

from __future__ import annotations

import numpy as np
import pytest

from betabo.problem.front import hypervolumes, pareto_front, reference_point


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


def test_front_of_equal_points_is_all_of_them() -> None:
    assert pareto_front([[1.0, 2.0], [1.0, 2.0], [2.0, 2.0], [3.0, 0.0]]) == [0, 1, 3]
    assert pareto_front(np.empty((0, 2))) == []
    assert pareto_front([]) == []


@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
def test_front_is_what_nothing_dominates(objectives: int) -> None:
    rows = np.random.default_rng(0).integers(0, 6, size=(60, objectives)).astype(float)
    rows[7, 0] = np.inf
    dominated = [any((other <= row).all() and (other < row).any() for other in rows) for row in rows]
    assert pareto_front(rows) == [index for index, beaten in enumerate(dominated) if not beaten]
