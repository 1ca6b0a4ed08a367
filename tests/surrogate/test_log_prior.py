"""Log-normal priors against SciPy's densities."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import Kernel, RBFKernel, ScaleKernel
from gpytorch.priors import GammaPrior, LogNormalPrior, Prior
from scipy import optimize, stats
from torch import Tensor

from betabo.surrogate.log_prior import LogPrior


def kernel_with(prior: Prior | None) -> Kernel:
    positive = GreaterThan(1e-4, transform=None, initial_value=1.0)
    rbf = RBFKernel(ard_num_dims=2, lengthscale_prior=prior, lengthscale_constraint=positive)
    return ScaleKernel(rbf, outputscale_prior=LogNormalPrior(-1.0, 1.5), outputscale_constraint=positive).double()


def places_of(kernel: Kernel) -> dict[Tensor, slice]:
    return {kernel.raw_outputscale: slice(0, 1), kernel.base_kernel.raw_lengthscale: slice(1, 3)}


def test_density_and_gradient_are_those_of_log_normal_distributions() -> None:
    kernel = kernel_with(LogNormalPrior(0.3, 0.7))
    prior = LogPrior.of(kernel, places_of(kernel))
    assert prior is not None
    vector = np.array([0.4, -1.2, 0.9, 7.0])  # what comes after the parameters does not count

    def expected(u: np.ndarray) -> float:
        scale = stats.lognorm(1.5, scale=np.exp(-1.0)).logpdf(np.exp(u[0]))
        return float(scale + stats.lognorm(0.7, scale=np.exp(0.3)).logpdf(np.exp(u[1:3])).sum())

    value, gradient = prior(vector)
    assert value == pytest.approx(expected(vector), abs=1e-6)
    assert gradient == pytest.approx(optimize.approx_fprime(vector, expected)[:3], abs=1e-5)


def test_a_parameter_without_prior_does_not_count() -> None:
    kernel = kernel_with(None)
    prior = LogPrior.of(kernel, places_of(kernel))
    assert prior is not None
    assert prior(np.array([0.1, 5.0, -5.0]))[0] == prior(np.array([0.1, 0.0, 0.0]))[0]


def test_other_priors_have_no_closed_form() -> None:
    kernel = kernel_with(GammaPrior(2.0, 1.0))
    assert LogPrior.of(kernel, places_of(kernel)) is None
    kernel = kernel_with(LogNormalPrior(torch.zeros(2, 2), torch.ones(2, 2)))  # would count every parameter twice
    assert LogPrior.of(kernel, places_of(kernel)) is None
    kernel = kernel_with(LogNormalPrior(0.0, 1.0))
    assert LogPrior.of(kernel, {kernel.raw_outputscale: slice(0, 1)}) is None  # of something that is not fitted
