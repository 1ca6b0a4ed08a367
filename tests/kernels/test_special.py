from __future__ import annotations

import math

import mpmath as mp
import pytest
import torch

import oracles
from betabo.kernels.special import (
    bandwidth_of_lengthscale,
    beta_sq_distance,
    boundary_excess,
    log_diagonal_supremum,
    log_gamma_second_difference,
    metric_at_centre,
)

BANDWIDTHS = [1e-3, 1e-2, 0.1, 0.5, 1.0, 10.0, 1e3]
COORDINATES = [0.0, 1e-12, 1e-6, 0.05, 0.3, 0.3 + 1e-9, 0.5, 0.5 + 1e-5, 0.97, 1 - 1e-7, 1.0]


def t(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


@pytest.mark.parametrize("h", BANDWIDTHS)
def test_squared_distance_keeps_relative_accuracy_even_for_nearly_equal_points(h: float) -> None:
    for x in COORDINATES:
        for y in COORDINATES:
            exact = oracles.sq_distance(x, y, h)
            found = beta_sq_distance(t(x), t(y), t(h)).item()
            assert found == pytest.approx(float(exact), rel=1e-10, abs=0), (x, y)


@pytest.mark.parametrize("h", BANDWIDTHS)
def test_squared_distance_of_a_point_to_itself_is_exactly_zero(h: float) -> None:
    x = torch.tensor(COORDINATES, dtype=torch.float64)
    assert torch.equal(beta_sq_distance(x, x, t(h)), torch.zeros_like(x))


@pytest.mark.parametrize("h", BANDWIDTHS)
def test_boundary_excess_is_the_log_diagonal_above_the_centre(h: float) -> None:
    centre = oracles.log_paper_kernel([0.5], [0.5], [h])
    for x in COORDINATES:
        exact = oracles.log_paper_kernel([x], [x], [h]) - centre
        assert boundary_excess(t(x), t(h)).item() == pytest.approx(float(exact), abs=5e-12)


@pytest.mark.parametrize("h", BANDWIDTHS)
def test_the_supremum_of_the_diagonal_is_at_a_vertex(h: float) -> None:
    exact = oracles.log_paper_kernel([0.0], [0.0], [h])
    assert log_diagonal_supremum(t(h)).item() == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(("z", "a"), [(1.5, 0.5), (1.0, 1e-8), (1001.0, 3.0), (1001.0, 1000.0), (1.003, 1e-3)])
def test_second_difference_of_log_gamma(z: float, a: float) -> None:
    z_, a_ = mp.mpf(z), mp.mpf(a)
    exact = mp.loggamma(z_ + a_) + mp.loggamma(z_ - a_) - 2 * mp.loggamma(z_)
    assert log_gamma_second_difference(t(z), t(a)).item() == pytest.approx(float(exact), rel=1e-10)


@pytest.mark.parametrize("h", BANDWIDTHS)
def test_metric_at_the_centre(h: float) -> None:
    assert metric_at_centre(t(h)).item() == pytest.approx(float(oracles.metric_at_centre(h)), rel=1e-13)


def test_lengthscale_limits_for_small_and_large_bandwidths() -> None:
    small, large = t(1e-4), t(1e4)
    assert metric_at_centre(small).rsqrt().item() == pytest.approx(math.sqrt(1e-4 / 2), rel=1e-4)
    assert metric_at_centre(large).rsqrt().item() == pytest.approx(math.sqrt(3) / math.pi * 1e4, rel=1e-3)


def test_bandwidth_of_lengthscale_inverts_the_metric() -> None:
    h = torch.logspace(-4, 4, 33, dtype=torch.float64)
    assert bandwidth_of_lengthscale(metric_at_centre(h).rsqrt()).log().sub(h.log()).abs().max() < 1e-12


def test_derivatives_of_any_order() -> None:
    x = torch.tensor([0.1, 0.4, 0.9], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.7, 0.4 + 1e-4, 0.2], dtype=torch.float64, requires_grad=True)
    h = torch.tensor([0.3, 2.0, 0.05], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(beta_sq_distance, (x, y, h))
    assert torch.autograd.gradgradcheck(beta_sq_distance, (x, y, h))
    assert torch.autograd.gradgradcheck(boundary_excess, (x, h))
    assert torch.autograd.gradgradcheck(metric_at_centre, (h,))
