"""What the kernels of the Beta distance share: bandwidth, boundary weight, method."""

from __future__ import annotations

import math

import pytest
import torch
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import ScaleKernel
from gpytorch.priors import GammaPrior, LogNormalPrior, UniformPrior
from torch import Tensor

import oracles
from betabo import BetaKernel
from betabo.kernels.box import (
    log_boundary_factor,
    log_boundary_factor_slope,
    log_boundary_factor_slope_by_bandwidth,
)


def test_boundary_weight_forms() -> None:
    assert BetaKernel().learns_boundary_weight
    assert isinstance(BetaKernel().boundary_weight_prior, GammaPrior)
    assert not BetaKernel(boundary_weight=1.0).learns_boundary_weight
    assert [name for name, _ in BetaKernel(boundary_weight=1).named_parameters()] == ["raw_bandwidth"]
    assert BetaKernel(boundary_weight=1.0).boundary_weight.item() == 1


def test_prior_of_the_boundary_weight_pulls_towards_zero() -> None:
    kernel = BetaKernel()
    ((_, _, prior, closure, _),) = kernel.named_priors()
    kernel.boundary_weight = 0.8
    (-prior.log_prob(closure(kernel)).sum()).backward()
    assert kernel.raw_boundary_weight.grad.item() > 0


def test_draws_from_priors_move_the_parameters_and_respect_constraints() -> None:
    kernel = BetaKernel(
        ard_num_dims=2,
        bandwidth_prior=LogNormalPrior(-20.0, 1.0),
        bandwidth_constraint=GreaterThan(0.05),
        boundary_weight_prior=UniformPrior(2.0, 3.0),
    )
    kernel.sample_from_prior("bandwidth_prior")
    kernel.sample_from_prior("boundary_weight_prior")
    assert kernel.bandwidth.tolist() == [pytest.approx([0.05, 0.05])]
    assert kernel.boundary_weight.item() == pytest.approx(1, abs=1e-5)
    free = BetaKernel(ard_num_dims=2, central_lengthscale_prior=LogNormalPrior(1.0, 0.1))
    before = free.bandwidth.clone()
    free.sample_from_prior("central_lengthscale_prior")
    assert not torch.equal(free.bandwidth, before)
    assert 1.5 < free.central_lengthscale[0, 0].item() < 5


def test_bandwidth_takes_numbers_and_tensors() -> None:
    kernel = BetaKernel(ard_num_dims=3)
    kernel.bandwidth = 0.5
    assert kernel.bandwidth[0].tolist() == pytest.approx([0.5] * 3)
    kernel.bandwidth = torch.tensor([0.1, 0.2, 0.3])
    assert kernel.bandwidth[0].tolist() == pytest.approx([0.1, 0.2, 0.3])


def test_is_not_stationary() -> None:
    assert BetaKernel().is_stationary is False
    assert ScaleKernel(BetaKernel()).is_stationary is False


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_impossible_bandwidths_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match=f"bandwidth is {value:g}, expected finite numbers > 0"):
        BetaKernel().bandwidth = value


def test_bandwidths_outside_the_constraint_or_of_the_wrong_shape_are_refused() -> None:
    kernel = BetaKernel(ard_num_dims=2, bandwidth_constraint=GreaterThan(0.1))
    with pytest.raises(ValueError, match=r"bandwidth is 0\.01, outside the kernel's constraint"):
        kernel.bandwidth = 0.01
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        kernel.bandwidth = torch.ones(3)


@pytest.mark.parametrize("value", [-0.1, 1.5, math.nan])
def test_boundary_weights_outside_the_unit_interval_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"boundary_weight is .*, expected a number in \[0, 1\]"):
        BetaKernel(boundary_weight=value)
    with pytest.raises(ValueError, match=r"expected a number in \[0, 1\]"):
        BetaKernel().boundary_weight = value


def test_other_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"method is 'fast', expected one of 'auto', 'matmul', 'lgamma'"):
        BetaKernel(method="fast")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="tolerance is 0"):
        BetaKernel(tolerance=0)
    with pytest.raises(ValueError, match="boundary_weight is 'auto'"):
        BetaKernel(boundary_weight="auto")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="boundary_weight is fixed"):
        BetaKernel(boundary_weight=0.5, boundary_weight_prior=UniformPrior(0, 1))
    with pytest.raises(TypeError, match=r"bandwidth_prior is a float, expected a gpytorch\.priors\.Prior"):
        BetaKernel(bandwidth_prior=1.0)  # type: ignore[arg-type]
    kernel = BetaKernel(method="matmul", tolerance=1e-13).double()
    kernel.bandwidth = 1e-3
    with pytest.raises(ValueError, match="method='matmul' cannot reach the tolerance"):
        kernel(torch.rand(5, 1, dtype=torch.float64)).to_dense()


def test_an_overflow_is_named_not_returned() -> None:
    kernel = BetaKernel(ard_num_dims=100, boundary_weight=1.0)
    kernel.bandwidth = 0.05
    with pytest.raises(OverflowError, match=r"too large for torch\.float32; use torch\.float64"):
        kernel(torch.zeros(1, 100)).to_dense()
    assert kernel.double()(torch.zeros(1, 100, dtype=torch.float64)).to_dense().isfinite().all()


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_boundary_factor_agrees_with_mpmath(weight: float) -> None:
    bandwidth = [0.05, 0.7]
    x = torch.tensor([[0.5, 0.5], [0.0, 1.0], [0.1, 0.98]], dtype=torch.float64)
    parameters = (torch.tensor([numbers], dtype=torch.float64) for numbers in (bandwidth, [weight]))
    found = log_boundary_factor(x, *parameters)
    for row, value in zip(x.tolist(), found.squeeze(-1).tolist(), strict=True):
        assert value == pytest.approx(float(oracles.log_beta_kernel(row, row, bandwidth, weight)) / 2, abs=1e-11)


def boundary_case() -> tuple[Tensor, Tensor, Tensor]:
    """Points, some of them on faces, bandwidths and a weight."""
    x = torch.rand(6, 3, dtype=torch.float64)
    x[0], x[1, 0] = 0.0, 1.0
    return x, torch.tensor([[0.05, 0.4, 3.0]], dtype=torch.float64), torch.tensor([[0.6]], dtype=torch.float64)


def test_slope_of_the_boundary_factor_by_points_is_its_derivative() -> None:
    x, bandwidth, weight = boundary_case()
    x.requires_grad_()
    (expected,) = torch.autograd.grad(log_boundary_factor(x, bandwidth, weight).sum(), x)
    torch.testing.assert_close(log_boundary_factor_slope(x.detach(), bandwidth, weight), expected)


def test_slope_of_the_boundary_factor_by_bandwidths_is_its_derivative() -> None:
    x, bandwidth, weight = boundary_case()
    log = bandwidth.log().expand(6, 3).clone().requires_grad_()
    (expected,) = torch.autograd.grad(log_boundary_factor(x, log.exp(), weight).sum(), log)
    torch.testing.assert_close(log_boundary_factor_slope_by_bandwidth(x, bandwidth, weight), expected)
