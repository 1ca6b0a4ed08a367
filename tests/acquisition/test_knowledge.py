"""The knowledge gradient against sampling, against EI without noise, and against its own lean form."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from botorch.acquisition.analytic import LogExpectedImprovement
from botorch.models import SingleTaskGP
from torch import Tensor

from betabo.acquisition.knowledge import LeanKnowledgeGradient, LogKnowledgeGradient, log_gain
from betabo.acquisition.lean import lean_form
from betabo.kernels.catalogue import KERNELS
from betabo.surrogate import GaussianProcess


def process(kernel: str = "beta-additive", noise: float = 0.1, n: int = 25, dims: int = 3) -> GaussianProcess:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(n, dims, generator=generator, dtype=torch.float64)
    y = torch.sin(5 * x).sum(dim=-1) + 0.3 * torch.randn(n, generator=generator, dtype=torch.float64)
    return GaussianProcess(x, (y - y.mean()) / y.std(), KERNELS[kernel].make(dims).double(), noise)


def points(count: int, dims: int = 3, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, 1, dims, generator=generator, dtype=torch.float64)


def with_gradient(function: torch.nn.Module, at: Tensor) -> tuple[Tensor, Tensor]:
    at = at.clone().requires_grad_()
    values = function(at)
    return values.detach(), torch.autograd.grad(values.sum(), at)[0]


def sampled_gain(gp: GaussianProcess, answers: Tensor, point: Tensor, noise: float) -> float:
    """By sampling the next value, with the posterior of the process itself after it."""
    joint = gp.posterior(torch.cat([point, answers]))
    mean, covariance = joint.mean.flatten().detach().numpy(), joint.distribution.covariance_matrix.detach().numpy()
    z = np.random.default_rng(0).standard_normal(200_000)
    moved = mean[:, None] + covariance[:, :1] / np.sqrt(covariance[0, 0] + noise) * z
    return float(mean[1:].min() - moved.min(axis=0).mean())


@pytest.mark.parametrize("noise", [0.01, 0.1, 1.0])
def test_it_is_the_expected_improvement_of_the_answer(noise: float) -> None:
    gp = process(noise=noise)
    function = LogKnowledgeGradient(gp, gp.x, noise)
    best = gp.x[int(gp.posterior(gp.x).mean.argmin())]
    at = torch.cat(
        [points(4), gp.x[:3].unsqueeze(-2), (best + 0.2 * (points(8) - 0.5)).clamp(0, 1), best.expand(1, 1, 3)]
    )
    found = function(at).exp()
    expected = [sampled_gain(gp, function.answers, point, noise) for point in at]
    assert found.tolist() == pytest.approx(expected, rel=0.03, abs=2e-4)
    assert float(found.max()) > 3e-3


def test_the_next_posterior_is_the_one_it_foresees() -> None:
    gp = process()
    function = LogKnowledgeGradient(gp, gp.x, 0.1)
    (point,) = points(1)
    posterior = gp.posterior(point)
    mean, variance = posterior.mean.item(), posterior.variance.item()
    values = mean + np.sqrt(variance + 0.1) * np.random.default_rng(0).standard_normal(300)
    lowest = []
    for value in values:
        after = gp.condition(point, torch.tensor([value], dtype=torch.float64))
        lowest.append(float(after.posterior(torch.cat([function.answers, point]).unsqueeze(-2)).mean.min()))
    gain = float(function.means.min()) - np.mean(lowest)
    assert float(function(point.unsqueeze(0)).exp()) == pytest.approx(gain, abs=4 * np.std(lowest) / np.sqrt(300))


def test_without_noise_it_is_expected_improvement() -> None:
    gp = process(noise=1e-8)
    expected = LogExpectedImprovement(gp, best_f=gp.y.min(), maximize=False)(points(20))
    assert float(expected.detach().min()) < -20
    found = LogKnowledgeGradient(gp, gp.x, 0.0)(points(20))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kernel", ["beta-additive", "beta-matern", "beta"])
def test_the_lean_form_has_the_same_values_and_gradients(kernel: str) -> None:
    gp = process(kernel)
    function = LogKnowledgeGradient(gp, gp.x, 0.1)
    lean = lean_form(function)
    assert isinstance(lean, LeanKnowledgeGradient)
    at = torch.cat([points(20), points(5).round(), (gp.x[:3] + 1e-3).clamp(0, 1).unsqueeze(-2)])
    values, gradient = with_gradient(lean, at)
    expected, slope = with_gradient(function, at)
    torch.testing.assert_close(values, expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(gradient, slope, rtol=1e-4, atol=1e-4)


def test_gradients_agree_with_finite_differences() -> None:
    gp = process()
    function = lean_form(LogKnowledgeGradient(gp, gp.x, 0.1))
    at = points(4)
    _, gradient = with_gradient(function, at)
    step = 1e-6
    for coordinate in range(3):
        moved = torch.zeros(3, dtype=torch.float64)
        moved[coordinate] = step
        change = (function(at + moved) - function(at - moved)) / (2 * step)
        torch.testing.assert_close(gradient[:, 0, coordinate], change, rtol=1e-4, atol=1e-4)


def test_other_models_have_no_lean_form_and_the_same_meaning() -> None:
    gp = process("spectral-mixture")
    function = LogKnowledgeGradient(gp, gp.x, 0.1)
    assert lean_form(function) is function
    model = SingleTaskGP(gp.x, gp.y.unsqueeze(-1), outcome_transform=None)
    assert LogKnowledgeGradient(model, gp.x, 0.1)(points(3)).shape == (3,)


def test_answers_beyond_the_data_have_no_lean_form() -> None:
    gp = process()
    function = LogKnowledgeGradient(gp, points(4).squeeze(-2), 0.1)
    assert lean_form(function) is function


def test_several_values_of_one_point_make_one_answer() -> None:
    gp = process()
    twice = GaussianProcess(torch.cat([gp.x, gp.x]), torch.cat([gp.y, gp.y]), gp.kernel, 0.1)
    function = LogKnowledgeGradient(twice, twice.x, 0.1)
    assert len(torch.unique(function.answers, dim=0)) == len(function.answers)
    torch.testing.assert_close(lean_form(function)(points(4)), function(points(4)), rtol=1e-6, atol=1e-6)


def test_equal_lines_and_nothing_to_be_gained_are_finite() -> None:
    zero = torch.zeros(2, dtype=torch.float64)
    means = torch.tensor([1.0, 1.0, 2.0], dtype=torch.float64)
    found = log_gain(zero + 1.0, zero + 1e-12, torch.zeros(2, 3, dtype=torch.float64), means, 0.0)
    assert found.isfinite().all()
    same = torch.full((2, 3), 0.5, dtype=torch.float64)
    nothing = log_gain(zero + 3.0, zero + 0.5, same, means, 0.0)
    assert nothing.isfinite().all()
    assert (nothing < -1e300).all()  # all lines are parallel, so the answer stays what it is
