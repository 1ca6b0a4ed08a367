from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.special import gammaincc, gammaln, loggamma

from betabo import BetaKernel
from betabo.kernels.chebyshev import ellipse_parameter
from betabo.lab.analysis import bounds, operator_spectrum

BANDWIDTHS = (0.05, 0.3, 1.0, 4.0)


def correlation(x: np.ndarray, h: float) -> np.ndarray:
    def g(u: np.ndarray) -> np.ndarray:
        return gammaln(1 + u / h) + gammaln(1 + (2 - u) / h)

    own = g(2 * x) / 2
    return np.exp(g(np.add.outer(x, x)) - np.add.outer(own, own))


def spectrum(h: float, nodes: int = 60) -> np.ndarray:
    places, weights = np.polynomial.legendre.leggauss(nodes)
    root = np.sqrt(weights / 2)
    eigenvalues = np.linalg.eigvalsh(root[:, None] * correlation((1 + places) / 2, h) * root)[::-1]
    return eigenvalues[eigenvalues > 1e-12]


def test_rate_of_the_strip_against_mpmath() -> None:
    for h in (1e-3, 0.1, 1.0, 20.0):
        with mpmath.workdps(40):
            k = mpmath.tan(mpmath.pi / (4 * (1 + mpmath.mpf(h)))) ** 2
            exact = mpmath.pi / 2 * mpmath.ellipk(1 - k**2) / mpmath.ellipk(k**2)
        assert bounds.decay_rate(h) == pytest.approx(float(exact), rel=1e-12)


def test_rate_at_bandwidth_one_is_pi() -> None:
    assert bounds.decay_rate(1.0) == pytest.approx(math.pi, rel=1e-14)


def test_rate_exceeds_that_of_the_ellipse() -> None:
    for h in np.geomspace(1e-4, 1e3, 30):
        assert bounds.decay_rate(h) > 2 * math.log(ellipse_parameter(h))


@pytest.mark.parametrize("h", BANDWIDTHS)
def test_spectrum_lies_in_its_range(h: float) -> None:
    logs = np.log(spectrum(h))
    low, high = bounds.coordinate_spectrum_range(h, np.arange(logs.size))
    assert (low <= logs).all()
    assert (logs <= high).all()
    for decay in bounds.eigenvalue_decays(h)[::50]:
        assert (np.exp(logs) <= decay(np.arange(logs.size)) * (1 + 1e-9)).all()


@pytest.mark.parametrize("h", BANDWIDTHS)
def test_closed_form_bounds_the_tail_sums(h: float) -> None:
    values = spectrum(h)
    tails = np.cumsum(values[::-1])[::-1]
    assert (tails[1:] <= bounds.closed_eigenvalue_bound(h, np.arange(1, values.size))).all()


def test_range_of_the_spectrum_is_no_wider_than_claimed() -> None:
    """Both bounds have the same exponential rate, so their ratio grows like n alone."""
    low, high = bounds.coordinate_spectrum_range(1.0, np.array([10, 1000]))
    assert high[1] - low[1] == pytest.approx(high[0] - low[0] + math.log(2001 / 21))


@pytest.mark.parametrize("h", BANDWIDTHS)
@pytest.mark.parametrize("reach", [0.2, 0.9])
def test_ellipse_norm_bounds_the_mean_over_the_ellipse(h: float, reach: float) -> None:
    axis = 1 + h * reach
    theta = (np.arange(500) + 0.5) * (2 * math.pi / 500)
    z = (1 + axis * np.cos(theta) + 1j * math.sqrt(axis**2 - 1) * np.sin(theta)) / 2

    def g(u: np.ndarray) -> np.ndarray:
        return loggamma(1 + u / h) + loggamma(1 + (2 - u) / h)

    norms = np.exp((g(2 * z.real + 0j) - g(2 * z)).real)
    assert norms.mean() <= math.exp(bounds.log_ellipse_norm(h, reach))


def test_every_reach_gives_a_decay_of_its_own() -> None:
    strip, *ellipses = bounds.residual_decays(0.5)
    assert strip.rate == bounds.decay_rate(0.5)
    rates = [decay.rate for decay in ellipses]
    assert rates == sorted(rates)
    assert rates[-1] < 2 * math.log(ellipse_parameter(0.5))
    assert rates[-1] == pytest.approx(2 * math.log(ellipse_parameter(0.5)), rel=1e-4)


