from __future__ import annotations

import math

import pytest
import torch
from scipy.special import gamma, kv

from betabo.kernels.radial import SMOOTH, matern_profile, profile_with_slope


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_profile_is_the_matern_function(nu: float) -> None:
    r = torch.logspace(-3, 1, 20, dtype=torch.float64)
    s = math.sqrt(2 * nu) * r.numpy()
    exact = 2 ** (1 - nu) / gamma(nu) * s**nu * kv(nu, s)
    torch.testing.assert_close(matern_profile(r.square(), nu), torch.from_numpy(exact), rtol=1e-10, atol=1e-14)


def test_infinite_nu_is_gaussian() -> None:
    squared = torch.linspace(0, 9, 10, dtype=torch.float64)
    torch.testing.assert_close(matern_profile(squared, math.inf), torch.exp(-squared / 2))


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, math.inf])
def test_profile_is_one_and_its_gradient_finite_at_zero_and_just_below(nu: float) -> None:
    squared = torch.tensor([0.0, -1e-15], dtype=torch.float64, requires_grad=True)
    value = matern_profile(squared, nu)
    assert torch.equal(value, torch.ones(2, dtype=torch.float64))
    value.sum().backward()
    assert squared.grad is not None
    assert squared.grad.isfinite().all()


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, math.inf])
def test_gradients(nu: float) -> None:
    squared = torch.tensor([0.01, 0.5, 4.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: matern_profile(s, nu), (squared,))
    assert torch.autograd.gradgradcheck(lambda s: matern_profile(s, nu), (squared,))


@pytest.mark.parametrize("nu", SMOOTH)
def test_the_profile_of_arrays_and_its_slope_are_those_of_tensors(nu: float) -> None:
    squared = torch.tensor([-1e-15, 0.0, 1e-8, 0.3, 4.0, 900.0], dtype=torch.float64, requires_grad=True)
    expected = matern_profile(squared, nu)
    (slope,) = torch.autograd.grad(expected.sum(), squared)
    slope[0] = slope[1]  # autograd takes what is below zero for constant
    values, slopes = profile_with_slope(squared.detach().clone().numpy(), nu)
    torch.testing.assert_close(torch.from_numpy(values), expected.detach(), rtol=1e-14, atol=0)
    torch.testing.assert_close(torch.from_numpy(slopes), slope, rtol=1e-14, atol=0)
