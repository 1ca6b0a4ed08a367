"""The functions of the literature that the default was tuned and looked at on."""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import pytest

from example_case import load_example

MINIMIZERS = {  # from the literature
    "michalewicz-5": [2.202906, 1.570796, 1.284992, 1.923058, 1.720470],
    "schwefel-4": [420.968746] * 4,
    "schwefel-8": [420.968746] * 8,
    "zakharov-6": [0.0] * 6,
    "dixon_price-8": [2.0 ** -((2**i - 2) / 2**i) for i in range(1, 9)],
    "powell-8": [0.0] * 8,
    "shekel-4": [4.0007465, 4.0005929, 3.9996634, 3.9995098],
    "rastrigin-3": [0.0] * 3,
    "rastrigin-12": [0.0] * 12,
    "goldstein_price-2": [0.0, -1.0],
    "six_hump_camel-2": [0.0898420, -0.7126564],
    "eggholder-2": [512.0, 404.231805],
    "cosine_mixture-8": [0.0] * 8,
    "trid-6": [i * (7 - i) for i in range(1, 7)],
    "salomon-5": [0.0] * 5,
    "alpine-6": [0.0] * 6,
    "stairs-6": [0.0] * 6,
    "slope-12": [1.0, 0.0] * 6,
}


@pytest.fixture(scope="module")
def classics() -> ModuleType:
    return load_example("experiments/classics")


def test_least_values_of_the_literature_are_those_at_its_minimizers(classics: ModuleType) -> None:
    known = {problem.name.removesuffix("-classic"): problem for problem in classics.CLASSICS}
    for name, minimizer in MINIMIZERS.items():
        problem = known[name]
        low, high = np.array(problem.bounds, dtype=float).T
        unit = (np.array(minimizer) - low) / (high - low)
        assert ((unit >= 0) & (unit <= 1)).all(), name
        assert problem.objective(0)(unit) == pytest.approx(problem.best(0), abs=2e-5), name


def test_no_point_is_below_the_least_value(classics: ModuleType) -> None:
    generator = np.random.default_rng(0)
    for problem in classics.CLASSICS:
        best, objective = problem.best(0), problem.objective(0)
        values = [objective(u) for u in generator.random((500, problem.dim))]
        assert all(math.isfinite(value) for value in values), problem.name
        assert min(values) > best, problem.name
