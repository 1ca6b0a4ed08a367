from __future__ import annotations

import math

import pytest
import torch
from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
from gpytorch.kernels import ScaleKernel

from betabo import BetaKernel, BetaMaternKernel, beta_covariance, beta_matern_covariance


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


def test_every_prior_can_restart_its_parameter() -> None:
    for module in (beta_covariance(3), beta_matern_covariance(3)):
        for name, owner, _, closure, setting_closure in module.named_priors():
            assert setting_closure is not None, name
            before = closure(owner).clone()
            owner.sample_from_prior(name.rpartition(".")[-1])
            assert not torch.equal(closure(owner), before), name


def test_no_coordinates_is_refused() -> None:
    with pytest.raises(ValueError, match="ard_num_dims is 0, expected at least 1"):
        beta_covariance(0)
