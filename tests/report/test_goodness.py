"""Leave-one-out predictions, against processes that are fitted without each trial."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest
import torch

from betabo.optimizer.config import Config
from betabo.optuna.model import fit_study
from betabo.report.goodness import Goodness, doubts, leave_one_out
from betabo.report.predictions import LEVELS
from betabo.surrogate import GaussianProcess


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_each_trial_is_predicted_as_if_it_were_not_there(direction: str) -> None:
    sign = 1 if direction == "minimize" else -1
    study = optuna.create_study(direction=direction)
    sampler = optuna.samplers.RandomSampler(seed=0)
    study.sampler = sampler
    study.optimize(lambda t: sign * ((t.suggest_float("x", 0, 1) - 0.3) ** 2 + t.suggest_float("y", 0, 1)), 12)
    model = fit_study(study, Config(power_transform=False))
    (found,) = leave_one_out(model)
    output = model.surrogate.objectives[0]
    process, transform = output.process, output.transform
    for left_out in (0, 5):
        rest = [i for i in range(12) if i != left_out]
        other = GaussianProcess(process.x[rest], process.y[rest], process.kernel, process.noise, process.mean)
        posterior: Any = other.posterior(process.x[[left_out]], observation_noise=True)
        expected = sign * transform.inverse(posterior.mean.numpy().ravel())[0]
        assert found.predicted[len(LEVELS) // 2, left_out] == pytest.approx(expected, rel=1e-6)
        width = posterior.variance.sqrt().item() * transform.scale * transform.spread * 2 * 1.6448536
        assert found.predicted[-1, left_out] - found.predicted[0, left_out] == pytest.approx(width, rel=1e-4)
    assert found.observed.tolist() == [t.value for t in study.trials]
    assert found.trials == list(range(12))
    assert (np.diff(found.predicted, axis=0) >= 0).all()


def test_a_model_of_its_own_draws_covers_nine_of_ten() -> None:
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.random((400, 1)))
    kernel = __import__("gpytorch").kernels.RBFKernel().double()
    kernel.lengthscale = 0.1
    covariance = kernel(x).to_dense().detach() + 0.04 * torch.eye(400, dtype=torch.float64)
    y = torch.linalg.cholesky(covariance) @ torch.randn(400, dtype=torch.float64)
    mean, variance = GaussianProcess(x, y, kernel, 0.04).leave_one_out()
    z = ((y - mean) / variance.sqrt()).abs()
    assert (z < 1.645).double().mean().item() == pytest.approx(0.9, abs=0.04)


def goodness(observed: list[float], medians: list[float], half: float = 1.0) -> Goodness:
    shifts = np.array([-1, -0.4, 0, 0.4, 1])[:, None] * half
    return Goodness(0, list(range(len(observed))), np.array(observed), np.array(medians) + shifts)


def test_the_verdict_counts_what_is_covered_and_says_how_values_are_ordered() -> None:
    good = goodness([1.0, 2.0, 3.0, 9.0], [1.5, 2.5, 2.6, 4.0])
    assert good.covered == 3
    assert good.correlation == pytest.approx(1.0)
    assert good.verdict().startswith("3 of 4 values (75%) lie in their 90 % interval; the rank correlation")
    assert not good.is_poor
    assert "hardly" in goodness([1.0, 2.0, 3.0, 4.0], [4.0, 1.0, 3.0, 2.0]).verdict()
    flat = goodness([1.0, 2.0, 3.0, 4.0], [2.0] * 4)
    assert flat.correlation is None
    assert "alike" in flat.verdict()


def test_doubts_are_for_few_trials_and_for_poor_predictions() -> None:
    good = goodness([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0])
    poor = goodness([1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0])
    assert doubts(40, 4, [good]) == ""
    assert "12 trials of 4 parameters" in doubts(12, 4, [good])
    assert "hardly" in doubts(40, 4, [good, poor])


def test_too_few_trials_leave_none_out(add_trial: Any) -> None:
    study = optuna.create_study()
    ranges = {"x": optuna.distributions.FloatDistribution(0, 1)}
    for index in range(3):
        add_trial(study, {"x": 0.3 * index}, [float(index)], ranges)
    assert leave_one_out(fit_study(study)) == []
