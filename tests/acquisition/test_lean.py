"""Lean acquisition functions: the values, gradients and maxima of the functions they stand for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from botorch.acquisition import (
    AcquisitionFunction,
    LogExpectedImprovement,
    PosteriorMean,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
)
from botorch.acquisition.analytic import AnalyticAcquisitionFunction
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.models import SingleTaskGP
from torch import Tensor

from betabo.acquisition.catalogue import ACQUISITIONS, AcquisitionContext
from betabo.acquisition.feasible import FeasibleAcquisition
from betabo.acquisition.lean import LeanAcquisition, Outcome, lean_form, rule_of
from betabo.acquisition.maximize import maximize
from betabo.kernels.catalogue import KERNELS
from betabo.surrogate import GaussianProcess, fit_gp

LEAN = ["log_ei", "ei", "pi", "ucb"]
KERNEL_NAMES = ["beta-matern", "beta", "matern", "rbf"]


def values_of(x: Tensor) -> Tensor:
    y = (x - 0.2).square().sum(dim=-1) + 0.3 * torch.sin(9 * x).sum(dim=-1)
    return (y - y.mean()) / y.std()


def process(kernel: str = "beta-matern", dims: int = 4, n: int = 15, noise: float = 1e-4) -> GaussianProcess:
    x = torch.rand(n, dims, dtype=torch.float64)
    return GaussianProcess(x, values_of(x), KERNELS[kernel].make(dims).double(), noise)


def make(name: str, gp: GaussianProcess) -> AcquisitionFunction:
    dims = gp.x.shape[-1]
    context = AcquisitionContext(model=gp, best_f=gp.y.min(), X_observed=gp.x, step=len(gp.y), dims=dims)
    return ACQUISITIONS[name].make(context)


def points_around(x: Tensor) -> Tensor:
    """Points all over, on faces, at vertices and next to data, `b x 1 x d`."""
    inside = torch.rand(8, x.shape[1], dtype=torch.float64)
    faces = torch.where(torch.rand(8, x.shape[1]) < 0.4, inside.round(), inside)
    near = [(x[:4] + step * torch.randn_like(x[:4])).clamp(0, 1) for step in (1e-6, 1e-4, 1e-2)]
    return torch.cat([inside, faces, inside.round(), *near]).unsqueeze(-2)


def with_gradient(function: AcquisitionFunction, points: Tensor) -> tuple[Tensor, Tensor]:
    points = points.clone().requires_grad_()
    values = function(points)
    (gradient,) = torch.autograd.grad(values.sum(), points)
    return values.detach(), gradient


def assert_same(function: AcquisitionFunction, points: Tensor, tolerance: float = 1e-6) -> None:
    found = lean_form(function)
    assert isinstance(found, LeanAcquisition)
    values, gradient = with_gradient(found, points)
    expected_values, expected_gradient = with_gradient(function, points)
    assert values.shape == expected_values.shape
    torch.testing.assert_close(values, expected_values, rtol=tolerance, atol=1e-8)
    size = expected_gradient.norm(dim=-1, keepdim=True)
    assert float(((gradient - expected_gradient).abs() / (1e-3 + size)).max()) < tolerance


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
@pytest.mark.parametrize("name", LEAN)
def test_values_and_gradients_are_botorch_s(name: str, kernel: str) -> None:
    gp = process(kernel)
    assert_same(make(name, gp), points_around(gp.x))


@pytest.mark.parametrize("dims", [1, 20])
@pytest.mark.parametrize("n", [4, 100])
def test_few_and_many_data_and_dimensions(n: int, dims: int) -> None:
    gp = process(dims=dims, n=n, noise=1e-3)
    assert_same(make("log_ei", gp), points_around(gp.x))


@pytest.mark.parametrize(
    "function",
    [
        lambda gp: LogExpectedImprovement(gp, best_f=gp.y.max()),
        lambda gp: ProbabilityOfImprovement(gp, best_f=0.3),
        lambda gp: UpperConfidenceBound(gp, beta=0.0),
    ],
    ids=["log_ei", "pi", "mean"],
)
def test_maximization_is_followed(function: object) -> None:
    gp = process()
    assert_same(function(gp), points_around(gp.x))  # type: ignore[operator]


def test_points_under_way_are_part_of_the_process() -> None:
    gp = process().condition(torch.rand(3, 4, dtype=torch.float64))
    assert_same(make("log_ei", gp), points_around(gp.x))


@pytest.mark.parametrize("known", [True, False], ids=["objective", "constraints alone"])
def test_constraints_are_terms_of_their_own(known: bool) -> None:
    gp, first, second = process(), process("beta"), process("rbf")
    function = FeasibleAcquisition(make("log_ei", gp) if known else None, [first, second], [0.3, -1.5])
    assert_same(function, points_around(gp.x))


def no_lean_form() -> dict[str, AcquisitionFunction]:
    class Own(LogExpectedImprovement):
        pass

    gp = process(n=6)
    feasible = FeasibleAcquisition(make("ucb", gp), [gp], [0.0], "real", -1.0)
    batch = GaussianProcess(torch.rand(3, 5, 4).double(), torch.rand(3, 5).double(), gp.kernel, 0.1)
    x = torch.rand(5, 4, dtype=torch.float64)
    half = ScalarizedPosteriorTransform(torch.tensor([0.5], dtype=torch.float64))
    return {
        "corrected": make("corrected_ei", gp),
        "posterior mean": PosteriorMean(gp),
        "subclass": Own(gp, best_f=0.0),
        "constraints on any scale": feasible,
        "constraint without": FeasibleAcquisition(make("log_ei", gp), [process("cylindrical")], [0.0]),
        "other kernel": make("log_ei", process("cylindrical")),
        "other model": LogExpectedImprovement(SingleTaskGP(x, x[:, :1]), best_f=0.0),
        "batch": LogExpectedImprovement(batch, best_f=0.0),
        "several bests": LogExpectedImprovement(gp, best_f=torch.zeros(3)),
        "several weights": UpperConfidenceBound(gp, beta=torch.ones(3)),
        "transformed": LogExpectedImprovement(gp, best_f=0.0, posterior_transform=half),
    }


@pytest.mark.parametrize(
    "name",
    [
        "corrected",
        "posterior mean",
        "subclass",
        "constraints on any scale",
        "constraint without",
        "other kernel",
        "other model",
        "batch",
        "several bests",
        "several weights",
        "transformed",
    ],
)
def test_other_functions_are_left_as_they_are(name: str) -> None:
    function = no_lean_form()[name]
    assert lean_form(function) is function


def test_a_rule_is_declared_for_one_class() -> None:
    class LowMean(AnalyticAcquisitionFunction):
        def forward(self, X: Tensor) -> Tensor:  # noqa: N803
            return -self.model.posterior(X).mean.flatten()

    class Lower(LowMean):
        pass

    @rule_of(LowMean)
    def make(acquisition: LowMean) -> object:
        del acquisition
        return lambda mean, sigma: Outcome(-mean, np.full_like(mean, -1.0), np.zeros_like(sigma))

    gp = process()
    assert_same(LowMean(gp), points_around(gp.x))
    assert isinstance(lean_form(Lower(gp)), Lower)


def test_a_function_with_a_hook_is_left_as_it_is() -> None:
    function, seen = make("log_ei", process(n=6)), list[int]()
    function.register_forward_hook(lambda *_: seen.append(1))
    lean_form(function)(torch.rand(2, 1, 4, dtype=torch.float64))
    assert seen


def test_gradients_of_gradients_are_refused() -> None:
    gp = process(n=6)
    points = torch.rand(2, 1, 4, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(lean_form(make("log_ei", gp))(points).sum(), points, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(gradient.sum(), points)


def fitted(kernel: str, dims: int, seed: int) -> GaussianProcess:
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(5 * dims, dims, generator=generator, dtype=torch.float64)
    x[:dims, 0] = 0.0
    gp, _, _ = fit_gp(x, values_of(x), KERNELS[kernel].make(dims).double(), restarts=0, max_iterations=15)
    return gp


@pytest.mark.parametrize("dims", [2, 8])
@pytest.mark.parametrize("kernel", ["beta-matern", "beta", "matern"])
@pytest.mark.parametrize("name", ["log_ei", "ucb"])
def test_the_maximum_is_the_same(name: str, kernel: str, dims: int) -> None:
    gp = fitted(kernel, dims, seed=dims)
    function = make(name, gp)
    incumbents = gp.x[gp.y.argsort()[:5]]
    expected, best = maximize(function, incumbents, seed=3)
    found, value = maximize(lean_form(function), incumbents, seed=3)
    assert value[0].item() == pytest.approx(best[0].item(), rel=1e-6, abs=1e-6)
    torch.testing.assert_close(found[0], expected[0], rtol=0, atol=1e-3)
    with torch.no_grad():
        torch.testing.assert_close(function(found[:50].unsqueeze(-2)), value[:50])


def test_the_same_seed_gives_the_same_points() -> None:
    gp = fitted("beta-matern", 3, seed=0)
    results = [maximize(lean_form(make("log_ei", gp)), gp.x[:5], seed=1) for _ in range(2)]
    assert torch.equal(results[0][0], results[1][0])
    assert torch.equal(results[0][1], results[1][1])
