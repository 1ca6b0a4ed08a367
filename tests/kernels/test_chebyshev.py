from __future__ import annotations

from functools import partial

import mpmath as mp
import numpy as np
import pytest
import torch
from numpy.polynomial import chebyshev

import oracles
from betabo.kernels.chebyshev import (
    DEGREES,
    chebyshev_embedding,
    chebyshev_features,
    chebyshev_matrix,
    chebyshev_matrix_with_slope,
    chebyshev_slopes,
    choose_degrees,
    ellipse_parameter,
    error_bound,
    smallest_degree,
)

GRID = [0.0, 0.01, 0.2, 0.5, 0.77, 0.99, 1.0]


def tensor(values: object) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_features_are_centred_chebyshev_polynomials() -> None:
    x = torch.rand(7, 3, dtype=torch.float64)
    vandermonde = chebyshev.chebvander(2 * x.numpy() - 1, 40)[..., 1:]
    centre = chebyshev.chebvander(np.zeros(1), 40)[0, 1:]
    features = chebyshev_features(x, 41)
    np.testing.assert_allclose(features.numpy(), vandermonde - centre, atol=1e-12)


def test_slopes_are_the_derivatives_of_the_features() -> None:
    x = torch.rand(5, dtype=torch.float64, requires_grad=True)
    features = chebyshev_features(x.unsqueeze(-1), 24).squeeze(-2)
    by_autograd = torch.stack([torch.autograd.grad(f.sum(), x, retain_graph=True)[0] for f in features.T], dim=-1)
    found = chebyshev_slopes(features.detach().unsqueeze(-2)).squeeze(-2)
    torch.testing.assert_close(found, by_autograd, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("h", [0.01, 0.05, 0.2, 0.5, 1.0, 3.0, 30.0, 1e3])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-10])
def test_error_stays_below_the_bound(h: float, tolerance: float) -> None:
    degrees = choose_degrees(tensor([h]), tensor([1.0]), tolerance)
    assert degrees is not None
    (degree,) = degrees
    bound = float(error_bound(degree, h))
    assert bound <= tolerance
    features = chebyshev_features(tensor(GRID).unsqueeze(-1), degree).squeeze(-2)
    matrix = chebyshev_matrix(tensor(h), degree)
    for i, x in enumerate(GRID):
        for j, y in enumerate(GRID):
            difference = features[i] - features[j]
            error = float(abs(mp.mpf((difference @ matrix @ difference).item()) - oracles.sq_distance(x, y, h)))
            assert error <= bound


def test_degrees_fall_with_the_bandwidth_and_a_tiny_one_is_refused() -> None:
    degrees = choose_degrees(tensor([0.02, 0.2, 2.0, 200.0]), torch.ones(4, dtype=torch.float64), 1e-9)
    assert degrees is not None
    assert degrees == sorted(degrees, reverse=True)
    assert degrees[0] > 2 * degrees[-1]
    assert choose_degrees(tensor([1e-3]), tensor([1.0]), 1e-9) is None


def test_degrees_serve_the_whole_batch() -> None:
    batch = tensor([[0.1, 5.0], [2.0, 0.3]])
    assert choose_degrees(batch, torch.ones(1, 2, dtype=torch.float64), 1e-9) == choose_degrees(
        tensor([0.1, 0.3]), tensor([1.0, 1.0]), 1e-9
    )


def test_the_ellipse_has_the_stated_axes() -> None:
    axes = ellipse_parameter(np.array([1e-12, 0.5, 40.0]))
    for distance, found in zip((1e-12, 0.5, 40.0), axes, strict=True):
        long = 1 + mp.mpf(distance)
        assert found == pytest.approx(float(long + mp.sqrt(long**2 - 1)), rel=1e-15)


@pytest.mark.parametrize("h", [0.02, 0.5, 20.0])
def test_embedding_makes_the_beta_distance_euclidean(h: float) -> None:
    degrees = choose_degrees(tensor([h]), tensor([1.0]), 1e-9)
    assert degrees is not None
    features = chebyshev_features(tensor(GRID).unsqueeze(-1), degrees[0]).squeeze(-2)
    points = features @ chebyshev_embedding(tensor(h), degrees[0])
    assert points.shape[-1] < degrees[0]
    for i, x in enumerate(GRID):
        for j, y in enumerate(GRID):
            squared = (points[i] - points[j]).square().sum().item()
            assert squared == pytest.approx(float(oracles.sq_distance(x, y, h)), abs=1e-8)


def _at_log_bandwidth(x: float, y: float, u: mp.mpf) -> mp.mpf:
    return oracles.sq_distance(x, y, mp.exp(u))


@pytest.mark.parametrize("h", [0.02, 0.3, 1.0, 40.0, 1e4])
def test_matrix_and_its_slope_give_the_distance_and_its_derivative(h: float) -> None:
    degree = smallest_degree(h, 1e-9)
    assert degree is not None
    matrix, slope = chebyshev_matrix_with_slope(h, degree)
    features = chebyshev_features(tensor(GRID).unsqueeze(-1), degree).squeeze(-2).numpy()
    scale = float(oracles.sq_distance(0.0, 1.0, h))
    for i, x in enumerate(GRID):
        for j, y in enumerate(GRID):
            difference = features[i] - features[j]
            assert difference @ matrix @ difference == pytest.approx(
                float(oracles.sq_distance(x, y, h)), rel=1e-8, abs=1e-8 * scale
            )
            by_log = float(mp.diff(partial(_at_log_bandwidth, x, y), mp.log(h)))
            assert difference @ slope @ difference == pytest.approx(by_log, rel=1e-6, abs=1e-7 * scale)


def test_the_smallest_degree_is_enough_and_the_one_below_is_not() -> None:
    for h in (0.05, 0.7, 3.0):
        degree = smallest_degree(h, 1e-8)
        assert degree is not None
        assert error_bound(degree, h) <= 1e-8
        place = DEGREES.tolist().index(degree)
        assert place > 0
        assert error_bound(DEGREES[place - 1], h) > 1e-8
    assert smallest_degree(1e-4, 1e-9) is None
