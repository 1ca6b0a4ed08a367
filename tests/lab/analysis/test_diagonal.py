from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
import torch

from betabo import BetaKernel
from betabo.lab.analysis import (
    log_diagonal,
    log_diagonal_infimum,
    log_diagonal_supremum,
    log_printed_bound,
    log_repaired_bound,
    printed_bound_threshold,
)
from oracles import log_paper_kernel

BANDWIDTHS = [0.01, 0.1, 0.25, 0.5, 1.0, 1.5, 5.0]


@pytest.mark.parametrize("h", BANDWIDTHS)
def test_diagonal_is_that_of_the_definition(h: float) -> None:
    x = [0.0, 0.03, 0.5, 0.8, 1.0]
    assert float(log_diagonal(x, h)) == pytest.approx(float(log_paper_kernel(x, x, [h] * 5)), abs=1e-10)


def test_each_coordinate_has_its_bandwidth() -> None:
    x, h = [[0.1, 0.6], [0.9, 1.0]], [0.2, 3.0]
    expected = [float(log_paper_kernel(row, row, h)) for row in x]
    np.testing.assert_allclose(log_diagonal(x, h), expected, atol=1e-12)


@pytest.mark.parametrize("h", BANDWIDTHS)
def test_range_is_attained_at_vertex_and_centre_and_nowhere_passed(h: float) -> None:
    x = np.random.default_rng(0).random((2000, 3))
    values = log_diagonal(x, h)
    low, high = float(log_diagonal_infimum(h, 3)), float(log_diagonal_supremum(h, 3))
    assert low == pytest.approx(float(log_paper_kernel([0.5] * 3, [0.5] * 3, [h] * 3)), abs=1e-10)
    assert high == pytest.approx(float(log_paper_kernel([0, 1, 0], [0, 1, 0], [h] * 3)), abs=1e-10)
    assert 0 <= low <= values.min()
    assert values.max() <= high


def test_boundary_weight_one_is_the_diagonal_over_its_value_at_the_centre() -> None:
    kernel = BetaKernel(boundary_weight=1.0).double()
    kernel.bandwidth = 0.3
    x = torch.rand(50, 4, dtype=torch.float64)
    ours = log_diagonal(x.numpy(), kernel.bandwidth.item()) - log_diagonal_infimum(kernel.bandwidth.item(), 4)
    np.testing.assert_allclose(ours, kernel(x).diagonal().log().detach().numpy(), atol=1e-10)


@pytest.mark.parametrize(
    ("h", "holds"), [(0.05, False), (0.1, False), (0.25, False), (0.5, False), (1.0, True), (5.0, True)]
)
def test_printed_bound_fails_for_small_bandwidths(h: float, holds: bool) -> None:
    h_ = mp.mpf(h)
    printed = mp.mpf(2) ** (3 - 2 / h_) * (1 / h_ + 1) * mp.sqrt(1 / (h_ * mp.pi) + 3 / (2 * mp.pi))
    assert float(log_printed_bound(h)) == pytest.approx(float(mp.log(printed)), abs=1e-12)
    assert (printed >= mp.exp(log_paper_kernel([0], [0], [h]))) is holds


def test_printed_bound_is_wrong_by_orders_of_magnitude_at_a_tenth() -> None:
    assert math.exp(log_printed_bound(0.1)) == pytest.approx(1.6e-4, rel=0.02)
    assert math.exp(log_diagonal_supremum(0.1)) == pytest.approx(121 / 21)


def test_threshold_separates_failure_from_validity_in_every_dimension() -> None:
    h = printed_bound_threshold()
    for dims in (1, 20):
        assert log_printed_bound(0.999 * h, dims) < log_diagonal_supremum(0.999 * h, dims)
        assert log_printed_bound(1.001 * h, dims) > log_diagonal_supremum(1.001 * h, dims)
    larger = np.geomspace(1.001 * h, 1e3, 300)
    assert (log_printed_bound(larger) > log_diagonal_supremum(larger)).all()


def test_repaired_bound_holds() -> None:
    h = np.geomspace(1e-3, 1e3, 500)
    assert (log_repaired_bound(h, 3) > log_diagonal_supremum(h, 3)).all()


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="bandwidth is 0"):
        log_diagonal_supremum(0)
    with pytest.raises(ValueError, match=r"outside \[0, 1\]"):
        log_diagonal([1.5], 0.1)
    with pytest.raises(ValueError, match="x is a number"):
        log_diagonal(0.5, 0.1)
