from __future__ import annotations

import pytest
import torch
from botorch.test_functions.synthetic import Branin

from betabo.lab.problems import BoundedProblem, Repeated


def test_hartmann_is_the_mean_over_blocks_of_six() -> None:
    one, three = BoundedProblem("hartmann", 6), BoundedProblem("hartmann", 20)
    x = torch.rand(20, dtype=torch.float64)
    blocks = [one(x[i : i + 6]).item() for i in (0, 6, 12)]
    assert three(x).item() == pytest.approx(sum(blocks) / 3)
    moved = x.clone()
    moved[18:] = 0.0
    assert three(moved).item() == three(x).item()


def test_each_optimum_is_repeated_and_the_rest_stays_in_the_middle() -> None:
    problem = Repeated(Branin(), 5)
    assert problem.optimizers.shape == (3, 5)
    for listed, optimum in zip(problem.optimizers, Branin().optimizers, strict=True):
        assert listed.tolist() == pytest.approx([*optimum.tolist(), *optimum.tolist(), 2.5])
        assert problem(listed).item() == pytest.approx(problem.optimal_value, abs=1e-5)


def test_a_block_has_to_fit() -> None:
    with pytest.raises(ValueError, match="dim is 1, expected at least 2, the coordinates of Branin"):
        Repeated(Branin(), 1)
