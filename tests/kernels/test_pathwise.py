"""Features against the kernels that they stand for, and pathwise samples against the exact posterior."""

from __future__ import annotations

import math

import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.sampling.pathwise import draw_kernel_feature_paths, draw_matheron_paths
from botorch.sampling.pathwise.features.generators import gen_kernel_features
from gpytorch.kernels import RBFKernel, ScaleKernel

from betabo import (
    BetaKernel,
    BetaMaternKernel,
    MainEffectsKernel,
    beta_additive_covariance,
    beta_covariance,
    beta_matern_covariance,
)


@pytest.mark.parametrize(
    "kernel", [BetaKernel(ard_num_dims=3), BetaMaternKernel(1.5, 3), BetaMaternKernel(ard_num_dims=3)]
)
def test_features_approximate_the_kernel(kernel: BetaKernel | BetaMaternKernel) -> None:
    kernel = kernel.double()
    kernel.bandwidth = 0.4
    x = torch.rand(20, 3, dtype=torch.float64)
    features = gen_kernel_features(ScaleKernel(kernel).double(), num_inputs=3, num_outputs=4096)(x)
    exact = ScaleKernel(kernel).double()(x).to_dense()
    assert features.shape == (20, 4096)
    assert (features @ features.mT - exact).abs().max() < 0.06 * exact.max()


def test_features_select_active_dims_and_refuse_odd_numbers() -> None:
    kernel = BetaKernel(ard_num_dims=2, active_dims=(0, 3), boundary_weight=0.0).double()
    x = torch.rand(10, 5, dtype=torch.float64)
    features = gen_kernel_features(kernel, num_inputs=5, num_outputs=2048)(x)
    assert (features @ features.mT - kernel(x).to_dense()).abs().max() < 0.06
    with pytest.raises(ValueError, match="num_outputs is 7, expected an even number"):
        gen_kernel_features(kernel, num_inputs=5, num_outputs=7)


@pytest.mark.parametrize("bend", [0.0, 0.9])
@pytest.mark.parametrize(("dims", "count"), [(1, 256), (3, 1020), (3, 1023), (40, 4096)])
def test_features_approximate_main_effects(dims: int, count: int, bend: float) -> None:
    kernel = MainEffectsKernel(dims, bend=bend).double()
    kernel.lengthscale = torch.linspace(0.2, 1.5, dims, dtype=torch.float64)
    x = torch.rand(20, dims, dtype=torch.float64)
    feature_map = gen_kernel_features(kernel, num_inputs=dims, num_outputs=count)
    features = feature_map(x)
    assert features.shape == (20, feature_map.num_outputs)
    assert feature_map.num_outputs == 2 * dims * math.ceil(count / (2 * dims))
    torch.testing.assert_close(features.square().sum(-1), torch.ones(20, dtype=torch.float64))
    assert (features @ features.mT - kernel(x).to_dense()).abs().max() < 0.02


def test_features_of_main_effects_are_right_on_average() -> None:
    kernel = MainEffectsKernel(2).double()
    kernel.lengthscale = torch.tensor([0.1, 0.4], dtype=torch.float64)
    x = torch.rand(10, 2, dtype=torch.float64)
    grams = []
    for _ in range(2000):
        features = gen_kernel_features(kernel, num_inputs=2, num_outputs=8)(x)
        grams.append((features @ features.mT).detach())
    off_diagonal = ~torch.eye(10, dtype=torch.bool)
    spread, mean = torch.std_mean(torch.stack(grams)[:, off_diagonal], dim=0)
    errors = (mean - kernel(x).to_dense().detach()[off_diagonal]) / (spread / math.sqrt(2000))
    assert errors.abs().max() < 4.5


def test_features_of_batches_and_sums() -> None:
    shape = torch.Size([2])
    kernel = beta_additive_covariance(3, batch_shape=shape).double()
    main, rest = kernel.kernels
    main.base_kernel.lengthscale = torch.tensor([0.3, 1.2], dtype=torch.float64)[:, None, None].expand(2, 1, 3)
    main.outputscale, rest.outputscale = torch.tensor([[0.7, 2.0], [1.0, 0.2]], dtype=torch.float64)
    for x in (torch.rand(15, 3, dtype=torch.float64), torch.rand(2, 15, 3, dtype=torch.float64)):
        features = gen_kernel_features(kernel, num_inputs=3, num_outputs=4096)(x)
        exact = kernel(x).to_dense()
        assert features.shape == (2, 15, 4098 + 4096)
        assert (features @ features.mT - exact).abs().max() < 0.06 * exact.max()


def test_features_of_sums_with_other_kernels_of_some_coordinates() -> None:
    kernel = ScaleKernel(MainEffectsKernel(2, active_dims=(0, 3)) + ScaleKernel(RBFKernel(active_dims=(1, 2)))).double()
    kernel.outputscale = 1.7
    x = torch.rand(15, 4, dtype=torch.float64)
    features = gen_kernel_features(kernel, num_inputs=4, num_outputs=2048)(x)
    exact = kernel(x).to_dense()
    assert (features @ features.mT - exact).abs().max() < 0.06 * exact.max()


@pytest.mark.parametrize("make", [beta_covariance, beta_matern_covariance, beta_additive_covariance])
@pytest.mark.parametrize("dims", [1, 6])
def test_pathwise_samples_have_the_exact_posterior_mean_and_covariance(make: object, dims: int) -> None:
    kernel = make(dims)  # type: ignore[operator]
    for part in kernel.modules():
        if isinstance(part, BetaKernel | BetaMaternKernel):
            part.bandwidth = 0.5
    if dims == 1:
        train = torch.tensor([[0.0], [0.6], [1.0]], dtype=torch.float64)
    else:
        train = torch.rand(15, dims, dtype=torch.float64)
    model = SingleTaskGP(train, torch.sin(5 * train).sum(-1, keepdim=True), covar_module=kernel, outcome_transform=None)
    model.likelihood.noise = 0.01
    model.eval()
    test = torch.rand(7, dims, dtype=torch.float64)
    samples = 4000
    with torch.no_grad():
        paths = draw_matheron_paths(model, sample_shape=torch.Size([samples]))
        drawn = paths(test).reshape(samples, 7)
        posterior = model.posterior(test)
        exact = posterior.distribution.covariance_matrix
    scale = exact.diagonal().max()
    assert (drawn.mean(0) - posterior.mean.squeeze(-1)).abs().max() < 5 * (scale / samples).sqrt()
    assert (torch.cov(drawn.mT) - exact).abs().max() < 0.1 * scale


def test_prior_samples_of_a_sum_have_the_covariance_of_the_kernel() -> None:
    train = torch.rand(5, 4, dtype=torch.float64)
    kernel = beta_additive_covariance(4)
    model = SingleTaskGP(train, train.sum(-1, keepdim=True), covar_module=kernel, outcome_transform=None)
    test = torch.rand(6, 4, dtype=torch.float64)
    with torch.no_grad():
        drawn = draw_kernel_feature_paths(model, sample_shape=torch.Size([4000]))(test)
        exact = kernel(test).to_dense()
    assert drawn.shape == (4000, 6)
    assert (torch.cov(drawn.mT) - exact).abs().max() < 0.1 * exact.max()


def test_paths_refuse_a_bandwidth_without_an_embedding() -> None:
    kernel = BetaKernel(ard_num_dims=1).double()
    kernel.bandwidth = 2e-4
    with pytest.raises(ValueError, match=r"bandwidth 0\.0002 is too small for pathwise features"):
        gen_kernel_features(kernel, num_inputs=1, num_outputs=64)
