from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from botorch.test_functions.synthetic import Branin
from botorch.utils.testing import BaseTestProblemTestCaseMixIn, BotorchTestCase, SyntheticTestFunctionTestCaseMixin
from scipy.optimize import minimize as local_search

from betabo.lab.problems import (
    PLACEMENTS,
    BoundedProblem,
    Repeated,
    problem_by_name,
)

NAMES = ["griewank-4", "ackley-3", "levy-5", "branin-2", "branin-7", "hartmann-6", "hartmann-14"]
PLACED = [f"{name}-{placement}" for name in NAMES for placement in PLACEMENTS]


class TestInBoTorch(BotorchTestCase, BaseTestProblemTestCaseMixIn, SyntheticTestFunctionTestCaseMixin):
    """BoTorch's own tests of a test function."""

    functions = [  # noqa: RUF012
        *(problem_by_name(name) for name in PLACED),
        BoundedProblem("levy", 3, "vertex", noise_std=0.1, negate=True),
        BoundedProblem("branin", 4, "face", epsilon=0.1),
        Repeated(Branin(), 5),
    ]


def griewank(x: np.ndarray) -> float:
    return (x**2).sum() / 4000 - np.prod(np.cos(x / np.sqrt(np.arange(1, len(x) + 1)))) + 1


def ackley(x: np.ndarray) -> float:
    return -20 * math.exp(-0.2 * math.sqrt((x**2).mean())) - math.exp(np.cos(2 * math.pi * x).mean()) + 20 + math.exp(1)


def levy(x: np.ndarray) -> float:
    w = 1 + (x - 1) / 4
    middle = ((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(math.pi * w[:-1] + 1) ** 2)).sum()
    return np.sin(math.pi * w[0]) ** 2 + middle + (w[-1] - 1) ** 2 * (1 + np.sin(2 * math.pi * w[-1]) ** 2)


def branin(x: np.ndarray) -> float:
    def one(a: float, b: float) -> float:
        curve = b - 5.1 * a**2 / (4 * math.pi**2) + 5 * a / math.pi - 6
        return curve**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10

    return float(np.mean([one(x[i], x[i + 1]) for i in range(0, len(x) - 1, 2)]))


@pytest.mark.parametrize("function", [griewank, ackley, levy, branin], ids=lambda f: f.__name__)
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("dim", [2, 5])
def test_values_are_those_of_the_formula(function, placement, dim) -> None:
    problem = BoundedProblem(function.__name__, dim, placement)
    for u in torch.rand(5, dim, dtype=torch.float64):
        x = problem.from_unit(u)
        assert problem.objective()(x.numpy()) == pytest.approx(function(x.numpy()), rel=1e-10, abs=1e-10)
        assert problem.evaluate_unit(u).item() == pytest.approx(function(x.numpy()), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_placement_moves_the_first_optimum(name) -> None:
    dim = int(name.split("-")[1])
    usual, face, vertex = (problem_by_name(f"{name}-{placement}") for placement in PLACEMENTS)
    assert vertex.unit_optimizers[0].tolist() == pytest.approx([0.05] * dim, abs=1e-12)
    assert face.unit_optimizers[0, 0].item() == pytest.approx(0.05, abs=1e-12)
    assert torch.equal(face.bounds[:, 1:], usual.bounds[:, 1:])
    for problem in (face, vertex):
        assert torch.equal(problem.bounds[1], usual.bounds[1])
        assert (problem.bounds[0] >= usual.bounds[0]).all()
        assert torch.equal(problem.optimizers[0], usual.optimizers[0])


def test_the_usual_boxes_are_the_ones_of_the_literature() -> None:
    boxes = {name: BoundedProblem(name, 6).box[:2] for name in ("griewank", "ackley", "levy", "branin", "hartmann")}
    assert boxes["griewank"] == [(-600, 600)] * 2
    assert boxes["ackley"] == [(-32.768, 32.768)] * 2
    assert boxes["levy"] == [(-10, 10)] * 2
    assert boxes["branin"] == [(-5, 10), (0, 15)]
    assert boxes["hartmann"] == [(0, 1)] * 2


def test_branin_is_placed_by_its_first_optimum() -> None:
    vertex = BoundedProblem("branin", 2, "vertex")
    assert vertex.optimizers.tolist() == [[-math.pi, 12.275]]
    low = [(-math.pi - 0.05 * 10) / 0.95, (12.275 - 0.05 * 15) / 0.95]
    assert vertex.bounds[0].tolist() == pytest.approx(low)
    assert len(BoundedProblem("branin", 2).optimizers) == 3


@pytest.mark.parametrize("name", PLACED)
def test_nothing_lies_below_the_optimal_value(name) -> None:
    problem = problem_by_name(name)
    best = local_search(problem.objective(), problem.optimizers[0].numpy(), bounds=problem.box, tol=1e-14)
    assert best.fun - problem.optimal_value == pytest.approx(0, abs=1e-5)
    assert best.fun - problem.optimal_value > -1e-12


def test_bad_arguments_are_explained() -> None:
    with pytest.raises(ValueError, match="placement is 'corner', expected one of 'centre'"):
        BoundedProblem("levy", 2, "corner")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="noise_std is -1"):
        BoundedProblem("levy", 2, noise_std=-1)
    with pytest.raises(ValueError, match=r"shape \(3,\), expected \(2,\)"):
        BoundedProblem("levy", 2).objective()([1, 2, 3])
    with pytest.raises(ValueError, match="within the bounds"):
        BoundedProblem("levy", 2).objective()([1, 200])
