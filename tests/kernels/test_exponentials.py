"""The rule against mpmath: the error bound, values and first derivatives; second derivatives against differences."""

from __future__ import annotations

from itertools import combinations

import mpmath as mp
import numpy as np
import pytest
import torch
from torch import Tensor

import oracles
from betabo.kernels.exponentials import (
    ExponentialRule,
    choose_rule,
    error_bound,
    exponential_features,
    exponential_form,
    exponential_rule,
    features_with_slopes,
    slopes_by_point,
)

BANDWIDTHS = [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0]
COORDINATES = [0.0, 1e-12, 1e-6, 1e-4, 1e-3, 0.05, 0.3, 0.3 + 1e-9, 0.5, 0.5 + 1e-5, 0.97, 1 - 1e-7, 1.0]


def column(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64).unsqueeze(-1)


def one(value: float) -> Tensor:
    return torch.full((1, 1), value, dtype=torch.float64)


def distances(x: Tensor, h: Tensor, rule: ExponentialRule) -> Tensor:
    return exponential_form(x, x, h, torch.ones_like(h), rule)


@pytest.mark.parametrize("h", BANDWIDTHS)
@pytest.mark.parametrize("step", [0.44, 0.36, 0.28])
def test_the_error_is_within_its_bound_and_the_bound_is_not_idle(h: float, step: float) -> None:
    exact = torch.tensor(
        [[float(oracles.sq_distance(x, y, h)) for y in COORDINATES] for x in COORDINATES], dtype=torch.float64
    )
    error = float((distances(column(COORDINATES), one(h), exponential_rule(step, h)) - exact).abs().max())
    bound = float(error_bound(step, h))
    assert error <= bound
    if h <= 1e-3:
        assert error >= bound / 50


@pytest.mark.parametrize("smallest", [1e-4, 1e-2])
def test_a_rule_serves_all_larger_bandwidths(smallest: float) -> None:
    rule = exponential_rule(0.3, smallest)
    for h in (smallest, 3 * smallest, 0.3, 5.0, 100.0):
        for x, y in combinations([0.0, 1e-3, 0.4, 1.0], 2):
            found = distances(column([x, y]), one(h), rule)[0, 1].item()
            assert abs(found - float(oracles.sq_distance(x, y, h))) <= float(error_bound(0.3, h))


@pytest.mark.parametrize("h", BANDWIDTHS)
def test_differences_of_features_keep_their_digits_where_points_are_close(h: float) -> None:
    rule = exponential_rule(0.26, h)
    for x, y in ((0.0, 1e-5), (0.3, 0.3 + 1e-5), (1 - 1e-5, 1.0)):
        first, second = exponential_features(column([x, y]), one(h), rule)
        exact = float(oracles.sq_distance(x, y, h))
        assert (first - second).square().sum().item() == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("h", BANDWIDTHS)
def test_first_derivatives_agree_with_mpmath(h: float) -> None:
    def exact(x: float, y: float) -> tuple[float, float]:
        by_point = mp.diff(lambda s: oracles.sq_distance(s, y, h), x, h=mp.mpf(10) ** -20)
        by_bandwidth = mp.diff(lambda s: oracles.sq_distance(x, y, s), h, h=mp.mpf(10) ** -20)
        return float(by_point), float(by_bandwidth)

    rule = exponential_rule(0.28, h)
    for x, y in combinations([1e-12, 1e-6, 1e-3, 0.3, 0.3 + 1e-5, 0.97, 1 - 1e-7], 2):
        first, second, bandwidth = (one(t).requires_grad_() for t in (x, y, h))
        value = exponential_form(first, second, bandwidth, torch.ones_like(bandwidth), rule)
        found = torch.autograd.grad(value.sum(), [first, bandwidth])
        scale = (1 / h, 1 / h**2)
        for derivative, expected, unit in zip(found, exact(x, y), scale, strict=True):
            assert derivative.item() == pytest.approx(expected, rel=1e-9, abs=1e-11 * unit), (x, y)


def test_second_derivatives() -> None:
    rule = exponential_rule(0.3, 0.03)
    x = torch.rand(3, 2, dtype=torch.float64, requires_grad=True)
    y = torch.rand(2, 2, dtype=torch.float64, requires_grad=True)
    h = torch.tensor([[0.05, 0.4]], dtype=torch.float64, requires_grad=True)
    w = torch.tensor([[0.7, 1.3]], dtype=torch.float64, requires_grad=True)

    def form(x: Tensor, y: Tensor, h: Tensor, w: Tensor) -> Tensor:
        return exponential_form(x, y, h, w, rule)

    assert torch.autograd.gradcheck(form, (x, y, h, w))
    assert torch.autograd.gradgradcheck(form, (x, y, h, w))


@pytest.mark.parametrize("h", BANDWIDTHS)
def test_slopes_are_the_derivatives_of_the_features(h: float) -> None:
    rule = exponential_rule(0.3, h)
    x = column(COORDINATES).requires_grad_()
    log_bandwidth = torch.full((len(COORDINATES), 1), h, dtype=torch.float64).log().requires_grad_()
    features = exponential_features(x, log_bandwidth.exp(), rule)
    mix = torch.sin(torch.arange(features.numel(), dtype=torch.float64)).view_as(features)
    by_point, by_log_bandwidth = torch.autograd.grad((mix * features).sum(), [x, log_bandwidth])
    same, by_bandwidth = features_with_slopes(x, log_bandwidth.exp(), rule)
    assert torch.equal(same, features.detach())
    for found, expected in (
        (slopes_by_point(x, log_bandwidth.exp(), rule), by_point),
        (by_bandwidth, by_log_bandwidth),
    ):
        torch.testing.assert_close((mix * found).sum(dim=-1), expected, rtol=1e-10, atol=1e-12 / h)


def test_the_number_of_features_grows_with_the_logarithm_of_the_bandwidth_only() -> None:
    ones = torch.ones(20, dtype=torch.float64)
    counts = []
    for h in (1e-1, 1e-2, 1e-3, 1e-4):
        rule = choose_rule(h * ones, ones, 1e-9)
        assert rule is not None
        counts.append(rule.count)
    assert counts == sorted(counts)
    assert counts[-1] <= 110


def test_no_rule_where_rounding_alone_is_more_than_the_tolerance() -> None:
    one = torch.ones(1, dtype=torch.float64)
    assert choose_rule(1e-9 * one, one, 1e-9) is None
    assert choose_rule(1e-3 * one, one, 1e-9) is not None


def test_weights_count_in_the_choice() -> None:
    h, w = torch.full((2,), 1e-2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    light, heavy = choose_rule(h, w, 1e-9), choose_rule(h, 100 * w, 1e-9)
    assert light is not None
    assert heavy is not None
    assert heavy.count > light.count


def test_few_rules_serve_all_bandwidths() -> None:
    ones = torch.ones(1, dtype=torch.float64)
    rules = {id(choose_rule(h * ones, ones, 1e-9)) for h in np.geomspace(1e-4, 1e-1, 300)}
    assert len(rules) < 30
