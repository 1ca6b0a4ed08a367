"""What is known of the objective."""

from __future__ import annotations

import numpy as np

from betabo.optimizer import Data

POINTS = np.array([[0.0, 0.1], [0.2, 0.3]])
FAILED, PENDING = np.array([[0.4, 0.5]]), np.array([[0.6, 0.7], [0.8, 0.9]])


def test_all_points_are_seen_and_counted() -> None:
    data = Data(POINTS, np.array([1.0, 2.0]), FAILED, PENDING)
    assert data.seen().tolist() == [*POINTS.tolist(), *FAILED.tolist(), *PENDING.tolist()]
    assert (data.total, data.dims) == (5, 2)


def test_objectives_are_columns() -> None:
    one, two = np.array([1.0, 2.0]), np.array([[1.0, 3.0], [2.0, 4.0]])
    assert Data(POINTS, one, FAILED, PENDING).objectives.tolist() == [[1.0], [2.0]]
    assert Data(POINTS, two, FAILED, PENDING).objectives.tolist() == two.tolist()


def test_without_constraints_there_is_a_row_for_each_point() -> None:
    assert Data(POINTS, np.array([1.0, 2.0]), FAILED, PENDING).constraints.shape == (2, 0)
    constraints = np.array([[1.0], [-1.0]])
    assert Data(POINTS, np.array([1.0, 2.0]), FAILED, PENDING, constraints).constraints is constraints


def test_variances_have_the_shape_of_the_values() -> None:
    two = np.array([[1.0, 3.0], [2.0, 4.0]])
    assert np.isnan(Data(POINTS, two, FAILED, PENDING).variances).tolist() == [[True, True], [True, True]]
    variances = np.array([0.1, np.nan])
    assert Data(POINTS, two[:, 0], FAILED, PENDING, variances=variances).variances is variances
