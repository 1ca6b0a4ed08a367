"""The problems whose coordinates have an order, and the kernels that know of it."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.integrate import solve_ivp
from scipy.optimize import lsq_linear

from betabo.surrogate.likelihood import Likelihood
from example_case import EXAMPLES, load_example


@pytest.fixture(scope="module")
def profiles() -> ModuleType:
    return load_example("experiments/profiles")


def test_the_pendulum_swings_as_its_differential_equation_says(profiles: ModuleType) -> None:
    u = np.random.default_rng(0).random(20)

    def slope(t: float, state: list[float]) -> list[float]:
        push = 0.2 * (2 * u[min(int(t / 0.5), 19)] - 1)
        return [state[1], push - np.sin(state[0])]

    end = solve_ivp(slope, (0, 10), [0.0, 0.0], rtol=1e-9, atol=1e-9, max_step=0.05).y[:, -1]
    energy = end[1] ** 2 / 2 + 1 - np.cos(end[0])
    assert profiles.pendulum(u) == pytest.approx(2 - energy, abs=0.05 * energy)


def test_the_reactor_reacts_as_its_differential_equation_says(profiles: ModuleType) -> None:
    u = np.random.default_rng(1).random(24)

    def slope(t: float, state: list[float]) -> list[float]:
        temperature = 298 + 100 * u[min(int(24 * t), 23)]
        fast, slow = 4000 * np.exp(-2500 / temperature), 620_000 * np.exp(-5000 / temperature)
        return [-fast * state[0] ** 2, fast * state[0] ** 2 - slow * state[1]]

    end = solve_ivp(slope, (0, 1), [1.0, 0.0], rtol=1e-9, atol=1e-9, max_step=0.005).y[:, -1]
    assert profiles.reactor(u) == pytest.approx(1 - end[1], abs=2e-3)


def test_the_best_heating_of_the_bar_is_that_of_linear_least_squares(profiles: ModuleType) -> None:
    responses = profiles._responses(30)
    wanted = np.sin(np.linspace(0, np.pi, 30)) ** 2
    best = lsq_linear(responses, wanted, (0, 1))
    assert 10 * 2 * best.cost / 30 == pytest.approx(profiles.least("bar"), rel=1e-4)


@pytest.mark.parametrize("name", ["modes-5", "modes-8", "sums"])
def test_closed_forms_of_the_kernels_agree_with_autograd(profiles: ModuleType, name: str) -> None:
    generator = np.random.default_rng(0)
    x, y = torch.from_numpy(generator.random((15, 10))), torch.from_numpy(generator.standard_normal(15))
    lean, plain = (Likelihood(x, y, profiles.KERNELS[name](10), "unknown", lean=lean) for lean in (True, False))
    assert lean.is_lean
    vector = lean.vector() + 0.1 * generator.standard_normal(len(lean.vector()))
    (value, gradient), (expected, by_autograd) = lean(vector), plain(vector)
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, by_autograd, rtol=1e-7, atol=1e-9)


def test_modes_are_orthonormal_and_sums_add_up(profiles: ModuleType) -> None:
    modes = profiles.modes(12, 6).numpy()
    np.testing.assert_allclose(modes @ modes.T, np.eye(6), atol=1e-12)
    u = np.random.default_rng(0).random(12)
    np.testing.assert_allclose(profiles.sums(12).numpy() @ u * np.sqrt(12), np.cumsum(u))


def test_published_numbers_are_those_of_the_kept_searches(profiles: ModuleType) -> None:
    docs = EXAMPLES.parent / "docs"
    found = profiles.ratios(pd.read_csv(docs / "results" / "profiles.csv"))
    published = (docs / "experiments.md").read_text(encoding="utf-8")
    for method in found:
        logs = found[method].dropna()
        cells = [profiles.cell(logs.loc[name].to_numpy()) if name in logs.index else "" for name in profiles.PROBLEMS]
        assert f"| {method} | {' | '.join(cells)} | {profiles.cell(logs.to_numpy())} |" in published
    modes = np.exp(found["modes-5"].dropna())
    assert (modes.loc["pendulum"] < 0.02).all()
    assert int((modes.loc["reactor"] < 1).sum()) == 2
