"""The output transform: increasing, standardized, and unmoved by the scale of the values and by one wild one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from betabo.surrogate import OutputTransform
from betabo.surrogate.outputs import Values

SCALES = [1e-300, 1e-12, 1.0, 1e12, 1e300]

distinct_values = hnp.arrays(
    np.float64, st.integers(2, 30), elements=st.integers(-1000, 1000).map(lambda i: i / 16), unique=True
)


def normal(n: int = 40, seed: int = 0) -> Values:
    return np.random.default_rng(seed).standard_normal(n)


@given(distinct_values, st.booleans(), st.sampled_from(SCALES))
def test_is_increasing_up_to_the_cap_and_flat_above_it(values: Values, power: bool, scale: float) -> None:
    values = np.sort(values) * scale
    transform = OutputTransform.learn(values, power=power)
    found = transform(values)
    below = values <= transform.cap
    assert (np.diff(found[below]) > 0).all()
    assert (found[~below] == transform(transform.cap)).all()
    assert below[: len(values) // 2].all()  # what a minimizer cares about is never capped


@given(distinct_values, st.booleans(), st.sampled_from(SCALES))
def test_has_mean_zero_and_variance_one(values: Values, power: bool, scale: float) -> None:
    found = OutputTransform.learn(values * scale, power=power)(values * scale)
    assert found.mean() == pytest.approx(0, abs=1e-9)
    assert found.std() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.7e-12, 1e12, 1e308, -1e308])
@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_equal_values_become_zeros(value: float, count: int) -> None:
    values = np.full(count, value)
    assert OutputTransform.learn(values)(values).tolist() == [0.0] * count


@pytest.mark.parametrize("value", [1.0, -1e12, 1e308])
def test_values_that_differ_by_rounding_count_as_equal(value: float) -> None:
    values = np.array([value, np.nextafter(value, np.inf)] * 3)
    assert np.abs(OutputTransform.learn(values)(values)).max() < 1e-12


@pytest.mark.parametrize("power", [True, False])
@pytest.mark.parametrize("scale", SCALES)
def test_does_not_depend_on_the_units(scale: float, power: bool) -> None:
    values = normal()
    expected = OutputTransform.learn(values, power=power)(values)
    found = OutputTransform.learn(scale * values, power=power)(scale * values)
    assert found == pytest.approx(expected, abs=1e-5)  # the exponent is found to within its search's tolerance


@pytest.mark.parametrize(
    "values",
    [
        np.array([-1.7e308, 1.7e308]),
        np.array([-1.7e308, *[1.7e308] * 6]),
        np.linspace(-1.7, 1.7, 20) * 1e308,
        np.array([1.0e308, 1.1e308, 1.2e308, 1.3e308, 1.7e308]),
        np.array([0.0, 1.0, 2.0, 3.0, 1.7e308]),
    ],
)
def test_the_largest_numbers_do_not_overflow(values: Values) -> None:
    found = OutputTransform.learn(values)(values)
    assert found.std() == pytest.approx(1)
    assert (np.diff(found) >= 0).all()
    assert found[-1] > found[0]


@pytest.mark.parametrize("count", [5, 8, 40])
@pytest.mark.parametrize("outlier", [1e4, 1e12, 1e308])
@pytest.mark.parametrize(("power", "least"), [(True, 0.1), (False, 0.05)])
def test_one_huge_value_leaves_the_others_their_resolution(
    outlier: float, count: int, power: bool, least: float
) -> None:
    values = np.append(normal(count - 1), outlier)
    found = OutputTransform.learn(values, power=power)(values)
    assert found[:-1].std() > least
    assert found[-1] == found.max()
    assert stats.zscore(values / outlier)[:-1].std() < 0.5 * least  # as standardization alone would have it


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sign", [1, -1])
def test_skewed_values_become_more_symmetric(seed: int, sign: int) -> None:
    values = sign * np.exp(normal(60, seed))
    plain = OutputTransform.learn(values, power=False)(values)
    found = OutputTransform.learn(values)(values)
    assert abs(stats.skew(plain)) > 0.9
    assert abs(stats.skew(found)) < 0.5 * abs(stats.skew(plain))


def test_without_the_power_transform_it_is_standardization() -> None:
    values = 3 + 2 * normal()
    found = OutputTransform.learn(values, power=False)(values)
    assert found == pytest.approx(stats.zscore(values), abs=1e-12)


def test_agrees_with_scipy_s_yeo_johnson() -> None:
    values = np.exp(0.5 * normal())
    expected, exponent = stats.yeojohnson(stats.zscore(values))
    transform = OutputTransform.learn(values)
    assert transform.cap > values.max()
    assert transform.power == pytest.approx(exponent, abs=2e-3)
    assert transform(values) == pytest.approx(stats.zscore(expected), abs=1e-2)


def covariance(count: int, length: float = 0.3) -> Values:
    x = np.linspace(0, 1, count)
    return np.asarray(np.exp(-0.5 * ((x[:, None] - x) / length) ** 2) + 1e-4 * np.eye(count))


def test_power_has_the_highest_joint_likelihood_of_dependent_values() -> None:
    matrix = covariance(30)
    factor = np.linalg.cholesky(matrix)
    values = np.exp(factor @ normal(30))
    standard = stats.zscore(values)
    transform = OutputTransform.learn(values, factor=factor)
    assert transform.cap > values.max()

    def log_likelihood(power: float) -> float:
        """By SciPy, with the scale and the mean that are best on a fine grid, and numerical derivatives."""
        there = stats.yeojohnson(standard, power)
        slopes = (stats.yeojohnson(standard + 1e-6, power) - stats.yeojohnson(standard - 1e-6, power)) / 2e-6
        weights = np.linalg.solve(matrix, np.ones(30))
        mean = weights @ there / weights.sum()
        scale = (there - mean) @ np.linalg.solve(matrix, there - mean) / 30
        density = stats.multivariate_normal(np.full(30, mean), scale * matrix).logpdf(there)
        return float(density + np.log(slopes).sum())

    powers = np.linspace(-3, 3, 601)
    expected = powers[np.argmax([log_likelihood(power) for power in powers])]
    assert -3 < expected < 3
    assert transform.power == pytest.approx(expected, abs=0.02)
    independent = OutputTransform.learn(values).power
    assert abs(independent - expected) > 0.1  # it does make a difference


def test_a_transform_that_made_smooth_values_rough_is_found_again() -> None:
    errors = {"joint": 0.0, "independent": 0.0}
    for seed in range(5):
        factor = np.linalg.cholesky(covariance(40, 0.2))
        smooth = factor @ normal(40, seed)
        values = np.expm1(np.maximum(smooth, 0)) - np.log1p(np.maximum(-smooth, 0))  # Yeo-Johnson's inverse of power 0
        for name, given_factor in (("joint", factor), ("independent", None)):
            found = OutputTransform.learn(values, factor=given_factor)(values)
            errors[name] += 1 - np.corrcoef(found, smooth)[0, 1]
    assert errors["joint"] < 0.5 * errors["independent"]


def test_new_values_keep_their_order_relative_to_those_it_learned_from() -> None:
    values = np.exp(normal())
    transform = OutputTransform.learn(values)
    new = np.array([values.min() - 1, np.median(values), values.max() / 2])
    everything = np.concatenate([values, new])
    assert stats.kendalltau(everything, transform(everything)).statistic == pytest.approx(1)


@pytest.mark.parametrize(
    "values", [[1.0, 2.0, 4.0, 9.0, 30.0], [-50.0, -8.0, -2.0, -1.0, -0.5], [3.0, 3.0], [1e9, 2e9]]
)
@pytest.mark.parametrize("power", [True, False])
def test_inverse_leads_back(values: list[float], power: bool) -> None:
    transform = OutputTransform.learn(np.array(values), power=power)
    there = np.linspace(min(values), max(values), 11)
    assert transform.inverse(transform(there)) == pytest.approx(there, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("exponent", [-1.5, 0.0, 0.7, 1.0, 2.0, 3.1])
def test_inverse_of_the_power_transform_agrees_with_scipy(exponent: float) -> None:
    transform = OutputTransform(np.inf, 0.0, 1.0, exponent, 0.0, 1.0)
    there = np.linspace(-4, 4, 41)
    assert transform.inverse(stats.yeojohnson(there, exponent)) == pytest.approx(there, rel=1e-9, abs=1e-9)


def test_inverse_is_infinite_beyond_the_range_of_the_power_transform() -> None:
    assert OutputTransform(np.inf, 0.0, 1.0, -1.0, 0.0, 1.0).inverse([0.5, 1.0, 2.0]).tolist() == [1.0, np.inf, np.inf]
    assert OutputTransform(np.inf, 0.0, 1.0, 3.0, 0.0, 1.0).inverse([-2.0]).tolist() == [-np.inf]


@pytest.mark.parametrize("power", [True, False])
def test_slopes_are_those_of_the_transform(power: bool) -> None:
    values = np.exp(normal()) * 7
    transform = OutputTransform.learn(values, power)
    step = 1e-6
    expected = (transform(values + step) - transform(values - step)) / (2 * step)
    assert transform.slopes(values) == pytest.approx(expected, rel=1e-5)


def test_the_slope_beyond_the_cap_is_that_at_the_cap() -> None:
    values = np.array([*normal(), 1e6])
    transform = OutputTransform.learn(values)
    assert transform.cap < 1e6
    assert transform.slopes([1e6]) == pytest.approx(transform.slopes([transform.cap]))
