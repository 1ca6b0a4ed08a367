"""The closed form of the Beta kernel by parameters against autograd through log-gammas."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gpytorch.constraints import GreaterThan
from torch import Tensor

from betabo.kernels.beta import BetaKernel
from betabo.kernels.closed_form import by_parameters

DIMS = 3


def data() -> Tensor:
    x = torch.rand(20, DIMS, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x[0], x[1, 0], x[2] = 0.0, 1.0, x[3] + 1e-7
    return x


def beta(bandwidth: Tensor, weight: float, method: str) -> BetaKernel:
    """A kernel whose parameter is the bandwidth itself."""
    kernel = BetaKernel(
        ard_num_dims=None if bandwidth.numel() == 1 else bandwidth.numel(),
        boundary_weight=weight,
        bandwidth_constraint=GreaterThan(1e-12, transform=None),
        method=method,  # type: ignore[arg-type]
    ).double()
    kernel.bandwidth = bandwidth
    return kernel


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("spread", [[1.0], [1.0, 0.7, 30.0]], ids=["one bandwidth", "a bandwidth each"])
@pytest.mark.parametrize("level", [2e-4, 1e-2, 0.5, 100.0])
def test_covariance_and_gradient(level: float, spread: list[float], weight: float) -> None:
    x, bandwidth = data(), level * torch.tensor(spread, dtype=torch.float64)
    exact = beta(bandwidth, weight, "lgamma")
    expected = exact(x).to_dense()
    size = expected.detach().diagonal().sqrt()
    mix = torch.cos(torch.arange(len(x), dtype=torch.float64)) / size
    slope = mix.outer(mix)
    (by_bandwidth,) = torch.autograd.grad((slope * expected).sum(), exact.raw_bandwidth)

    kernel = beta(bandwidth, weight, "auto")
    form = by_parameters(kernel, x, {kernel.raw_bandwidth: slice(1, 1 + len(spread))})
    assert form is not None
    at = form(np.array([7.0, *bandwidth.log().tolist()]))
    assert at is not None
    relative = (torch.from_numpy(at.covariance) - expected.detach()) / size.outer(size)
    assert relative.abs().max() < 1e-9
    gradient = np.zeros(1 + len(spread))
    at.add_gradient(slope.numpy(), gradient)
    assert gradient[0] == 0
    by_log = (by_bandwidth.flatten() * bandwidth).numpy()
    assert gradient[1:] == pytest.approx(by_log, rel=1e-7, abs=1e-8 * np.abs(by_log).max())


def test_a_bandwidth_that_is_too_small_for_the_tolerance_has_none() -> None:
    kernel = beta(torch.full((DIMS,), 1e-3, dtype=torch.float64), 1.0, "auto")
    form = by_parameters(kernel, data(), {kernel.raw_bandwidth: slice(0, DIMS)})
    assert form is not None
    assert form(np.log(np.full(DIMS, 1e-3))) is not None
    assert form(np.log(np.full(DIMS, 1e-8))) is None


def test_none_where_the_kernel_is_told_to_sum_log_gammas_or_learns_its_weight() -> None:
    told = beta(torch.ones(DIMS, dtype=torch.float64), 1.0, "lgamma")
    assert by_parameters(told, data(), {told.raw_bandwidth: slice(0, DIMS)}) is None
    learns = BetaKernel(ard_num_dims=DIMS).double()
    places = {learns.raw_bandwidth: slice(0, DIMS), learns.raw_boundary_weight: slice(DIMS, DIMS + 1)}
    assert by_parameters(learns, data(), places) is None
