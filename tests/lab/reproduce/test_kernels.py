from __future__ import annotations

import mpmath as mp
import pytest
import torch

from betabo.lab.analysis import log_diagonal_infimum
from betabo.lab.reproduce.kernels import beta, matern, rbf
from oracles import log_paper_kernel

PAIR = torch.tensor([[0.2], [0.7]], dtype=torch.float64)


def test_beta_is_the_papers_kernel_over_its_value_at_the_centre() -> None:
    exact = float(mp.exp(log_paper_kernel([0.2], [0.7], [0.3]) - float(log_diagonal_infimum(0.3))))
    assert beta(0.3)(PAIR).to_dense()[0, 1].item() == pytest.approx(exact, rel=1e-8)


def test_beta_with_weight_zero_has_a_constant_diagonal() -> None:
    torch.testing.assert_close(beta(0.3, 0.0)(PAIR, diag=True), torch.ones(2, dtype=torch.float64))


def test_stationary_kernels_have_the_length_scale() -> None:
    assert rbf(0.5)(PAIR).to_dense()[0, 1].item() == pytest.approx(float(mp.exp(-mp.mpf(0.5))))
    assert matern(0.5, nu=0.5)(PAIR).to_dense()[0, 1].item() == pytest.approx(float(mp.exp(-1)))
    r = mp.sqrt(5)
    assert matern(0.5)(PAIR).to_dense()[0, 1].item() == pytest.approx(float((1 + r + r**2 / 3) * mp.exp(-r)))
