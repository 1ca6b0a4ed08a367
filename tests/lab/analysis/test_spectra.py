from __future__ import annotations

import itertools

import numpy as np
import pytest
import statsmodels.api as sm
import torch
from gpytorch.kernels import MaternKernel, RBFKernel
from scipy.linalg import eigh

from betabo import BetaKernel
from betabo.lab.analysis import (
    compare_decays,
    linear_trend,
    matrix_spectra,
    numerical_floor,
    operator_spectrum,
    product_spectrum,
    spread_ranks,
)

RANKS = np.arange(1, 81)


def beta(bandwidth: float) -> BetaKernel:
    kernel = BetaKernel(boundary_weight=1.0).double()
    kernel.bandwidth = bandwidth
    return kernel


def rbf(lengthscale: float = 1.0) -> RBFKernel:
    kernel = RBFKernel().double()
    kernel.lengthscale = lengthscale
    return kernel


def test_matrix_spectra_are_eigenvalues_in_descending_order() -> None:
    spectra = matrix_spectra(rbf(), 3, points=12, matrices=3, seed=7)
    x = torch.rand(3, 12, 3, generator=torch.Generator().manual_seed(7), dtype=torch.float64).numpy()
    gram = np.exp(-((x[1][:, None] - x[1][None]) ** 2).sum(-1) / 2)
    np.testing.assert_allclose(spectra[1], eigh(gram, eigvals_only=True)[::-1], atol=1e-12)


def test_first_matrices_do_not_depend_on_how_many_follow() -> None:
    few, many = (matrix_spectra(beta(0.2), 2, points=8, matrices=m) for m in (50, 70))
    np.testing.assert_allclose(few, many[:50], rtol=1e-10, atol=1e-12)


def test_trend_is_that_of_ordinary_least_squares() -> None:
    eigenvalues = matrix_spectra(beta(0.5), 5, points=60, matrices=5).mean(0)
    ours = linear_trend(eigenvalues)
    theirs = sm.OLS(np.log(eigenvalues), sm.add_constant(np.arange(1, 61))).fit()
    assert ours.slope == pytest.approx(theirs.params[1])
    assert ours.p_value == pytest.approx(theirs.pvalues[1], rel=1e-6)
    assert ours.r_squared == pytest.approx(theirs.rsquared)
    assert ours.count == 60


@pytest.mark.parametrize(
    ("eigenvalues", "best", "exponent"),
    [
        (np.exp(-0.2 * RANKS), "exponential", 1.0),
        (np.exp(-4.0 * RANKS ** (1 / 3)), "stretched", 1 / 3),
        (RANKS**-2.5, "polynomial", 0.0),
    ],
    ids=["exponential", "stretched", "polynomial"],
)
def test_comparison_recognizes_a_decay_through_noise(eigenvalues: np.ndarray, best: str, exponent: float) -> None:
    noise = np.exp(np.random.default_rng(0).normal(0, 0.02, RANKS.size))
    comparison = compare_decays(np.sort(eigenvalues * noise)[::-1], dims=3)
    assert comparison.best == best
    assert comparison.excess(best) == 0
    assert comparison.free.exponent == pytest.approx(exponent, abs=0.05)
    assert all(comparison.excess(name) > 10 for name in comparison.fits if name != best)


def test_criterion_is_that_of_ordinary_least_squares() -> None:
    eigenvalues = matrix_spectra(beta(1.0), 5, points=50, matrices=5).mean(0)
    comparison = compare_decays(eigenvalues, dims=5)
    ranks = np.arange(1.0, 51)
    columns = {"exponential": ranks, "stretched": ranks**0.2, "polynomial": np.log(ranks)}
    bic = {name: sm.OLS(np.log(eigenvalues), sm.add_constant(t)).fit().bic for name, t in columns.items()}
    assert comparison.best == min(bic, key=bic.__getitem__)
    for name, value in bic.items():
        assert comparison.excess(name) == pytest.approx(value - min(bic.values()), abs=1e-6)


def test_small_p_value_does_not_mean_exponential_decay() -> None:
    polynomial = RANKS**-2.5
    assert linear_trend(polynomial).p_value < 1e-20
    assert compare_decays(polynomial, dims=3).best == "polynomial"


def test_matern_decays_polynomially_and_beta_exponentially_in_one_dimension() -> None:
    matern = MaternKernel(nu=2.5).double()
    matern.lengthscale = 1.0
    rough, smooth = operator_spectrum(matern), operator_spectrum(beta(0.1))
    assert compare_decays(rough[:60], dims=1).best == "polynomial"
    assert compare_decays(smooth, dims=1).best == "exponential"
    assert compare_decays(rough[30:60], 1, np.arange(31, 61)).fits["polynomial"].rate == pytest.approx(6, rel=0.06)


def test_operator_spectrum_is_the_limit_of_matrices() -> None:
    operator = operator_spectrum(rbf(0.5))
    x = np.linspace(0, 1, 2001)[:, None]
    gram = np.exp(-((x - x.T) ** 2) / 0.5) / 2001
    assert operator[:3] == pytest.approx(eigh(gram, eigvals_only=True, subset_by_index=[1998, 2000])[::-1], rel=2e-3)
    assert operator.sum() == pytest.approx(1, abs=1e-10)


def test_product_spectrum_has_all_the_leading_products() -> None:
    one = operator_spectrum(beta(0.3))
    brute = np.sort([np.prod(c) for c in itertools.product(one, repeat=3)])[::-1]
    ours = product_spectrum(one, dims=3, count=200)
    np.testing.assert_allclose(ours, brute[:200], rtol=1e-10)
    complete = product_spectrum(one, dims=3, count=10**6)
    assert complete.min() >= one[-1] * one[0] ** 2 * (1 - 1e-12)


def test_floor_is_a_multiple_of_rounding() -> None:
    eigenvalues = matrix_spectra(rbf(), 1, points=100, matrices=1)[0]
    noise = np.abs(eigenvalues[50:]).max()
    assert noise < numerical_floor(eigenvalues) < 1e-10 * eigenvalues[0]


def test_ranks_are_spread_over_decades() -> None:
    ranks = spread_ranks(10_000, 40)
    assert ranks[0] == 1
    assert ranks[-1] == 10_000
    assert (np.diff(ranks) > 0).all()
    assert 30 <= ranks.size <= 40


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="descending order"):
        linear_trend([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="must be positive"):
        compare_decays([1.0, 0.5, 0.1, 0.0, -1e-17], dims=2)
    with pytest.raises(ValueError, match="at least 5"):
        compare_decays([1.0, 0.5], dims=2)
    with pytest.raises(ValueError, match="ranks has shape"):
        compare_decays(np.exp(-RANKS), dims=2, ranks=[1, 2])
    with pytest.raises(ValueError, match="matrices is 0"):
        matrix_spectra(rbf(), 2, matrices=0)
