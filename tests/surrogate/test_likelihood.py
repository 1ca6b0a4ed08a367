"""The likelihood in closed form against autograd through kernels with exact distances."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel
from gpytorch.priors import GammaPrior, LogNormalPrior
from torch import Tensor

from betabo.kernels.beta import BetaKernel
from betabo.kernels.beta_matern import BetaMaternKernel
from betabo.kernels.box import BoxKernel
from betabo.kernels.catalogue import KERNELS
from betabo.kernels.effects import MainEffectsKernel
from betabo.kernels.factory import beta_additive_covariance, beta_covariance, beta_matern_covariance
from betabo.surrogate.likelihood import Likelihood, Noise

DIMS = 3


def data(count: int = 25) -> tuple[Tensor, Tensor]:
    x = torch.rand(count, DIMS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    x[0], x[1, 0] = 0.0, 1.0
    return x, torch.sin(4 * x).sum(dim=-1)


def exact(kernel: Kernel) -> Kernel:
    """The same kernel with its Beta distances from log-gammas."""
    for module in kernel.modules():
        if isinstance(module, BoxKernel):
            module.method = "lgamma"
    return kernel


def matern(nu: float) -> Kernel:
    return MaternKernel(nu=nu, ard_num_dims=DIMS, lengthscale_prior=LogNormalPrior(0.5, 1.0))


SUPPORTED: dict[str, Callable[[], Kernel]] = {
    "rbf": lambda: KERNELS["rbf"].make(DIMS),
    "matern": lambda: KERNELS["matern"].make(DIMS),
    "matern 3/2": lambda: ScaleKernel(matern(1.5)),
    "one length scale": lambda: ScaleKernel(RBFKernel()),
    "no output scale": lambda: matern(2.5),
    "beta-matern 3/2": lambda: beta_matern_covariance(DIMS, nu=1.5),
    "beta-matern 5/2": lambda: beta_matern_covariance(DIMS),
    "beta-matern smooth": lambda: beta_matern_covariance(DIMS, nu=math.inf),
    "beta of the paper": lambda: beta_covariance(DIMS, boundary_weight=1.0),
    "beta with some weight": lambda: beta_covariance(DIMS, boundary_weight=0.3),
    "beta with unit diagonal": lambda: beta_covariance(DIMS, boundary_weight=0.0),
    "one bandwidth": lambda: ScaleKernel(BetaKernel(boundary_weight=1.0)),
    "another prior": lambda: ScaleKernel(RBFKernel(ard_num_dims=DIMS, lengthscale_prior=GammaPrior(3.0, 6.0))),
    "main effects": lambda: ScaleKernel(MainEffectsKernel(DIMS)),
    "shared main effects": lambda: MainEffectsKernel(),
    "beta-additive": lambda: beta_additive_covariance(DIMS),
    "three summands": lambda: ScaleKernel(matern(1.5)) + ScaleKernel(RBFKernel(DIMS)) + MainEffectsKernel(DIMS),
    "a scaled sum": lambda: ScaleKernel(ScaleKernel(RBFKernel(ard_num_dims=DIMS)) + matern(2.5)),
}

UNSUPPORTED: dict[str, Callable[[], Kernel]] = {
    "beta with a learned weight": lambda: beta_covariance(DIMS),
    "transformed parameters": lambda: ScaleKernel(RBFKernel(ard_num_dims=DIMS)),
    "learned weight": lambda: beta_matern_covariance(DIMS, boundary_weight="learned"),
    "fixed weight": lambda: beta_matern_covariance(DIMS, boundary_weight=0.3),
    "exact distances": lambda: beta_matern_covariance(DIMS, method="lgamma"),
    "matern 1/2": lambda: ScaleKernel(matern(0.5)),
    "some coordinates": lambda: ScaleKernel(MaternKernel(ard_num_dims=2, active_dims=(0, 1))),
    "a product": lambda: ScaleKernel(RBFKernel(ard_num_dims=DIMS)) * MaternKernel(ard_num_dims=DIMS),
    "single precision": lambda: KERNELS["rbf"].make(DIMS).float(),
    "a fixed scale": lambda: KERNELS["rbf"].make(DIMS).requires_grad_(False),
}


def logarithmic(kernel: Kernel) -> Kernel:
    """A kernel whose parameters are all kept positive without a transform, as those of the catalogue are."""
    for module in kernel.modules():
        for parameter in ("raw_lengthscale", "raw_outputscale", "raw_bandwidth"):
            if hasattr(module, parameter) and module.constraint_for_parameter_name(parameter).enforced:
                value = getattr(module, parameter.removeprefix("raw_")).detach()
                module.register_constraint(parameter, GreaterThan(1e-5, transform=None))
                module.initialize(**{parameter: value})
    return kernel


@pytest.mark.parametrize("noise", ["unknown", "none", 0.05])
@pytest.mark.parametrize("name", SUPPORTED)
def test_closed_form_agrees_with_autograd(name: str, noise: Noise) -> None:
    x, y = data()
    lean = Likelihood(x, y, logarithmic(SUPPORTED[name]()).double(), noise)
    plain = Likelihood(x, y, exact(logarithmic(SUPPORTED[name]()).double()), noise, lean=False)
    assert lean.is_lean
    assert not plain.is_lean
    generator = np.random.default_rng(0)
    for _ in range(5):
        vector = np.clip(lean.vector() + generator.standard_normal(len(lean.bounds)), *lean.bounds.T)
        value, gradient = lean(vector)
        expected, expected_gradient = plain(vector)
        assert expected < plain.worst
        assert value == pytest.approx(expected, rel=1e-6)
        assert gradient == pytest.approx(expected_gradient, rel=1e-5, abs=1e-5 * np.abs(expected_gradient).max())
    assert lean.evaluations == 5


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_other_kernels_are_differentiated_by_autograd(name: str) -> None:
    x, y = data()
    kernel = UNSUPPORTED[name]()
    kernel = kernel if name == "single precision" else kernel.double()
    assert not Likelihood(x, y, kernel, "unknown").is_lean


@pytest.mark.parametrize("bandwidth", [1e-4, 0.05, 1e3])
def test_extreme_bandwidths_are_as_exact(bandwidth: float) -> None:
    x, y = data()
    found = []
    for lean in (True, False):
        kernel = ScaleKernel(BetaMaternKernel(ard_num_dims=DIMS, method="auto" if lean else "lgamma")).double()
        kernel.base_kernel.bandwidth = bandwidth
        problem = Likelihood(x, y, logarithmic(kernel), "unknown", lean=lean)
        assert problem.is_lean is lean
        found.append(problem(problem.vector()))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-6)
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("bandwidth", [1.01e-4, 1e-3, 0.02, 0.5, 100.0])
def test_beta_kernels_of_any_bandwidth_are_as_exact(bandwidth: float, weight: float) -> None:
    x, y = data()
    x[2] = x[3] + 1e-7
    found = []
    for lean in (True, False):
        base = BetaKernel(ard_num_dims=DIMS, boundary_weight=weight, method="auto" if lean else "lgamma")
        kernel = logarithmic(ScaleKernel(base).double())
        base.bandwidth = bandwidth * torch.tensor([[1.0, 1.5, 40.0]], dtype=torch.float64)
        problem = Likelihood(x, y, kernel, "unknown", lean=lean)
        assert problem.is_lean is lean
        found.append(problem(problem.vector()))
    (value, gradient), (expected, expected_gradient) = found
    assert value == pytest.approx(expected, rel=1e-8)
    assert gradient == pytest.approx(expected_gradient, rel=1e-6, abs=1e-7 * np.abs(expected_gradient).max())


def test_main_effects_of_many_points_take_the_way_that_needs_less_memory() -> None:
    x = torch.rand(330, DIMS, dtype=torch.float64)
    y = x.sum(dim=-1)
    assert not Likelihood(x, y, beta_additive_covariance(DIMS).double(), "unknown").is_lean
    assert Likelihood(x[:300], y[:300], beta_additive_covariance(DIMS).double(), "unknown").is_lean


def test_points_outside_the_cube_are_reported_by_the_kernel() -> None:
    x, y = data()
    problem = Likelihood(x + 2, y, beta_additive_covariance(DIMS).double(), "unknown")
    value, gradient = problem(problem.vector())
    assert value == problem.worst
    assert not gradient.any()
    assert "[0, 1]" in problem.messages[0]
