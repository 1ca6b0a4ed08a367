"""The Gaussian process against BoTorch's SingleTaskGP with the same hyperparameters, and under BoTorch's functions."""

from __future__ import annotations

import pytest
import torch
from botorch.acquisition import LogExpectedImprovement, qLogExpectedImprovement
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.posteriors.gpytorch import scalarize_posterior
from botorch.sampling.normal import SobolQMCNormalSampler
from gpytorch.kernels import Kernel
from torch import Size, Tensor

from betabo.kernels.catalogue import KERNELS
from betabo.surrogate import GaussianProcess
from betabo.surrogate.gp import cholesky

NAMES = ["rbf", "beta", "beta-matern", "cylindrical"]
NOISE = 0.01


def data(n: int = 12, dims: int = 3) -> tuple[Tensor, Tensor]:
    x = torch.rand(n, dims, dtype=torch.float64)
    x[0] = 0.0  # a vertex
    y = torch.sin(5 * x).sum(dim=-1)
    return x, (y - y.mean()) / y.std()


def make_kernel(name: str = "rbf", dims: int = 3, lengthscale: float = 0.5) -> Kernel:
    kernel = KERNELS[name].make(dims).double()
    for module in kernel.modules():
        if isinstance(module, Kernel) and module.has_lengthscale:
            module.lengthscale = lengthscale
        if hasattr(module, "raw_outputscale"):
            module.outputscale = 1.7
    return kernel


def process(x: Tensor, y: Tensor, name: str = "rbf", noise: Tensor | float = NOISE) -> GaussianProcess:
    return GaussianProcess(x, y, make_kernel(name, x.shape[-1]), noise)


def in_botorch(gp: GaussianProcess) -> SingleTaskGP:
    """BoTorch's model with the same data, kernel, noise and mean."""
    y = gp.y.unsqueeze(-1)
    noise = gp.noise.expand(gp.y.shape).unsqueeze(-1)
    model = SingleTaskGP(gp.x, y, train_Yvar=noise, covar_module=gp.kernel, outcome_transform=None)
    model.mean_module.initialize(constant=gp.mean)
    return model.eval()


