from __future__ import annotations

import numpy as np
import pytest
import torch

from betabo import minimize
from betabo.lab.problems import BoundedProblem


def test_unit_cube_and_own_units_agree() -> None:
    problem = BoundedProblem("branin", 5, "vertex")
    corners = torch.tensor([[0.0] * 5, [1.0] * 5], dtype=torch.float64)
    assert torch.equal(problem.from_unit(corners), problem.bounds)
    u = torch.rand(7, 5, dtype=torch.float64)
    torch.testing.assert_close(problem.to_unit(problem.from_unit(u)), u)
    torch.testing.assert_close(problem.evaluate_unit(u), problem(problem.from_unit(u)))
    with pytest.raises(ValueError, match="unit cube"):
        problem.evaluate_unit(u + 1)


def test_noise_is_seeded_and_has_its_deviation() -> None:
    problem = BoundedProblem("levy", 2, "face", noise_std=2.0)
    x = problem.optimizers[0].numpy()
    values = [[f(x) for _ in range(500)] for f in (problem.objective(seed=1), problem.objective(seed=1))]
    assert values[0] == values[1]
    assert values[0] != [problem.objective(seed=2)(x) for _ in range(500)]
    assert np.std(values[0]) == pytest.approx(2.0, rel=0.1)
    assert problem(problem.optimizers[0], noise=False).item() == pytest.approx(0)


def test_a_problem_can_be_minimized() -> None:
    problem = BoundedProblem("branin", 2, "vertex")
    result = minimize(problem.objective(), bounds=problem.box, budget=20, seed=0, noise="none")
    assert 0 <= result.fun - problem.optimal_value < 0.1


@pytest.mark.parametrize(("placement", "near"), [("centre", False), ("face", True), ("vertex", True)])
def test_near_a_face_is_five_percent_of_the_side(placement, near) -> None:
    assert BoundedProblem("ackley", 4, placement).near_face == near
    assert not BoundedProblem("ackley", 4, placement, epsilon=0.06).near_face


def test_the_group_of_a_placed_function_is_its_placement() -> None:
    assert BoundedProblem("ackley", 4, "face").group == "face"