def test_least_ellipse_bound_is_below_its_closed_form() -> None:
    n = np.arange(1, 60)
    for h in (0.01, 0.3, 3.0):
        least = np.min([np.exp(d.log_constant - d.rate * n) for d in bounds.residual_decays(h)[1:]], axis=0)
        assert (least <= bounds.closed_residual_bound(h, n)).all()


def test_strip_constant_by_hand() -> None:
    k = math.tan(math.pi / 8) ** 2
    period = float(mpmath.ellipk(k**2))
    exact = 16 * math.pi / ((1 - k) * period * (1 - math.exp(-math.pi)))
    assert bounds.residual_decays(1.0)[0].log_constant == pytest.approx(math.log(exact), rel=1e-12)


def test_metric_is_the_second_derivative() -> None:
    h = 0.4

    def g(u: mpmath.mpf) -> mpmath.mpf:
        return mpmath.loggamma(1 + u / h) + mpmath.loggamma(1 + (2 - u) / h)

    low, high = bounds.metric_range(h)
    assert low == pytest.approx(float(mpmath.diff(g, 1, 2)), rel=1e-8)
    assert high == pytest.approx(float(mpmath.diff(g, 0, 2)), rel=1e-8)


def test_jensen_shannon_against_scipy() -> None:
    from scipy.spatial.distance import jensenshannon

    for x, y in ((0.0, 1.0), (0.1, 0.7), (0.5, 0.5)):
        divergence = jensenshannon([x, 1 - x], [y, 1 - y]) ** 2
        assert bounds.jensen_shannon(x, y) == pytest.approx(divergence, abs=1e-12)


def test_largest_variance_is_that_at_a_vertex() -> None:
    import torch

    kernel = BetaKernel(ard_num_dims=2, boundary_weight=0.7).double()
    kernel.bandwidth = [0.2, 1.5]
    vertex = kernel(torch.zeros(1, 2, dtype=torch.float64)).to_dense().item()
    assert bounds.log_largest_variance([0.2, 1.5], 0.7) == pytest.approx(math.log(vertex), rel=1e-10)


def test_bound_in_several_dimensions_by_hand() -> None:
    strip = bounds.eigenvalue_decays(1.0)[0]
    rank = 5001
    c = math.sqrt(2) * strip.rate
    exact = 2 * (strip.rate + strip.log_constant) - c * math.sqrt(rank - 1)
    assert bounds.log_eigenvalue_bound([1.0, 1.0], rank).item() == pytest.approx(exact)
    assert bounds.decay_constant([1.0, 1.0]) == pytest.approx(math.sqrt(2) * math.pi)


def test_boundary_weight_shifts_the_eigenvalue_bound() -> None:
    shift = bounds.log_eigenvalue_bound([0.3], 40, 1.0) - bounds.log_eigenvalue_bound([0.3], 40)
    assert shift.item() == pytest.approx(bounds.log_largest_variance(0.3, 1.0))


def test_paper_form_stays_below_its_bound() -> None:
    kernel = BetaKernel(boundary_weight=1.0).double()
    kernel.bandwidth = 0.3
    values = operator_spectrum(kernel, 80)
    assert (np.log(values) <= bounds.log_eigenvalue_bound([0.3], np.arange(1, values.size + 1), 1.0)).all()


def test_residual_bound_is_a_gamma_tail() -> None:
    strip = bounds.residual_decays(2.0)[0]
    y = math.sqrt(2 * strip.rate**2 * 900) - 2 * (strip.rate + strip.log_constant)
    assert bounds.residual_bound([2.0, 2.0], 900).item() == pytest.approx(float(gammaincc(2, y)), rel=1e-9)
    assert bounds.residual_bound([2.0, 2.0], 0).item() == 1.0


def test_series_in_one_dimension_term_by_term() -> None:
    strip = bounds.residual_decays(2.0)[0]
    terms = [math.log1p(1e4 * min(1.0, math.exp(strip.log_constant - strip.rate * n))) for n in range(60)]
    assert bounds.information_gain_series(2.0, 100, 0.01) == pytest.approx(sum(terms) / 2, abs=1e-3)


def test_closed_form_of_the_gain_by_hand() -> None:
    strip = bounds.residual_decays(2.0)[0]
    length = math.log(1e4) + 2 * (strip.rate + strip.log_constant)
    exact = (length**3 / 3 + (length + 2) ** 2) / (4 * strip.rate**2)
    assert bounds.information_gain_bound([2.0, 2.0], 100, 0.01) <= exact * (1 + 1e-12)


