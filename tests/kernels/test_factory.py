from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
from gpytorch.kernels import AdditiveKernel, Kernel, ScaleKernel
from scipy.stats import lognorm

from betabo import (
    BetaKernel,
    BetaMaternKernel,
    MainEffectsKernel,
    beta_additive_covariance,
    beta_covariance,
    beta_matern_covariance,
)


@pytest.mark.parametrize("dims", [1, 6, 60])
def test_lengthscales_have_botorchs_dimension_scaled_prior(dims: int) -> None:
    reference = get_covar_module_with_dim_scaled_prior(ard_num_dims=dims)
    for module, name in ((beta_covariance(dims), "central_lengthscale"), (beta_matern_covariance(dims), "lengthscale")):
        kernel = module.base_kernel
        prior = getattr(kernel, f"{name}_prior")
        values = torch.tensor([0.05, 0.5, 5.0])
        torch.testing.assert_close(prior.log_prob(values), reference.lengthscale_prior.log_prob(values))
        torch.testing.assert_close(getattr(kernel, name), reference.lengthscale, rtol=1e-5, atol=0)


def test_shortest_lengthscale_is_botorchs() -> None:
    kernel = beta_covariance(3).base_kernel
    kernel.bandwidth = kernel.raw_bandwidth_constraint.lower_bound
    assert kernel.central_lengthscale[0].tolist() == pytest.approx([0.025] * 3, rel=1e-5)


def test_pieces_and_arguments() -> None:
    module = beta_covariance(4, boundary_weight=1.0, batch_shape=torch.Size([2]), method="lgamma")
    assert isinstance(module, ScaleKernel)
    assert isinstance(module.base_kernel, BetaKernel)
    assert module.batch_shape == (2,)
    assert module.base_kernel.method == "lgamma"
    assert not module.base_kernel.learns_boundary_weight
    matern = beta_matern_covariance(4, nu=math.inf, boundary_weight="learned")
    assert isinstance(matern.base_kernel, BetaMaternKernel)
    assert matern.base_kernel.nu == math.inf
    assert matern.base_kernel.learns_boundary_weight


@pytest.mark.parametrize("dims", [1, 6, 60])
def test_main_effects_have_botorchs_prior_of_one_dimension(dims: int) -> None:
    main, _ = beta_additive_covariance(dims).kernels
    values = torch.tensor([0.05, 0.5, 5.0])
    reference = get_covar_module_with_dim_scaled_prior(ard_num_dims=1)
    found = main.base_kernel.lengthscale_prior.log_prob(values)
    torch.testing.assert_close(found, reference.lengthscale_prior.log_prob(values))
    expected = lognorm(s=1.5).logpdf(values.numpy())  # median 1
    assert main.outputscale_prior.log_prob(values).tolist() == pytest.approx(expected.tolist(), rel=1e-5)


@pytest.mark.parametrize("dims", [1, 6, 60])
def test_main_effects_start_with_half_the_variance_of_the_rest(dims: int) -> None:
    module = beta_additive_covariance(dims).double()
    main, rest = module.kernels
    assert (main.outputscale.item(), rest.outputscale.item()) == (0.5, 1.0)
    assert main.base_kernel.lengthscale.tolist() == [[1.0] * dims]
    x = torch.rand(5, dims, dtype=torch.float64)
    torch.testing.assert_close(module(x, diag=True), torch.full((5,), 1.5, dtype=torch.float64))


@pytest.mark.parametrize("dims", [1, 6])
def test_the_rest_beside_the_main_effects_is_the_beta_matern_covariance(dims: int) -> None:
    _, rest = beta_additive_covariance(dims, nu=1.5).kernels
    alone = beta_matern_covariance(dims, nu=1.5)
    assert list(rest.state_dict()) == list(alone.state_dict())
    assert [name for name, *_ in rest.named_priors()] == [name for name, *_ in alone.named_priors()]
    x = torch.rand(5, dims)
    assert torch.equal(rest(x).to_dense(), alone(x).to_dense())


def test_pieces_and_arguments_of_the_sum() -> None:
    module = beta_additive_covariance(4, nu=math.inf, bend=0.3, batch_shape=torch.Size([2]))
    main, rest = module.kernels
    assert isinstance(module, AdditiveKernel)
    assert isinstance(main.base_kernel, MainEffectsKernel)
    assert isinstance(rest.base_kernel, BetaMaternKernel)
    assert main.base_kernel.bend == 0.3
    assert rest.base_kernel.nu == math.inf
    assert module.batch_shape == main.batch_shape == main.base_kernel.batch_shape == rest.batch_shape == (2,)
    assert main.base_kernel.lengthscale.shape == (2, 1, 4)
    for piece in (main.base_kernel, rest.base_kernel):
        assert piece.raw_lengthscale_constraint.lower_bound.item() == pytest.approx(0.025)


def test_the_sum_is_that_of_its_pieces() -> None:
    module = beta_additive_covariance(3).double()
    x, y = torch.rand(2, 6, 3, dtype=torch.float64)
    expected = sum(piece.outputscale * piece.base_kernel(x, y).to_dense() for piece in module.kernels)
    torch.testing.assert_close(module(x, y).to_dense(), expected)


def test_the_sum_can_be_expanded_to_a_batch_and_indexed() -> None:
    single = beta_additive_covariance(3).double()
    expanded = single.expand_batch(torch.Size([2]))
    assert expanded.batch_shape == (2,)
    assert single.batch_shape == ()
    assert [name for name, _ in expanded.named_parameters()] == [name for name, _ in single.named_parameters()]
    assert all(parameter.shape[0] == 2 for parameter in expanded.parameters())
    x = torch.rand(2, 6, 3, dtype=torch.float64)
    torch.testing.assert_close(expanded(x).to_dense(), single(x).to_dense())
    assert expanded[1].batch_shape == ()
    torch.testing.assert_close(expanded[1](x[1]).to_dense(), single(x[1]).to_dense())


def test_every_prior_can_restart_its_parameter() -> None:
    for module in (beta_covariance(3), beta_matern_covariance(3), beta_additive_covariance(3)):
        for name, owner, _, closure, setting_closure in module.named_priors():
            assert setting_closure is not None, name
            before = closure(owner).clone()
            owner.sample_from_prior(name.rpartition(".")[-1])
            assert not torch.equal(closure(owner), before), name


@pytest.mark.parametrize("make", [beta_covariance, beta_matern_covariance, beta_additive_covariance])
@pytest.mark.parametrize("dims", [0, -1])
def test_no_coordinates_is_refused(make: Callable[[int], Kernel], dims: int) -> None:
    with pytest.raises(ValueError, match=f"ard_num_dims is {dims}, expected at least 1"):
        make(dims)