def assert_same_posterior(found: object, expected: object) -> None:
    for name in ("mean", "variance"):
        torch.testing.assert_close(getattr(found, name), getattr(expected, name), rtol=0, atol=1e-6)
    joint = [p.distribution.covariance_matrix for p in (found, expected)]  # type: ignore[attr-defined]
    torch.testing.assert_close(*joint, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", [(1,), (4,), (6, 1), (6, 3), (2, 5, 1), (2, 5, 3)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_posterior_is_botorch_s(name: str, shape: tuple[int, ...]) -> None:
    gp = process(*data(), name=name)
    queries = torch.rand(*shape, 3, dtype=torch.float64)
    with torch.no_grad():
        found, expected = gp.posterior(queries), in_botorch(gp).posterior(queries)
    assert found.mean.shape == (*shape, 1)
    assert_same_posterior(found, expected)


def test_every_point_may_have_its_own_noise() -> None:
    noise = torch.linspace(0.001, 0.5, 12, dtype=torch.float64)
    gp = process(*data(), noise=noise)
    queries = torch.rand(5, 3, dtype=torch.float64)
    with torch.no_grad():
        assert_same_posterior(gp.posterior(queries), in_botorch(gp).posterior(queries))


def test_mean_is_the_generalized_least_squares_estimate() -> None:
    x, y = data()
    gp = process(x, y + 7, name="beta")
    precision = torch.linalg.inv(gp.kernel(x).to_dense() + NOISE * torch.eye(12, dtype=torch.float64))
    expected = (precision @ (y + 7)).sum() / precision.sum()
    assert gp.mean.item() == pytest.approx(expected.item(), rel=1e-9)


def test_samples_have_the_posterior_s_moments() -> None:
    gp = process(*data())
    posterior = gp.posterior(torch.rand(3, 3, dtype=torch.float64))
    drawn = SobolQMCNormalSampler(Size([4096]), seed=0)(posterior).squeeze(-1).detach()
    torch.testing.assert_close(drawn.mean(0), posterior.mean.squeeze(-1).detach(), rtol=0, atol=1e-2)
    expected = posterior.distribution.covariance_matrix.detach()
    torch.testing.assert_close(torch.cov(drawn.mT), expected, rtol=0, atol=2e-2)


@pytest.mark.parametrize("points", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_in_the_queries_agree_with_finite_differences(name: str, points: int) -> None:
    gp = process(*data(8, 2), name=name)

    def moments(queries: Tensor) -> tuple[Tensor, Tensor]:
        posterior = gp.posterior(queries)
        return posterior.mean, posterior.distribution.covariance_matrix

    queries = (0.1 + 0.8 * torch.rand(2, points, 2, dtype=torch.float64)).requires_grad_()
    assert torch.autograd.gradcheck(moments, queries)


@pytest.mark.parametrize("noise", [0.01, torch.linspace(0.01, 0.2, 12, dtype=torch.float64)], ids=["one", "each"])
def test_conditioning_is_a_process_on_all_the_data(noise: Tensor | float) -> None:
    x, y = data()
    gp = process(x, y, name="beta-matern", noise=noise)
    more_x, more_y = torch.rand(4, 3, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    conditioned = gp.condition(more_x, more_y)
    noises = torch.full((16,), float(gp.noise.mean()), dtype=torch.float64)
    noises[:12] = gp.noise
    whole = GaussianProcess(torch.cat([x, more_x]), torch.cat([y, more_y]), gp.kernel, noises, mean=gp.mean)
    queries = torch.rand(5, 3, dtype=torch.float64)
    with torch.no_grad():
        assert_same_posterior(conditioned.posterior(queries), whole.posterior(queries))
        assert_same_posterior(conditioned.posterior(queries), in_botorch(whole).posterior(queries))
    assert len(gp.y) == 12  # the process itself is as it was


@pytest.mark.parametrize("name", NAMES)
def test_pending_points_keep_the_mean_everywhere_and_shrink_the_variance(name: str) -> None:
    gp = process(*data(), name=name)
    pending, elsewhere = torch.rand(3, 3, dtype=torch.float64), torch.rand(20, 3, dtype=torch.float64)
    conditioned = gp.condition(pending)
    for queries in (pending, elsewhere):
        before, after = gp.posterior(queries), conditioned.posterior(queries)
        torch.testing.assert_close(after.mean, before.mean, rtol=0, atol=1e-8)
        assert (after.variance <= before.variance + 1e-9).all()
    assert (conditioned.posterior(pending).variance < 0.5 * gp.posterior(pending).variance).all()


@pytest.mark.parametrize("points", [1, 3])
def test_observation_noise_adds_to_the_variance_and_nothing_else(points: int) -> None:
    gp = process(*data(), noise=0.3)
    queries = torch.rand(4, points, 3, dtype=torch.float64)
    plain, noisy = gp.posterior(queries), gp.posterior(queries, observation_noise=True)
    given = gp.posterior(queries, observation_noise=torch.tensor(2.0, dtype=torch.float64))
    identity = torch.eye(points, dtype=torch.float64)
    for posterior, noise in ((noisy, 0.3), (given, 2.0)):
        torch.testing.assert_close(posterior.mean, plain.mean)
        added = posterior.distribution.covariance_matrix - plain.distribution.covariance_matrix
        torch.testing.assert_close(added, (noise * identity).expand(4, -1, -1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("noise", [1e-6, 0.5])
def test_repeated_points_count_as_repeated_measurements(noise: float) -> None:
    x, y = data(6)
    gp = process(torch.cat([x, x, x]), torch.cat([y - 1, y, y + 1]), noise=noise)
    averaged = GaussianProcess(x, y, gp.kernel, noise / 3, mean=gp.mean)
    queries = torch.rand(5, 3, dtype=torch.float64)
    found, expected = gp.posterior(queries), averaged.posterior(queries)
    torch.testing.assert_close(found.mean, expected.mean, rtol=0, atol=1e-4)
    torch.testing.assert_close(found.variance, expected.variance, rtol=0, atol=1e-4)


def test_the_same_query_many_times_has_a_posterior() -> None:
    gp = process(*data(), name="rbf", noise=1e-6)
    queries = torch.full((6, 3), 0.3, dtype=torch.float64)
    posterior = gp.posterior(queries)
    assert posterior.rsample(Size([4])).isfinite().all()
    at_data = gp.posterior(gp.x[:1])
    assert 0 < at_data.variance.item() < 1e-5
    assert at_data.mean.item() == pytest.approx(gp.y[0].item(), abs=1e-4)


@pytest.mark.parametrize("name", ["rbf", "beta-matern"])
def test_a_batch_of_problems_is_the_problems_one_by_one(name: str) -> None:
    problems = [data(7, 2) for _ in range(3)]
    kernel = KERNELS[name].make(2, batch_shape=Size([3])).double()
    lengthscales = torch.tensor([0.2, 0.6, 2.0], dtype=torch.float64).view(3, 1, 1).expand(3, 1, 2)
    kernel.base_kernel.lengthscale = lengthscales
    gp = GaussianProcess(torch.stack([x for x, _ in problems]), torch.stack([y for _, y in problems]), kernel, NOISE)
    assert gp.batch_shape == (3,)
    shared, more = torch.rand(5, 1, 4, 2, dtype=torch.float64), torch.rand(3, 2, 2, dtype=torch.float64)
    with torch.no_grad():
        whole = gp.posterior(shared.expand(5, 3, 4, 2))
        conditioned = gp.condition(more).posterior(shared.squeeze(1)[0])
        for member, (x, y) in enumerate(problems):
            alone = GaussianProcess(x, y, kernel[member], NOISE)
            expected = alone.posterior(shared.squeeze(1))
            torch.testing.assert_close(whole.mean[:, member], expected.mean)
            joint = whole.distribution.covariance_matrix[:, member]
            torch.testing.assert_close(joint, expected.distribution.covariance_matrix)
            expected = alone.condition(more[member]).posterior(shared.squeeze(1)[0])
            torch.testing.assert_close(conditioned.mean[member], expected.mean)
            torch.testing.assert_close(conditioned.variance[member], expected.variance)


def test_expected_improvement_is_what_it_is_on_botorch_s_model() -> None:
    gp = process(*data(), name="beta-matern")
    queries = torch.rand(30, 1, 3, dtype=torch.float64)
    found, expected = (LogExpectedImprovement(m, best_f=gp.y.min(), maximize=False) for m in (gp, in_botorch(gp)))
    torch.testing.assert_close(found(queries), expected(queries), rtol=1e-5, atol=1e-5)


def test_monte_carlo_improvement_with_pending_points_is_what_it_is_on_botorch_s_model() -> None:
    gp = process(*data(), name="beta-matern")
    pending = torch.rand(2, 3, dtype=torch.float64)
    queries = torch.rand(10, 2, 3, dtype=torch.float64)
    values = []
    for model in (gp, in_botorch(gp)):
        sampler = SobolQMCNormalSampler(Size([64]), seed=0)
        improvement = qLogExpectedImprovement(model, best_f=gp.y.max(), sampler=sampler, X_pending=pending)
        values.append(improvement(queries))
    torch.testing.assert_close(*values, rtol=1e-4, atol=1e-4)
    alone = qLogExpectedImprovement(gp, best_f=gp.y.max(), sampler=SobolQMCNormalSampler(Size([64]), seed=0))
    assert not torch.allclose(alone(queries), values[0], rtol=1e-2)


@pytest.mark.parametrize("points", [1, 2])
def test_botorch_s_optimizer_runs_on_it(points: int) -> None:
    gp = process(*data())
    box = torch.tensor([[0.0] * 3, [1.0] * 3], dtype=torch.float64)
    sampler = SobolQMCNormalSampler(Size([32]), seed=0)
    improvement = qLogExpectedImprovement(gp, best_f=gp.y.max(), sampler=sampler)
    candidates, value = optimize_acqf(improvement, box, points, 2, 16, options={"maxiter": 30, "seed": 0})
    assert candidates.shape == (points, 3)
    assert ((candidates >= 0) & (candidates <= 1)).all()
    assert value > improvement(torch.rand(30, points, 3, dtype=torch.float64)).max()


def test_a_posterior_transform_is_applied() -> None:
    gp = process(*data())
    queries = torch.rand(4, 3, dtype=torch.float64)

    def halved(posterior: object) -> object:
        return scalarize_posterior(posterior, torch.tensor([0.5], dtype=torch.float64))

    found = gp.posterior(queries, posterior_transform=halved)  # type: ignore[arg-type]
    torch.testing.assert_close(found.mean, 0.5 * gp.posterior(queries).mean)
    torch.testing.assert_close(found.variance, 0.25 * gp.posterior(queries).variance)


def test_a_singular_matrix_is_factored_with_little_jitter() -> None:
    factor = cholesky(torch.ones(4, 4, dtype=torch.float64))
    torch.testing.assert_close(factor @ factor.mT, torch.ones(4, 4, dtype=torch.float64), rtol=0, atol=1e-5)


@pytest.mark.parametrize("entry", [-1.0, float("nan"), float("inf")])
def test_a_matrix_without_a_factor_is_refused(entry: float) -> None:
    matrix = torch.eye(3, dtype=torch.float64)
    matrix[1, 1] = entry
    with pytest.raises(ValueError, match="covariance matrix of 3 points is not positive definite"):
        cholesky(matrix)


def test_draws_have_the_mean_and_covariance_of_the_posterior() -> None:
    x = torch.linspace(0, 1, 5, dtype=torch.float64).unsqueeze(-1)
    found = GaussianProcess(x, torch.sin(6 * x).squeeze(-1), make_kernel(dims=1), 0.01)
    queries = torch.tensor([[0.1], [0.4], [1.3]], dtype=torch.float64)
    drawn = found.draw(queries, 40_000, torch.Generator().manual_seed(0))
    posterior = found.posterior(queries)
    assert drawn.mean(dim=0).numpy() == pytest.approx(posterior.mean.squeeze(-1).detach().numpy(), abs=0.01)
    expected = posterior.distribution.covariance_matrix.detach().numpy()  # type: ignore[attr-defined]
    assert torch.cov(drawn.mT).numpy() == pytest.approx(expected, abs=0.01)