@pytest.mark.parametrize("h", [0.1, 1.0])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_information_of_any_design_is_below_both_bounds(h: float, weight: float) -> None:
    import torch

    kernel = BetaKernel(ard_num_dims=2, boundary_weight=weight).double()
    kernel.bandwidth = h
    x = torch.rand(40, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        matrix = kernel(x).to_dense().numpy()
    information = 0.5 * np.linalg.slogdet(np.eye(40) + matrix / 0.1)[1]
    series = bounds.information_gain_series([h, h], 40, 0.1, weight)
    assert information <= series <= bounds.information_gain_bound([h, h], 40, 0.1, weight)


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_gain_is_never_more_than_that_of_independent_points(weight: float) -> None:
    variance = math.exp(bounds.log_largest_variance([0.5] * 20, weight))
    independent = 150 * math.log1p(variance / 0.01)
    assert bounds.information_gain_bound([0.5] * 20, 300, 0.01, weight) == pytest.approx(independent)
    assert bounds.information_gain_series([0.1, 0.1], 1, 0.01) == pytest.approx(0.5 * math.log1p(100))
    assert bounds.information_gain_bound([1.0], 300, 0.01) < 0.5 * 150 * math.log1p(100)


def test_gain_grows_like_a_power_of_the_logarithm() -> None:
    for dims in (1, 2, 3):
        evaluations = 10**20000
        ratio = bounds.information_gain_bound([1.0] * dims, evaluations, 0.01) / math.log(evaluations) ** (dims + 1)
        assert ratio == pytest.approx(1 / (2 * math.factorial(dims + 1) * math.pi**dims), rel=0.01)


def test_noise_beyond_the_signal_gives_little_information() -> None:
    assert bounds.information_gain_series(1.0, 1, 1e6) < 1e-5


def test_derivatives_of_the_kernel_stay_below_their_deviation() -> None:
    h, step = 0.5, 1e-4
    x = np.linspace(step, 1 - step, 50)
    slopes = [(correlation(np.array([a - step, a + step]), h) * [[1, -1], [-1, 1]]).sum() for a in x]
    log_a, b = bounds.derivative_tail(h)
    assert max(slopes) / (2 * step) ** 2 <= (b / 2) ** 2 * (1 + 1e-6)
    assert log_a > 0


def test_regret_bounds_are_sublinear() -> None:
    for bound in (bounds.bayesian_regret_bound, bounds.rkhs_regret_bound):
        rates = [bound([1.0, 1.0], 10**k, 0.01) / 10**k for k in (4, 8, 12)]
        assert rates[0] > 30 * rates[1] > 900 * rates[2] > 0


def test_exploration_weight_grows_with_time_and_certainty() -> None:
    assert bounds.exploration_weight(1.0, 100) > bounds.exploration_weight(1.0, 10)
    assert bounds.exploration_weight(1.0, 10, failure=0.01) > bounds.exploration_weight(1.0, 10, failure=0.1)


def test_matmul_bound_against_the_tail_of_one_logarithm() -> None:
    """For a large bandwidth one singularity remains on either side, which can be summed directly."""
    h, degree = 1e4, 6
    zeta = [z + math.sqrt(z * z - 1) for z in (1 + 2 * h, 3 + 2 * h)]
    first = sum(16 / degree * value**-degree / (1 - 1 / value) for value in zeta)
    assert first < bounds.matmul_error_bound(degree, h) < 1.03 * first


@pytest.mark.parametrize(
    "call", [bounds.decay_rate, bounds.metric_range, bounds.residual_decays, bounds.decay_constant]
)
@pytest.mark.parametrize("h", [0.0, -1.0, math.nan, math.inf])
def test_bad_bandwidths_are_refused(call: object, h: float) -> None:
    with pytest.raises(ValueError, match="bandwidth is"):
        call(h)  # type: ignore[operator]


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="noise is 0"):
        bounds.information_gain_bound(1.0, 10, 0.0)
    with pytest.raises(ValueError, match="evaluations is 0"):
        bounds.information_gain_series(1.0, 0, 0.1)
    with pytest.raises(ValueError, match="failure is 1"):
        bounds.exploration_weight(1.0, 10, failure=1.0)
    with pytest.raises(ValueError, match="failure is 0"):
        bounds.rkhs_regret_bound(1.0, 10, 0.1, failure=0.0)
    with pytest.raises(ValueError, match="degree is 2"):
        bounds.matmul_error_bound(2, 1.0)
