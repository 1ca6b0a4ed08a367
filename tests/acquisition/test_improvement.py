"""The logarithm of the standard improvement and its derivatives, against mpmath."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
import torch

from betabo.acquisition.improvement import log_improvement_with_slope, log_standard_improvement

POINTS = (
    *(-(10.0**power) for power in (8, 5, 4.5, 4, 3, 2.5, 2, 1.5, 1)),
    *(-30.001, -30.0, -29.999, -8.0, -3.0, -1.0000001, -1.0, -0.9999999, -0.5, 0.0, 1e-9, 0.4, 2.0, 7.0, 50.0),
)


def exact(u: float) -> tuple[float, float, float]:
    """The logarithm and its first two derivatives."""
    with mp.workdps(120):
        t = -mp.mpf(u)
        if t > 1000:  # the normal distribution underflows even there: Mills' ratio by its asymptotic series
            mills = sum((-1) ** k * mp.fac2(2 * k - 1) * t ** (-2 * k - 1) for k in range(12))
        else:
            mills = mp.ncdf(u) / mp.npdf(u)
        ratio = 1 - t * mills  # of the improvement to the density
        log_density = -t * t / 2 - mp.log(2 * mp.pi) / 2
        return float(log_density + mp.log(ratio)), float(mills / ratio), float(1 / ratio - (mills / ratio) ** 2)


@pytest.mark.parametrize("u", POINTS)
def test_value_agrees_with_mpmath(u: float) -> None:
    value = log_standard_improvement(torch.tensor(u, dtype=torch.float64))
    assert float(value) == pytest.approx(exact(u)[0], rel=4e-15, abs=4e-16)


@pytest.mark.parametrize("u", POINTS)
def test_gradient_agrees_with_mpmath(u: float) -> None:
    at = torch.tensor(u, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(log_standard_improvement(at), at)
    assert float(gradient) == pytest.approx(exact(u)[1], rel=1e-12)


@pytest.mark.parametrize("u", [u for u in POINTS if u > -1000])
def test_second_derivative_agrees_with_mpmath(u: float) -> None:
    at = torch.tensor(u, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(log_standard_improvement(at), at, create_graph=True)
    (curvature,) = torch.autograd.grad(gradient, at)
    assert float(curvature) == pytest.approx(exact(u)[2], rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("u", POINTS)
def test_single_precision_keeps_its_digits(u: float) -> None:
    at = torch.tensor(u, dtype=torch.float32, requires_grad=True)
    value = log_standard_improvement(at)
    (gradient,) = torch.autograd.grad(value, at)
    assert value.dtype == torch.float32
    expected, slope, _ = exact(at.item())
    assert value.item() == pytest.approx(expected, rel=1e-6, abs=1e-7)
    assert gradient.item() == pytest.approx(slope, rel=1e-6)


def test_arrays_and_tensors_of_any_shape_agree() -> None:
    u = torch.linspace(-40, 5, 12, dtype=torch.float64).view(3, 4).requires_grad_()
    values = log_standard_improvement(u)
    (gradient,) = torch.autograd.grad(values.sum(), u)
    expected, slopes = log_improvement_with_slope(u.detach().numpy())
    np.testing.assert_array_equal(values.detach().numpy(), expected)
    np.testing.assert_array_equal(gradient.numpy(), slopes)


def test_extreme_arguments_stay_finite() -> None:
    u = torch.tensor([-1e100, 1e100], dtype=torch.float64, requires_grad=True)
    value = log_standard_improvement(u)
    (gradient,) = torch.autograd.grad(value.sum(), u)
    assert value.isfinite().all()
    assert gradient.isfinite().all()


def test_there_is_no_third_derivative() -> None:
    at = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(log_standard_improvement(at), at, create_graph=True)
    (second,) = torch.autograd.grad(first, at, create_graph=True)
    with pytest.raises(NotImplementedError, match="no third"):
        torch.autograd.grad(second, at)
