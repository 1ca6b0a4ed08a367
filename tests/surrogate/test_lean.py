"""The lean posterior against the process itself, with exact distances and autograd, and against many digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import mpmath
import numpy as np
import pytest
import torch
from botorch.posteriors.gpytorch import GPyTorchPosterior
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel
from torch import Tensor

from betabo.kernels.beta import BetaKernel
from betabo.kernels.beta_matern import BetaMaternKernel
from betabo.kernels.catalogue import KERNELS
from betabo.kernels.effects import MainEffectsKernel
from betabo.surrogate import GaussianProcess
from betabo.surrogate.lean import LeanPosterior


def scaled(kernel: Kernel) -> Kernel:
    kernel = ScaleKernel(kernel).double()
    kernel.outputscale = 1.7
    return kernel


def spread(low: float, high: float, dims: int) -> Tensor:
    """Numbers from low to high, evenly in their logarithms, `1 x d`."""
    return torch.logspace(math.log10(low), math.log10(high), dims, dtype=torch.float64).unsqueeze(0)


def stationary(nu: float, low: float, high: float, dims: int) -> Kernel:
    kernel = RBFKernel(ard_num_dims=dims) if nu == math.inf else MaternKernel(nu=nu, ard_num_dims=dims)
    kernel.double().lengthscale = spread(low, high, dims)
    return scaled(kernel)


def beta(weight: float, low: float, high: float, dims: int) -> Kernel:
    kernel = BetaKernel(ard_num_dims=dims, boundary_weight=weight, method="lgamma").double()
    kernel.bandwidth = spread(low, high, dims)
    return scaled(kernel)


def beta_matern(nu: float, bandwidth: float, low: float, high: float, dims: int, weight: float = 0.0) -> Kernel:
    kernel = BetaMaternKernel(nu=nu, ard_num_dims=dims, boundary_weight=weight, method="lgamma").double()
    kernel.bandwidth = bandwidth
    kernel.lengthscale = spread(low, high, dims)
    return scaled(kernel)


def main_effects(low: float, high: float, dims: int, bend: float = 0.9) -> Kernel:
    kernel = MainEffectsKernel(dims, bend=bend).double()
    kernel.lengthscale = spread(low, high, dims)
    return scaled(kernel)


CASES: dict[str, Callable[[int], Kernel]] = {
    "rbf": lambda d: stationary(math.inf, 0.3, 3.0, d),
    "matern-3/2": lambda d: stationary(1.5, 0.3, 3.0, d),
    "matern-5/2": lambda d: stationary(2.5, 0.3, 3.0, d),
    "matern-5/2 short": lambda d: stationary(2.5, 0.025, 0.1, d),
    "beta": lambda d: beta(0.3, 0.3, 10.0, d),
    "beta small bandwidths": lambda d: beta(0.1, 0.01, 0.1, d),
    "beta tiny bandwidths": lambda d: beta(0.01, 1e-3, 0.01, d),
    "beta tiny and large bandwidths": lambda d: beta(0.0, 1.2e-4, 100.0, d),
    "beta-matern-5/2 tiny bandwidth": lambda d: beta_matern(2.5, 1e-3, 0.3, 10.0, d),
    "beta large bandwidths": lambda d: beta(0.1, 10.0, 1e4, d),
    "beta-paper": lambda d: beta(1.0, 0.3, 3.0, d),
    "beta-correlation": lambda d: beta(0.0, 0.1, 10.0, d),
    "beta-matern-3/2": lambda d: beta_matern(1.5, 0.7, 0.3, 10.0, d),
    "beta-matern-5/2": lambda d: beta_matern(2.5, 1.0, 0.3, 10.0, d),
    "beta-matern-5/2 weighted": lambda d: beta_matern(2.5, 0.5, 0.3, 10.0, d, weight=0.4),
    "beta-matern-5/2 short": lambda d: beta_matern(2.5, 0.05, 0.025, 0.1, d),
    "beta-matern-5/2 long": lambda d: beta_matern(2.5, 0.05, 10.0, 1e3, d),
    "beta-matern-5/2 flat": lambda d: beta_matern(2.5, 1e3, 0.3, 3.0, d),
    "beta-matern-rbf": lambda d: beta_matern(math.inf, 0.2, 0.3, 10.0, d),
    "main effects": lambda d: main_effects(0.3, 3.0, d),
    "main effects short": lambda d: main_effects(0.025, 0.1, d),
    "main effects flat": lambda d: main_effects(0.3, 3.0, d, bend=0.0),
    "main effects of one length scale": lambda d: MainEffectsKernel().double(),
    "beta-additive": lambda d: main_effects(0.3, 3.0, d) + beta_matern(2.5, 1.0, 0.3, 10.0, d),
    "beta-additive weighted": lambda d: beta_matern(2.5, 0.5, 0.3, 10.0, d, weight=0.4) + main_effects(0.3, 3.0, d),
    "a scaled sum": lambda d: scaled(main_effects(0.3, 3.0, d) + RBFKernel().double()),
    "main effects + rbf": lambda d: main_effects(0.3, 3.0, d, bend=0.99) + stationary(math.inf, 0.3, 3.0, d),
    "rbf + matern-5/2": lambda d: stationary(math.inf, 0.3, 3.0, d) + stationary(2.5, 0.3, 3.0, d),
    "beta + rbf + matern": lambda d: beta(0.3, 0.3, 10.0, d) + RBFKernel().double() + stationary(1.5, 0.3, 3.0, d),
}


def data(n: int, dims: int) -> tuple[Tensor, Tensor]:
    x = torch.rand(n, dims, dtype=torch.float64)
    x[0] = 0.0  # a vertex
    x[-1, 0] = 1.0  # a face
    y = torch.sin(5 * x).sum(dim=-1)
    return x, (y - y.mean()) / y.std()


def queries(x: Tensor) -> Tensor:
    """Points all over, on faces, at vertices, at data and next to them."""
    dims = x.shape[1]
    inside = torch.rand(8, dims, dtype=torch.float64)
    faces = torch.where(torch.rand(8, dims) < 0.4, inside.round(), inside)
    near = [(x[:4] + step * torch.randn(4, dims, dtype=torch.float64)).clamp(0, 1) for step in (1e-6, 1e-4, 1e-3)]
    return torch.cat([inside, faces, inside.round(), x[:4], *near])


def moments(process: GaussianProcess, points: Tensor) -> tuple[Tensor, Tensor]:
    posterior = cast("GPyTorchPosterior", process.posterior(points.unsqueeze(-2)))
    return posterior.mean.flatten(), posterior.variance.flatten()


def lean(process: GaussianProcess) -> LeanPosterior:
    found = LeanPosterior.of(process)
    assert found is not None
    return found


def assert_same(process: GaussianProcess, points: Tensor) -> None:
    """Moments and gradients are those of the process, as far as the noise lets them be told apart."""
    points = points.clone().requires_grad_()
    mean, variance = moments(process, points)
    prediction = lean(process).predict(points.detach())
    amount = float(process.weights.abs().sum())  # by how much an error of the covariances is multiplied
    torch.testing.assert_close(prediction.mean, mean.detach(), rtol=1e-8, atol=1e-11 * max(1, amount))
    torch.testing.assert_close(prediction.sigma.square(), variance.detach(), rtol=1e-6, atol=1e-10)

    by_mean, by_sigma = torch.randn(2, len(points), dtype=torch.float64)
    found = prediction.gradient(by_mean, by_sigma)
    (expected,) = torch.autograd.grad((by_mean * mean + by_sigma * variance.sqrt()).sum(), points)
    size = expected.norm(dim=-1, keepdim=True)
    assert float(((found - expected).abs() / (1e-3 + size)).max()) < 1e-6


@pytest.mark.filterwarnings("ignore:Negative variance")
@pytest.mark.parametrize("dims", [1, 3, 20])
@pytest.mark.parametrize("name", CASES)
def test_moments_and_gradients_are_those_of_the_process(name: str, dims: int) -> None:
    x, y = data(25, dims)
    assert_same(GaussianProcess(x, y, CASES[name](dims), 1e-4), queries(x))


@pytest.mark.filterwarnings("ignore:Negative variance")
@pytest.mark.parametrize("n", [2, 150])
@pytest.mark.parametrize("name", ["matern-5/2", "beta", "beta-matern-5/2", "main effects", "beta-additive"])
def test_few_and_many_data_with_hardly_any_noise(name: str, n: int) -> None:
    x, y = data(n, 6)
    points = queries(x[: max(4, n)] if n > 4 else x.repeat(2, 1))
    assert_same(GaussianProcess(x, y, CASES[name](6), 1e-6), points)


@pytest.mark.parametrize("name", ["beta", "beta-matern", "beta-additive", "beta-paper", "rbf", "matern"])
def test_the_kernels_of_the_catalogue_have_a_lean_form(name: str) -> None:
    x, y = data(12, 4)
    process = GaussianProcess(x, y, KERNELS[name].make(4).double(), 1e-3)
    assert_same(process.condition(torch.rand(2, 4, dtype=torch.float64)), torch.rand(6, 4, dtype=torch.float64))


@pytest.mark.parametrize("numbers", [1, 500, 3000])
@pytest.mark.parametrize("name", ["main effects", "beta-additive"])
def test_main_effects_block_by_block(name: str, numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = data(25, 6)
    points = queries(x)
    process = GaussianProcess(x, y, CASES[name](6), 1e-4)
    monkeypatch.setattr("betabo.kernels.effects._CACHED", numbers)  # 1, 3 and 20 points at a time
    assert len(points) > 20
    assert_same(process, points)


def test_more_points_than_one_block_of_the_real_size() -> None:
    x, y = data(60, 50)
    assert_same(GaussianProcess(x, y, CASES["beta-additive"](50), 1e-3), torch.rand(90, 50, dtype=torch.float64))


@pytest.mark.parametrize("name", ["beta-matern-5/2 weighted", "main effects", "beta-additive weighted"])
def test_gradients_are_finite_differences(name: str) -> None:
    x, y = data(15, 3)
    posterior = lean(GaussianProcess(x, y, CASES[name](3), 1e-3))
    points = 0.1 + 0.8 * torch.rand(5, 3, dtype=torch.float64)
    ones, zeros, step = torch.ones(5).double(), torch.zeros(5).double(), 1e-5
    prediction = posterior.predict(points)
    gradients = prediction.gradient(ones, zeros), prediction.gradient(zeros, ones)
    for i in range(3):
        shift = step * torch.eye(3, dtype=torch.float64)[i]
        up, down = posterior.predict(points + shift), posterior.predict(points - shift)
        for gradient, high, low in zip(gradients, (up.mean, up.sigma), (down.mean, down.sigma), strict=True):
            torch.testing.assert_close(gradient[:, i], (high - low) / (2 * step), rtol=1e-6, atol=1e-7)


def matern_in_many_digits(x1: list[float], x2: list[float], h: float, lengthscales: list[float]) -> mpmath.mpf:
    """The Beta-Matern-5/2 kernel from its definition."""

    def g(u: mpmath.mpf) -> mpmath.mpf:
        return mpmath.loggamma(1 + u / h) + mpmath.loggamma(1 + (2 - u) / h)

    metric = 2 * mpmath.psi(1, 1 + 1 / mpmath.mpf(h)) / mpmath.mpf(h) ** 2
    sq = sum(
        (g(2 * a) + g(2 * b) - 2 * g(a + b)) / (metric * mpmath.mpf(scale) ** 2)
        for a, b, scale in zip(map(mpmath.mpf, x1), map(mpmath.mpf, x2), lengthscales, strict=True)
    )
    s = mpmath.sqrt(5 * sq)
    return (1 + s + s**2 / 3) * mpmath.exp(-s)


@pytest.mark.parametrize("gap", [0.0, 1e-6, 1e-3, 0.2])
def test_the_deviation_next_to_a_datum_is_right_in_many_digits(gap: float) -> None:
    h, lengthscales, noise = 0.3, [0.4, 1.5], 1e-6
    x, y = data(5, 2)
    kernel = BetaMaternKernel(ard_num_dims=2).double()
    kernel.bandwidth, kernel.lengthscale = h, torch.tensor([lengthscales], dtype=torch.float64)
    process = GaussianProcess(x, y, kernel, noise, mean=torch.tensor(0.2, dtype=torch.float64))
    point = (x[2:3] + gap * torch.tensor([[1.0, -1.0]], dtype=torch.float64)).clamp(0, 1)
    prediction = lean(process).predict(point)
    with mpmath.workdps(40):
        # the parameters as the kernel has them, after its constraints
        h, lengthscales = kernel.bandwidth.item(), kernel.lengthscale.flatten().tolist()
        rows, query = x.tolist(), point[0].tolist()
        covariance = mpmath.matrix(5, 5)
        for i in range(5):
            for j in range(5):
                covariance[i, j] = matern_in_many_digits(rows[i], rows[j], h, lengthscales) + (noise if i == j else 0)
        cross = mpmath.matrix([matern_in_many_digits(row, query, h, lengthscales) for row in rows])
        weights = mpmath.lu_solve(covariance, cross)
        variance = 1 - (cross.T * weights)[0]
        centred = mpmath.matrix([mpmath.mpf(v) - mpmath.mpf(float(process.mean)) for v in y.tolist()])
        mean = mpmath.mpf(float(process.mean)) + (centred.T * weights)[0]
    assert prediction.mean.item() == pytest.approx(float(mean), rel=1e-9)
    assert prediction.sigma.item() ** 2 == pytest.approx(float(variance), rel=1e-8)


def test_the_variance_stops_where_gpytorch_s_does_and_is_flat_there() -> None:
    x, y = data(6, 2)
    process = GaussianProcess(x, y, CASES["matern-5/2"](2), 1e-13)
    prediction = lean(process).predict(x)
    with pytest.warns(match="Negative variance"):
        _, variance = moments(process, x)
    torch.testing.assert_close(prediction.sigma.square(), variance)
    assert np.count_nonzero(prediction.gradient(torch.zeros(6).double(), torch.ones(6).double())) == 0


@pytest.mark.parametrize("name", ["beta-matern-5/2", "beta-additive"])
@pytest.mark.parametrize("gap", [1e-12, 1e-17])
def test_points_a_rounding_outside_count_as_on_the_bound(gap: float, name: str) -> None:
    x, y = data(6, 2)
    posterior = lean(GaussianProcess(x, y, CASES[name](2), 1e-3))
    outside = torch.tensor([[-gap, 1 + gap]], dtype=torch.float64)
    inside = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    torch.testing.assert_close(posterior.predict(outside).mean, posterior.predict(inside).mean)


def no_lean_form() -> dict[str, tuple[Kernel, torch.Size]]:
    class OwnKernel(RBFKernel):  # type: ignore[misc]
        pass

    plain = torch.Size([])
    return {
        "cylindrical": (KERNELS["cylindrical"].make(2), plain),
        "warped": (KERNELS["matern-warped"].make(2), plain),
        "kink at zero": (BetaMaternKernel(nu=0.5, ard_num_dims=2), plain),
        "some coordinates": (RBFKernel(active_dims=[1]), plain),
        "subclass": (OwnKernel(), plain),
        "sum with one": (RBFKernel() + MaternKernel(nu=0.5), plain),
        "sum of some coordinates": (MainEffectsKernel(1, active_dims=[1]) + RBFKernel(), plain),
        "product": (RBFKernel() * RBFKernel(), plain),
        "batch": (RBFKernel(), torch.Size([3])),
    }


@pytest.mark.parametrize("name", no_lean_form())
def test_other_kernels_have_no_lean_form(name: str) -> None:
    kernel, batch = no_lean_form()[name]
    x = torch.rand(*batch, 5, 2, dtype=torch.float64)
    assert LeanPosterior.of(GaussianProcess(x, x.sum(dim=-1), kernel.double(), 1e-2)) is None


def test_single_precision_has_no_lean_form() -> None:
    x = torch.rand(5, 2)
    assert LeanPosterior.of(GaussianProcess(x, x.sum(dim=-1), RBFKernel(), 1e-2)) is None
