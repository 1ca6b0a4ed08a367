from __future__ import annotations

import pytest
import torch

from betabo.lab.problems import BoundedProblem, problem_by_name


@pytest.mark.parametrize(
    "problem",
    [
        BoundedProblem("levy", 20, "vertex"),
        BoundedProblem("branin", 3, "face", epsilon=0.1),
        BoundedProblem("ackley", 2, noise_std=1e-5),
        BoundedProblem("hartmann", 6, "vertex", epsilon=0.01, noise_std=0.5),
    ],
    ids=lambda problem: problem.name,
)
def test_names_lead_back_to_the_problem(problem) -> None:
    again = problem_by_name(problem.name)
    assert again.name == problem.name
    assert torch.equal(again.bounds, problem.bounds)
    assert again.noise_std == problem.noise_std


def test_names_are_short_for_the_usual_settings() -> None:
    assert BoundedProblem("levy", 20, "vertex").name == "levy-20-vertex"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("levy-20", "expected function-dim-placement"),
        ("levy-20-corner", "expected function-dim-placement"),
        ("lewy-20-face", "Did you mean 'levy'"),
        ("hartmann-5-face", "dim is 5, expected at least 6"),
        ("levy-0-face", "dim is 0, expected at least 1"),
        ("branin-2-vertex-eps0.2", "expected at most 0.1239"),
        ("branin-2-vertex-eps1.5", "between 0 and 1"),
    ],
)
def test_bad_names_are_explained(name, message) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        problem_by_name(name)
    assert name in str(caught.value)


def test_noise_is_part_of_a_name() -> None:
    problem = problem_by_name("hartmann-6-centre-noise0.3")
    assert problem.noise_std == 0.3
    assert problem.evaluate_true(problem.optimizers[0]).item() == pytest.approx(problem.optimal_value, abs=1e-5)
