"""The fit against SciPy's finite differences and densities, and against BoTorch's own fit of the same posterior."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import Kernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior
from scipy import optimize, stats
from torch import Tensor

from betabo.kernels.catalogue import KERNELS
from betabo.surrogate import FitState, covariance_factor, fit, fit_gp
from betabo.surrogate.likelihood import Likelihood

NOISES = ["unknown", "none", 0.05]


def data(n: int = 15, dims: int = 2, noise: float = 0.1, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(n, dims, generator=generator, dtype=torch.float64)
    y = torch.sin(5 * x).sum(dim=-1) + noise * torch.randn(n, generator=generator, dtype=torch.float64)
    return x, (y - y.mean()) / y.std(correction=0)


def make(name: str = "rbf", dims: int = 2) -> Kernel:
    return KERNELS[name].make(dims).double()


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def log_posterior(x: Tensor, y: Tensor, kernel: Kernel, noise: float, fitted_noise: bool) -> float:
    """Log density of the values and of the hyperparameters, by SciPy, at the constant mean that fits best."""
    covariance = kernel(x).to_dense().detach().numpy() + noise * np.eye(len(y))
    weights = np.linalg.solve(covariance, np.ones(len(y)))
    mean = weights @ y.numpy() / weights.sum()
    value = stats.multivariate_normal(np.full(len(y), mean), covariance).logpdf(y.numpy())
    value += sum(prior.log_prob(closure(m)).sum().item() for _, m, prior, closure, _ in kernel.named_priors())
    return float(value + (stats.norm(-8, 3).logpdf(math.log(noise)) if fitted_noise else 0))


@pytest.mark.parametrize(("name", "noise"), [*((name, "unknown") for name in KERNELS), ("rbf", "none"), ("rbf", 0.05)])
def test_gradient_agrees_with_finite_differences(name: str, noise: Any) -> None:
    problem = Likelihood(*data(), make(name), noise)
    draw = 0.3 * torch.randn(len(problem.bounds), generator=seeded(), dtype=torch.float64).numpy()
    inside = problem.bounds + np.array([1e-3, -1e-3])
    vector = np.clip(problem.vector() + draw, *inside.T)
    _, gradient = problem(vector)
    sides = [optimize.approx_fprime(vector, lambda v: problem(v)[0], step) for step in (1e-5, -1e-5)]
    expected = (sides[0] + sides[1]) / 2
    assert np.abs(gradient).max() > 0.1
    assert gradient == pytest.approx(expected, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("noise", NOISES)
def test_objective_is_the_negative_log_posterior(noise: Any) -> None:
    x, y = data()
    kernel = make()
    kernel.outputscale, kernel.base_kernel.lengthscale = 2.0, torch.tensor([0.3, 0.7], dtype=torch.float64)
    problem = Likelihood(x, y, kernel, noise)
    found, _ = problem(problem.vector())
    variance = {"unknown": math.exp(-5), "none": 1e-6}.get(noise, noise)
    expected = -log_posterior(x, y, kernel, variance, False)
    if noise == "unknown":  # a prior without its constant
        expected += 0.5
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("noise", ["unknown", 0.02])
@pytest.mark.parametrize("name", ["rbf", "matern", "beta", "beta-matern"])
def test_fit_is_at_least_as_good_as_botorch_s(name: str, noise: Any) -> None:
    x, y = data()
    process, state, report = fit_gp(x, y, make(name), noise=noise, generator=seeded())
    assert report.status == "fitted"

    learns = noise == "unknown"
    # A density of the noise that is, up to a factor, normal in its logarithm with mean -8 and deviation 3.
    likelihood = GaussianLikelihood(
        noise_prior=LogNormalPrior(1.0, 3.0), noise_constraint=GreaterThan(1e-6, transform=None, initial_value=0.01)
    )
    if not learns:
        likelihood = FixedNoiseGaussianLikelihood(torch.full_like(y, noise))
    model = SingleTaskGP(
        x, y.unsqueeze(-1), likelihood=likelihood, covar_module=make(name), outcome_transform=None
    ).double()
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    theirs = log_posterior(x, y, model.covar_module, model.likelihood.noise.mean().item(), learns)
    ours = log_posterior(x, y, process.kernel, state.noise, learns)
    assert ours > theirs - 1e-3
    start = log_posterior(x, y, make(name), math.exp(-5) if learns else noise, learns)
    assert ours > start + 0.1  # there is something to be gained


def test_a_warm_start_needs_fewer_evaluations() -> None:
    evaluations = np.zeros(3)
    for seed in range(4):
        x, y = data(20, seed=seed)
        _, before, _ = fit_gp(x[:-1], y[:-1], make("beta-matern"), restarts=0)
        _, found, cold = fit_gp(x, y, make("beta-matern"), restarts=0)
        reports = [cold]
        for state in (before, found):
            _, _, report = fit_gp(x, y, make("beta-matern"), restarts=0, warm_start=state)
            assert report.objective == pytest.approx(cold.objective, abs=1e-4)
            reports.append(report)
        evaluations += [report.evaluations for report in reports]
    cold_start, one_point_earlier, converged = evaluations
    assert one_point_earlier < cold_start
    assert converged < 0.25 * cold_start


def test_a_warm_start_from_another_kernel_is_ignored_where_it_does_not_fit() -> None:
    x, y = data()
    state = FitState({"raw_outputscale": [1.0, 2.0], "nothing": [3.0]}, noise=0.01)
    _, _, warm = fit_gp(x, y, make(), restarts=0, warm_start=state)
    _, _, cold = fit_gp(x, y, make(), restarts=0)
    assert warm.status == "fitted"
    assert warm.objective == pytest.approx(cold.objective, abs=1e-3)


def test_the_factor_is_that_of_the_covariance_with_the_hyperparameters_of_a_fit() -> None:
    x, y = data()
    process, state, _ = fit_gp(x, y, make("beta-matern"), restarts=0)
    factor = covariance_factor(x, make("beta-matern"), state)
    assert factor is not None
    with torch.no_grad():
        expected = process.kernel(x).to_dense() + state.noise * torch.eye(len(x), dtype=x.dtype)
    torch.testing.assert_close(factor @ factor.mT, expected)


def test_there_is_no_factor_of_points_that_the_kernel_refuses() -> None:
    x, y = data()
    _, state, _ = fit_gp(x, y, make("beta-matern"), restarts=0)
    assert covariance_factor(x + 2, make("beta-matern"), state) is None


def test_a_state_sets_the_parameters_that_it_knows() -> None:
    kernel = make()
    FitState({"raw_outputscale": [2.5], "base_kernel.raw_lengthscale": [3.0], "nothing": [1.0]}, noise=0.1).set(kernel)
    assert kernel.outputscale.item() == 2.5
    assert torch.equal(kernel.base_kernel.raw_lengthscale, make().base_kernel.raw_lengthscale)  # of another size


def test_more_restarts_never_end_higher() -> None:
    x, y = data()
    objectives = [fit_gp(x, y, make(), restarts=n, generator=seeded())[2].objective for n in (0, 1, 3)]
    assert objectives[2] <= objectives[1] <= objectives[0]


@pytest.mark.parametrize("noise", NOISES)
def test_constant_values_are_not_fitted(noise: Any) -> None:
    x, _ = data()
    process, state, report = fit_gp(x, torch.zeros(15, dtype=torch.float64), make(), noise=noise)
    assert report.status == "constant"
    assert report.evaluations == 0
    initial = dict(make().named_parameters())
    assert state.parameters == {name: value.flatten().tolist() for name, value in initial.items()}
    posterior = process.posterior(torch.rand(4, 2, dtype=torch.float64))
    torch.testing.assert_close(posterior.mean, torch.zeros(4, 1, dtype=torch.float64))
    assert (posterior.variance > 0).all()


class Troubled(RBFKernel):
    """A kernel that cannot be differentiated: it breaks wherever a gradient is asked for."""

    def __init__(self, trouble: str) -> None:
        super().__init__(ard_num_dims=2)
        self.trouble = trouble

    def forward(self, x1: Tensor, x2: Tensor, **params: Any) -> Tensor:
        covariance = super().forward(x1, x2, **params)
        if not torch.is_grad_enabled():
            return covariance
        if self.trouble == "NaN":
            return covariance * math.nan
        if self.trouble == "NaN gradient":
            return covariance + (covariance.detach() - covariance).sqrt().nan_to_num()
        raise {"RuntimeError": RuntimeError, "OverflowError": OverflowError}[self.trouble]("the kernel is in trouble")


@pytest.mark.parametrize("trouble", ["RuntimeError", "OverflowError", "NaN", "NaN gradient"])
def test_a_kernel_that_breaks_leaves_its_initial_hyperparameters(trouble: str) -> None:
    x, y = data()
    kernel = ScaleKernel(Troubled(trouble)).double()
    process, state, report = fit_gp(x, y, kernel, generator=seeded())
    assert report.status == "fallback"
    assert math.isnan(report.objective)
    assert report.messages[-1] == "no start of the fit succeeded; the kernel's initial hyperparameters were taken"
    if trouble.endswith("Error"):
        assert report.messages[0] == "likelihood: the kernel is in trouble"
        assert len(report.messages) == 2  # said once
    initial = {name: value.flatten().tolist() for name, value in ScaleKernel(RBFKernel(2)).double().named_parameters()}
    assert state.parameters == initial
    with torch.no_grad():
        posterior = process.posterior(x)
    assert (posterior.mean.squeeze(-1) - y).abs().max() < 0.5 * y.std()
    assert (posterior.variance > 0).all()


def test_a_fit_that_breaks_on_the_way_ends_at_the_best_point_met() -> None:
    class Brittle(RBFKernel):
        def forward(self, x1: Tensor, x2: Tensor, **params: Any) -> Tensor:
            if (self.lengthscale < 0.5).any():
                raise RuntimeError("too short")
            return super().forward(x1, x2, **params)

    x, y = data()
    process, _, report = fit_gp(x, y, ScaleKernel(Brittle(ard_num_dims=2)).double(), restarts=0)
    assert report.status == "fitted"
    assert report.messages == ("likelihood: too short",)
    assert process.posterior(x).mean.isfinite().all()


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", ["rbf", "beta-matern"])
def test_two_points_are_enough(name: str, noise: Any) -> None:
    x, y = data(2)
    process, _, report = fit_gp(x, y, make(name), noise=noise, generator=seeded())
    assert report.status == "fitted"
    posterior = process.posterior(x)
    assert (posterior.mean[0] - posterior.mean[1]).sign() == (y[0] - y[1]).sign()
    assert posterior.variance.isfinite().all()


def test_of_many_points_some_are_fitted_and_all_are_used() -> None:
    class Counting(RBFKernel):
        most = 0

        def forward(self, x1: Tensor, x2: Tensor, **params: Any) -> Tensor:
            if torch.is_grad_enabled():
                self.most = max(self.most, x1.shape[-2])
            return super().forward(x1, x2, **params)

    x, y = data(400, noise=0.3)
    kernel = Counting(ard_num_dims=2)
    process, state, report = fit_gp(x, y, ScaleKernel(kernel).double(), restarts=0, max_iterations=10)
    assert report.status == "fitted"
    assert kernel.most == 300
    assert process.x.shape == (400, 2)
    assert 0.02 < state.noise < 0.3
    residual = process.posterior(x).mean.squeeze(-1) - y
    assert residual.square().mean() == pytest.approx(state.noise, rel=0.5)
    at_best = process.posterior(x[y.argmin()].unsqueeze(0))
    assert at_best.mean.item() < y.quantile(0.05)


def test_the_same_seed_gives_the_same_fit() -> None:
    x, y = data()
    seeds = (3, 3, 4, 5, 6)
    fits = [fit_gp(x, y, make("rbf"), generator=seeded(seed), restarts=2)[1:] for seed in seeds]
    assert fits[0][0] == fits[1][0]
    assert fits[0][1].objective == fits[1][1].objective
    assert len({report.evaluations for _, report in fits}) > 1  # the draws are not always the same


def test_known_noise_and_none_are_not_fitted() -> None:
    x, y = data()
    assert fit_gp(x, y, make(), noise=0.3, restarts=0)[1].noise == 0.3
    assert fit_gp(x, y, make(), noise="none", restarts=0)[1].noise == pytest.approx(1e-6)
    assert fit_gp(x, y, make(), noise=0.0, restarts=0)[1].noise == pytest.approx(1e-6)
    process, _, _ = fit_gp(x, y, make(), noise="none", restarts=0)
    torch.testing.assert_close(process.posterior(x).mean.squeeze(-1), y, rtol=0, atol=1e-3)


@pytest.mark.parametrize("deviation", [0.0, 0.5])
def test_unknown_noise_is_found(deviation: float) -> None:
    x, y = data(60, noise=deviation)
    _, state, _ = fit_gp(x, y, make(), restarts=0)
    clean = torch.sin(5 * x).sum(dim=-1)
    true = deviation**2 / (clean.var().item() + deviation**2)
    assert 0.5 * true < state.noise < max(2 * true, 1e-2)


def test_of_a_kernel_whose_parameters_are_fixed_the_noise_is_fitted() -> None:
    x, y = data(40, noise=0.5)
    kernel = make().requires_grad_(False)
    before = [parameter.clone() for parameter in kernel.parameters()]
    _, state, report = fit_gp(x, y, kernel, restarts=0)
    assert report.status == "fitted"
    assert 0.05 < state.noise < 0.5
    assert all(map(torch.equal, before, kernel.parameters()))


def test_the_kernel_s_constraints_hold_after_a_fit() -> None:
    x, _ = data()
    kernel = make("beta-matern")
    fit_gp(x, (30 * x[:, 0]).sin(), kernel, generator=seeded(), restarts=2)
    for _, parameter, constraint in kernel.named_parameters_and_constraints():
        value = constraint.transform(parameter)
        assert ((value >= constraint.lower_bound) & (value <= constraint.upper_bound)).all()


@pytest.mark.parametrize("lean", [True, False])
def test_known_variances_stand_beside_an_unknown_one(lean: bool) -> None:
    x, y = data()
    variances = torch.linspace(0.01, 0.3, len(y), dtype=torch.float64)
    variances[::3] = math.nan
    problem = Likelihood(x, y, make("beta-additive"), "unknown", variances=variances, lean=lean)
    vector = problem.vector()
    sides = [optimize.approx_fprime(vector, lambda v: problem(v)[0], step) for step in (1e-5, -1e-5)]
    assert problem(vector)[1] == pytest.approx((sides[0] + sides[1]) / 2, rel=1e-4, abs=1e-4)

    process, state, _ = fit_gp(x, y, make("beta-additive"), variances=variances, restarts=0, lean=lean)
    torch.testing.assert_close(process.noise, torch.where(variances.isnan(), state.noise, variances))
    covariance = process.kernel(x).to_dense() + process.noise.diag()
    ones = torch.linalg.solve(covariance, torch.ones_like(y))
    mean = (ones @ y) / ones.sum()
    expected = mean + process.kernel(x).to_dense() @ torch.linalg.solve(covariance, y - mean)
    torch.testing.assert_close(process.posterior(x).mean.squeeze(-1), expected)


def test_values_of_known_accuracy_leave_no_noise_to_be_fitted() -> None:
    x, y = data()
    process, state, _ = fit_gp(x, y, make(), variances=torch.full_like(y, 0.2), restarts=0)
    plain, same, _ = fit_gp(x, y, make(), noise=0.2, restarts=0)
    assert state.noise == pytest.approx(same.noise)
    torch.testing.assert_close(process.posterior(x).mean, plain.posterior(x).mean)


def test_of_many_points_the_variances_are_those_of_the_points_that_are_fitted() -> None:
    x, y = data(320)
    variances = torch.where(y < y.median(), 1e-4, 4.0).double()
    process, _, report = fit_gp(x, y, make(), variances=variances, restarts=0)
    assert report.status == "fitted"
    torch.testing.assert_close(process.noise, variances)


def test_fits_of_much_work_take_fewer_iterations_and_one_start(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = data(40, 3)

    def evaluations() -> tuple[int, int]:
        report = fit_gp(x, y, make("matern", 3), restarts=2, generator=seeded())
        return report[2].starts, report[2].evaluations

    starts, many = evaluations()
    monkeypatch.setattr(fit, "_WORK_OF_A_START", 100)
    monkeypatch.setattr(fit, "_WORK_OF_A_FIT", 100)
    monkeypatch.setattr(fit, "_FEWEST_ITERATIONS", 2)
    assert starts == 3
    one, few = evaluations()
    assert one == 1
    assert few < many / 3


def test_in_very_many_coordinates_fewer_points_are_fitted_to() -> None:
    x, y = data(250, 250)
    sizes: list[int] = []

    class Watched(Likelihood):
        def __init__(self, x: Tensor, *rest: Any, **settings: Any) -> None:
            sizes.append(len(x))
            super().__init__(x, *rest, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "Likelihood", Watched)
        process, _, _ = fit_gp(x, y, make("matern", 250), max_iterations=1)
    assert sizes == [154]
    assert len(process.x) == 250
