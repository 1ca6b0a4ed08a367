r"""Kernels paired with the priors that suit Bayesian optimization in `d` dimensions.

The length scales get BoTorch's dimension-scaled prior, log-normal with a median that grows like :math:`\sqrt d`
(Hvarfner et al., ICML 2024): the functions that the prior expects then do not become more complex with the dimension.
The Beta kernel has bandwidths instead; the same prior is put on the length scale that each has at the centre.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import AdditiveKernel, Kernel, ScaleKernel
from gpytorch.priors import LogNormalPrior
from torch import Size

from betabo.kernels.beta import BetaKernel
from betabo.kernels.beta_matern import BetaMaternKernel
from betabo.kernels.box import BoundaryWeight
from betabo.kernels.closed_form import SumForm, declares
from betabo.kernels.effects import MainEffectsKernel
from betabo.kernels.projected import ProjectedKernel, cosine_modes
from betabo.kernels.special import bandwidth_of_lengthscale

SHORTEST_LENGTHSCALE = 0.025
"""Lower bound of the length scales, for numerical stability; BoTorch's value."""

_WAVES = 5  # of each profile
_SMALLEST_BANDWIDTH = 0.05  # of the Beta-Matern geometry, which is close to its limit for small bandwidths there


def beta_covariance(
    ard_num_dims: int,
    boundary_weight: BoundaryWeight = "learned",
    batch_shape: Size | None = None,
    **kwargs: Any,
) -> ScaleKernel:
    """A `BetaKernel` with dimension-scaled priors and an output scale.

    Args:
        ard_num_dims: Number of coordinates `d`.
        boundary_weight: A number in [0, 1], or `"learned"`.
        batch_shape: Batch shape of all parameters.
        kwargs: Passed on to `BetaKernel`.

    Returns:
        The kernel in a `ScaleKernel`, ready for standardized outputs.
    """
    prior = dimension_scaled_prior(ard_num_dims)
    shortest, typical = bandwidth_of_lengthscale(torch.tensor([SHORTEST_LENGTHSCALE, float(prior.mode)])).tolist()
    kernel = BetaKernel(
        ard_num_dims=ard_num_dims,
        boundary_weight=boundary_weight,
        batch_shape=batch_shape,
        central_lengthscale_prior=prior,
        bandwidth_constraint=GreaterThan(shortest, transform=None, initial_value=typical),
        **kwargs,
    )
    return with_output_scale(kernel)


def beta_matern_covariance(
    ard_num_dims: int,
    nu: float = 2.5,
    boundary_weight: BoundaryWeight = 0.0,
    batch_shape: Size | None = None,
    **kwargs: Any,
) -> ScaleKernel:
    """A `BetaMaternKernel` with dimension-scaled priors and an output scale.

    The shared bandwidth gets a log-normal prior with median 1, where the geometry is mildly bent.

    Args:
        ard_num_dims: Number of coordinates `d`.
        nu: Roughness: 0.5, 1.5, 2.5 or `math.inf`.
        boundary_weight: A number in [0, 1], or `"learned"`.
        batch_shape: Batch shape of all parameters.
        kwargs: Passed on to `BetaMaternKernel`.

    Returns:
        The kernel in a `ScaleKernel`, ready for standardized outputs.
    """
    prior = dimension_scaled_prior(ard_num_dims)
    kernel = BetaMaternKernel(
        nu=nu,
        ard_num_dims=ard_num_dims,
        boundary_weight=boundary_weight,
        batch_shape=batch_shape,
        lengthscale_prior=prior,
        lengthscale_constraint=GreaterThan(SHORTEST_LENGTHSCALE, transform=None, initial_value=prior.mode),
        bandwidth_prior=LogNormalPrior(0.0, 1.0),
        bandwidth_constraint=GreaterThan(_SMALLEST_BANDWIDTH, transform=None, initial_value=1.0),
        **kwargs,
    )
    return with_output_scale(kernel)


def beta_additive_covariance(
    ard_num_dims: int,
    nu: float = 2.5,
    bend: float = 0.9,
    batch_shape: Size | None = None,
) -> SumKernel:
    """Main effects and a `BetaMaternKernel` of all coordinates, each with priors and an output scale.

    Args:
        ard_num_dims: Number of coordinates `d`.
        nu: Roughness of the kernel of all coordinates: 0.5, 1.5, 2.5 or `math.inf`.
        bend: How strongly the main effects are stretched towards the faces, see `MainEffectsKernel`.
        batch_shape: Batch shape of all parameters.

    Returns:
        The sum of the two, ready for standardized outputs.
    """
    whole = beta_matern_covariance(ard_num_dims, nu=nu, batch_shape=batch_shape)
    effects = MainEffectsKernel(
        ard_num_dims,
        bend=bend,
        batch_shape=whole.batch_shape,
        lengthscale_prior=dimension_scaled_prior(1),
        lengthscale_constraint=GreaterThan(SHORTEST_LENGTHSCALE, transform=None, initial_value=1.0),
    )
    main = ScaleKernel(
        effects,
        batch_shape=effects.batch_shape,
        outputscale_prior=LogNormalPrior(0.0, 1.5),
        outputscale_constraint=GreaterThan(1e-4, transform=None, initial_value=0.5),
    )
    return SumKernel(main, whole)


def profile_covariance(ard_num_dims: int, profiles: Sequence[Sequence[int]]) -> SumKernel:
    """The kernel of `beta_additive_covariance`, and a smooth part along profiles, where neighbours act alike.

    Args:
        ard_num_dims: Number of coordinates `d`.
        profiles: The numbers of the coordinates of each profile, in their order.

    Returns:
        The sum, ready for standardized outputs.
    """
    matrix = cosine_modes(ard_num_dims, profiles, _WAVES)
    waves = ProjectedKernel(
        matrix,
        lengthscale_prior=dimension_scaled_prior(len(matrix)),
        lengthscale_constraint=GreaterThan(SHORTEST_LENGTHSCALE, transform=None, initial_value=1.0),
    )
    smooth = ScaleKernel(
        waves,
        outputscale_prior=LogNormalPrior(0.0, 1.5),
        outputscale_constraint=GreaterThan(1e-4, transform=None, initial_value=0.5),
    )
    return SumKernel(*beta_additive_covariance(ard_num_dims).kernels, smooth)


class SumKernel(AdditiveKernel):  # type: ignore[misc]
    """A sum of kernels that can be expanded to a batch.

    `AdditiveKernel.expand_batch` of GPyTorch 1.15 leaves the summands as they are, and their sum cannot be indexed.

    Args:
        kernels: The summands.
    """

    def expand_batch(self, *sizes: Any) -> SumKernel:
        """The same sum with the parameters of all summands expanded to a larger batch shape."""
        return SumKernel(*(kernel.expand_batch(*sizes) for kernel in self.kernels))


declares(SumKernel)(SumForm)


def dimension_scaled_prior(dims: int) -> LogNormalPrior:
    """BoTorch's prior of the length scales of a kernel of `dims` coordinates."""
    if dims < 1:
        raise ValueError(f"ard_num_dims is {dims}, expected at least 1.")
    return LogNormalPrior(loc=math.sqrt(2) + math.log(dims) / 2, scale=math.sqrt(3))


def with_output_scale(kernel: Kernel) -> ScaleKernel:
    """The kernel in a `ScaleKernel`, whose scale has the prior that suits standardized outputs."""
    return ScaleKernel(
        kernel,
        batch_shape=kernel.batch_shape,
        outputscale_prior=LogNormalPrior(0.0, 1.0),
        outputscale_constraint=GreaterThan(1e-4, transform=None, initial_value=1.0),
    )
