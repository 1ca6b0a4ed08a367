from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize as local_search

from betabo.lab.problems.designs import Design, PressureVessel, SpeedReducer


@pytest.mark.parametrize("kind", [PressureVessel, SpeedReducer], ids=lambda kind: kind.__name__)
def test_designs_have_the_optimum_that_slsqp_finds(kind: type[Design]) -> None:
    design = kind(len(kind.coordinates))
    bounds = design.bounds.T.numpy()
    generator = np.random.default_rng(0)
    found = []
    for _ in range(12):
        result = local_search(
            design.cost,
            generator.uniform(*bounds.T),
            bounds=bounds,
            constraints={"type": "ineq", "fun": lambda x: -np.array(design.constraints(x))},
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 400},
        )
        if max(design.constraints(result.x)) < 1e-6:  # how close it comes depends on the number of threads
            found.append(result.fun)
    assert min(found) == pytest.approx(design.optimal_value, abs=1e-2)


@pytest.mark.parametrize("kind", [PressureVessel, SpeedReducer], ids=lambda kind: kind.__name__)
def test_designs_are_best_on_bounds_and_constraints(kind: type[Design]) -> None:
    design = kind(len(kind.coordinates))
    best = design.optimizers[0]
    assert ((best == design.bounds[0]) | (best == design.bounds[1])).any()
    assert max(design.constraints(best.numpy())) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("kind", [PressureVessel, SpeedReducer], ids=lambda kind: kind.__name__)
def test_breaking_a_constraint_does_not_pay(kind: type[Design]) -> None:
    design = kind(len(kind.coordinates))
    low, high = design.bounds.numpy()
    best = design.optimizers[0].numpy()
    generator = np.random.default_rng(1)
    for size in (1e-4, 1e-3, 1e-2, 1e-1):
        for _ in range(500):
            near = np.clip(best + size * (high - low) * generator.standard_normal(len(best)), low, high)
            assert design.value(near) >= design.optimal_value


def test_the_speed_reducer_has_the_value_of_the_literature() -> None:
    design = SpeedReducer(7)
    published = torch.tensor([3.5, 0.7, 17.0, 7.3, 7.71532, 3.350215, 5.286655], dtype=torch.float64)
    assert design.cost(published.numpy()) == pytest.approx(2994.471, abs=2e-3)
