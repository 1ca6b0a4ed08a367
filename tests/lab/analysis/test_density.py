from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta as beta_distribution
from scipy.stats import gaussian_kde
from statsmodels.nonparametric.kernels_asymmetric import pdf_kernel_asym

from betabo.lab.analysis import BetaDensity, choose_bandwidth, rule_of_thumb

GRID = np.linspace(0, 1, 101)
STATSMODELS = {"beta1": "beta", "beta2": "beta2"}


def draw(size: int, seed: int = 0, shape: tuple[float, float] = (1.0, 3.0)) -> np.ndarray:
    return np.random.default_rng(seed).beta(*shape, size)


@pytest.mark.parametrize("bandwidth", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("estimator", ["beta1", "beta2"])
def test_raw_estimate_is_statsmodels(estimator: str, bandwidth: float) -> None:
    sample = draw(60)
    ours = BetaDensity(sample, bandwidth, estimator, normalized=False)(GRID)
    theirs = [pdf_kernel_asym(x, sample, bandwidth, STATSMODELS[estimator]) for x in GRID]
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("bandwidth", [0.002, 0.03, 0.25])
@pytest.mark.parametrize("estimator", ["beta1", "beta2"])
def test_normalized_estimate_integrates_to_one(estimator: str, bandwidth: float) -> None:
    density = BetaDensity(draw(40), bandwidth, estimator)
    edges = np.union1d(np.linspace(0, 1, 21), [2 * bandwidth, 1 - 2 * bandwidth])
    parts = [quad(lambda x: float(density(x)), a, b, epsabs=1e-11)[0] for a, b in itertools.pairwise(edges)]
    total = sum(parts)
    assert total == pytest.approx(1, abs=1e-8)
    assert density.integral != pytest.approx(1, abs=1e-4)


def test_observations_on_the_ends_give_finite_densities() -> None:
    sample = np.array([0.0, 0.0, 0.3, 0.7, 1.0])
    for estimator in ("beta1", "beta2"):
        values = BetaDensity(sample, 0.05, estimator)(GRID)
        assert np.isfinite(values).all()
        assert (values >= 0).all()
        assert values[0] > values[25]


@pytest.mark.parametrize("estimator", ["beta1", "beta2"])
def test_less_bias_at_the_boundary_than_a_gaussian_kernel(estimator: str) -> None:
    shape = (1.0, 3.0)  # the density is 3 at x = 0
    at_zero, gaussian = [], []
    for seed in range(20):
        sample = draw(400, seed, shape)
        at_zero.append(float(BetaDensity(sample, "rule-of-thumb", estimator)(0.0)))
        gaussian.append(gaussian_kde(sample)(0.0).item())
    truth = beta_distribution.pdf(0.0, *shape)
    assert abs(np.mean(at_zero) - truth) < 0.3 * abs(np.mean(gaussian) - truth)
    assert np.mean(gaussian) < 0.7 * truth


def test_shape_of_the_places_is_kept() -> None:
    density = BetaDensity(draw(30), 0.05)
    assert density(GRID.reshape(1, -1)[:, :100].reshape(4, 25)).shape == (4, 25)
    assert density(0.5).shape == ()


def test_many_observations_are_split_without_changing_the_result() -> None:
    sample = draw(20_000)
    whole = BetaDensity(sample, 0.01)(GRID)
    alone = [float(BetaDensity(sample, 0.01)(x)) for x in GRID[::25]]
    np.testing.assert_allclose(whole[::25], alone, rtol=1e-12)


def test_rule_of_thumb_is_the_standard_deviation_at_the_optimal_rate() -> None:
    sample = draw(200)
    assert rule_of_thumb(sample) == pytest.approx(np.std(sample, ddof=1) * 200 ** (-2 / 5))
    assert rule_of_thumb([0.0, 1.0], "beta2") == 0.25


@pytest.mark.parametrize("estimator", ["beta1", "beta2"])
def test_least_squares_comes_close_to_the_best_bandwidth(estimator: str) -> None:
    shape, nodes = (2.0, 6.0), np.linspace(0.0005, 0.9995, 1000)
    truth = beta_distribution.pdf(nodes, *shape)
    sample = draw(300, 1, shape)

    def error(bandwidth: float) -> float:
        return float(np.mean((BetaDensity(sample, bandwidth, estimator)(nodes) - truth) ** 2))

    chosen = choose_bandwidth(sample, "least-squares", estimator)
    assert error(chosen) < 2 * min(error(b) for b in np.geomspace(0.002, 0.25, 30))


def test_likelihood_picks_the_bandwidth_that_leaves_one_out_best() -> None:
    sample = draw(40, 3)

    def score(bandwidth: float) -> float:
        rest = [BetaDensity(np.delete(sample, i), bandwidth) for i in range(sample.size)]
        return sum(float(np.log(density(x))) for density, x in zip(rest, sample, strict=True))

    chosen = choose_bandwidth(sample, "likelihood")
    assert all(score(chosen) > score(chosen * factor) for factor in (0.7, 0.95, 1.05, 1.4))


def test_ties_do_not_collapse_the_bandwidth() -> None:
    sample = np.repeat([0.05, 0.5, 0.95], 20)
    for rule in ("least-squares", "likelihood"):
        assert choose_bandwidth(sample, rule) >= 0.049 * rule_of_thumb(sample)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sample": []}, "sample is empty"),
        ({"sample": [0.2, 1.2]}, r"sample contains 1\.2, expected numbers in \[0, 1\]"),
        ({"sample": [0.2, float("nan")]}, "sample contains nan"),
        ({"sample": [0.2, 0.2]}, "2 observations without spread"),
        ({"sample": [0.2, 0.4], "bandwidth": "silverman"}, "bandwidth is 'silverman', expected a number or one of"),
        ({"sample": [0.2, 0.4], "bandwidth": "likelihood"}, "expected at least 3 for cross-validation"),
        ({"sample": [0.2, 0.4], "bandwidth": 0.0}, r"bandwidth is 0\.0"),
        ({"sample": [0.2, 0.4], "bandwidth": 0.3, "estimator": "beta2"}, r"at most 0\.25 for 'beta2'"),
        ({"sample": [0.2, 0.4], "estimator": "gamma"}, "estimator is 'gamma'"),
    ],
    ids=["empty", "outside", "nan", "no-spread", "rule", "too-few", "zero", "too-wide", "estimator"],
)
def test_bad_input_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BetaDensity(**arguments)
    with pytest.raises(ValueError, match=r"x contains -0\.1"):
        BetaDensity(draw(10), 0.1)(-0.1)
