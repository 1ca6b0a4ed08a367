r"""The kernels by name, each with priors and an output scale that suit standardized outputs.

Whatever plays the part of a length scale gets BoTorch's dimension-scaled prior and lower bound, and whatever is the
prior variance gets a log-normal prior with median 1 (see `betabo.kernels.factory`), so that comparisons between the
kernels are not comparisons between priors:

* An additive kernel is a sum of functions of at most `max_degree` coordinates: the prior of its length scales is that
  of so many dimensions. The radius of the cylindrical kernel is one coordinate.
* In the spectral mixture kernel, a component with standard deviation :math:`\sigma` of the frequency has the length
  scale :math:`1/(2\pi\sigma)`, and the frequencies have an exponential prior with mean :math:`1/\sqrt d`. GPyTorch
  multiplies over the coordinates mixtures that share their weights, so the prior variance is :math:`(\sum_q w_q)^d`.
* These three have variances of their own, and get a prior on the sum instead of another scale.
* The two summands of `"beta-additive"` have a scale and a prior each. The main effects are functions of one coordinate,
  and the prior of their length scales is that of one dimension. They start with half the variance of the rest, so that
  the prior variance starts at 1.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import torch
from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
from gpytorch.constraints import GreaterThan, Interval
from gpytorch.kernels import Kernel, SpectralMixtureKernel
from gpytorch.priors import GammaPrior, LogNormalPrior
from torch import Size, Tensor

from betabo.kernels.baselines.additive import HIGHEST_ORDER, NewtonGirardKernel
from betabo.kernels.baselines.cylindrical import CylindricalKernel
from betabo.kernels.baselines.warped import WarpedKernel
from betabo.kernels.box import BoundaryWeight
from betabo.kernels.factory import (
    SHORTEST_LENGTHSCALE,
    beta_additive_covariance,
    beta_covariance,
    beta_matern_covariance,
    dimension_scaled_prior,
    with_output_scale,
)
from betabo.suggestions import did_you_mean

_MIXTURES = 4  # components of the spectral mixture, as in GPyTorch's example

# Frequencies at which the components start, in waves across the cube, times sqrt(d). Different, to break the symmetry;
# not zero, where the derivative vanishes.
_FREQUENCIES = (0.05, 0.2, 0.4, 0.8)

_LONGEST_LENGTHSCALE = 1e4  # of the spectral mixture: its inverse is the parameter, and must stay above zero

_SMALLEST_VARIANCE = 1e-6  # of one order, one angular weight or one component of a mixture


class Make(Protocol):
    """What makes a kernel of so many coordinates."""

    def __call__(self, dims: int, batch_shape: Size | None = None) -> Kernel: ...  # noqa: D102


@dataclass(frozen=True)
class KernelEntry:
    """A kernel of the catalogue.

    Attributes:
        name: Name in `KERNELS`.
        description: What the kernel is, in one line.
        make: `make(dims, batch_shape=None)` gives a new kernel of `dims` coordinates in the unit cube, ready for
            standardized outputs.

    Example:
        >>> covar_module = KERNELS["beta"].make(5)
        >>> covar = covar_module(torch.rand(10, 5))  # 10 x 10
    """

    name: str
    description: str
    make: Make


def make_kernel(kernel: str | Kernel | Callable[[int], Kernel], dims: int) -> Kernel:
    """A new kernel of `dims` coordinates.

    Args:
        kernel: A name in `KERNELS`; or a kernel, which is copied, so that two searches never share parameters; or a
            function from the number of coordinates to a kernel.
        dims: Number of coordinates of the points.

    Returns:
        A kernel that shares nothing with `kernel`, unless a function gave it away.

    Raises:
        ValueError: The name is unknown, or the kernel was made for another number of coordinates.
        TypeError: `kernel` is none of the three, or a function that does not return a kernel.

    Example:
        >>> covar_module = make_kernel("beta-matern", dims=5)
        >>> covar = covar_module(torch.rand(10, 5))  # 10 x 10
    """
    _check_count(dims)
    if isinstance(kernel, str):
        return _by_name(kernel).make(dims)
    if isinstance(kernel, Kernel):
        made = deepcopy(kernel)
    elif callable(kernel):
        made = kernel(dims)
        if not isinstance(made, Kernel):
            raise TypeError(f"kernel returned a {type(made).__name__}, expected a gpytorch.kernels.Kernel.")
    else:
        raise TypeError(
            f"kernel is a {type(kernel).__name__}, expected a name, a gpytorch.kernels.Kernel, "
            "or a function from the number of coordinates to one."
        )
    _check_dims(made, dims)
    return made


def _by_name(name: str) -> KernelEntry:
    if name in KERNELS:
        return KERNELS[name]
    hint = did_you_mean(name, KERNELS)
    raise ValueError(f"kernel is {name!r}, expected one of {', '.join(map(repr, KERNELS))}.{hint}")


def _check_count(dims: int) -> None:
    if dims < 1:
        raise ValueError(f"dims is {dims}, expected at least 1.")


def _check_dims(module: torch.nn.Module, dims: int) -> None:
    if isinstance(module, Kernel):
        if module.active_dims is not None:
            dims = len(module.active_dims)
        if module.ard_num_dims not in (None, dims):
            raise ValueError(
                f"{type(module).__name__} has ard_num_dims {module.ard_num_dims}, but the points have {dims} "
                f"coordinates: make it with ard_num_dims={dims}, or give a function from the number to a kernel."
            )
    for child in module.children():
        _check_dims(child, dims)


def _beta(dims: int, batch_shape: Size | None = None, boundary_weight: BoundaryWeight = "learned") -> Kernel:
    return beta_covariance(dims, boundary_weight=boundary_weight, batch_shape=batch_shape)


def _beta_matern(dims: int, batch_shape: Size | None = None) -> Kernel:
    return beta_matern_covariance(dims, batch_shape=batch_shape)


def _beta_additive(dims: int, batch_shape: Size | None = None) -> Kernel:
    return beta_additive_covariance(dims, batch_shape=batch_shape)


def _stationary(dims: int, batch_shape: Size | None = None, rbf: bool = True, warped: bool = False) -> Kernel:
    _check_count(dims)
    kernel = get_covar_module_with_dim_scaled_prior(ard_num_dims=dims, batch_shape=batch_shape, use_rbf_kernel=rbf)
    if warped:
        constraint = GreaterThan(1e-4, transform=None, initial_value=1.0)  # as in BoTorch's Warp
        kernel = WarpedKernel(kernel, ard_num_dims=dims, concentration_constraint=constraint)
    return with_output_scale(kernel)


def _newton_girard(dims: int, batch_shape: Size | None = None) -> Kernel:
    _check_count(dims)
    degree = min(dims, HIGHEST_ORDER)
    prior = dimension_scaled_prior(degree)
    return NewtonGirardKernel(
        ard_num_dims=dims,
        max_degree=degree,
        batch_shape=batch_shape,
        lengthscale_prior=prior,
        lengthscale_constraint=GreaterThan(SHORTEST_LENGTHSCALE, transform=None, initial_value=prior.mode),
        variance_prior=LogNormalPrior(0.0, 1.0),
        order_variance_constraint=GreaterThan(_SMALLEST_VARIANCE, transform=None),
    )


def _cylindrical(dims: int, batch_shape: Size | None = None) -> Kernel:
    _check_count(dims)  # any number makes the same kernel
    prior = dimension_scaled_prior(1)
    return CylindricalKernel(
        batch_shape=batch_shape,
        lengthscale_prior=prior,
        lengthscale_constraint=GreaterThan(SHORTEST_LENGTHSCALE, transform=None, initial_value=prior.mode),
        variance_prior=LogNormalPrior(0.0, 1.0),
        angular_weights_constraint=GreaterThan(_SMALLEST_VARIANCE, transform=None),
        alpha_constraint=Interval(0.5, 1.0, transform=None, initial_value=1.0),
        beta_constraint=Interval(1.0, 2.0, transform=None, initial_value=1.0),
    )


def _spectral_mixture(dims: int, batch_shape: Size | None = None) -> Kernel:
    lengthscale_prior = dimension_scaled_prior(dims)
    kernel = SpectralMixtureKernel(
        num_mixtures=_MIXTURES,
        ard_num_dims=dims,
        batch_shape=batch_shape,
        mixture_weights_constraint=GreaterThan(_SMALLEST_VARIANCE, transform=None, initial_value=1 / _MIXTURES),
        mixture_means_constraint=GreaterThan(1e-4, transform=None),
        mixture_scales_constraint=Interval(
            1 / (2 * math.pi * _LONGEST_LENGTHSCALE), 1 / (2 * math.pi * SHORTEST_LENGTHSCALE), transform=None
        ),
    )
    frequencies = torch.tensor(_FREQUENCIES)[:, None, None] / math.sqrt(dims)
    kernel.mixture_means = frequencies
    _set_mixture_lengthscales(kernel, torch.as_tensor(lengthscale_prior.mode))
    kernel.register_prior(
        "mixture_lengthscales_prior", lengthscale_prior, _mixture_lengthscales, _set_mixture_lengthscales
    )
    kernel.register_prior("mixture_means_prior", GammaPrior(1.0, math.sqrt(dims)), _mixture_means, _set_mixture_means)
    kernel.register_prior("variance_prior", LogNormalPrior(0.0, 1.0), _mixture_variance, _set_mixture_variance)
    return kernel


def _mixture_lengthscales(kernel: SpectralMixtureKernel) -> Tensor:
    lengthscales: Tensor = 1 / (2 * math.pi * kernel.mixture_scales)
    return lengthscales


def _set_mixture_lengthscales(kernel: SpectralMixtureKernel, value: Tensor) -> None:
    constraint = kernel.raw_mixture_scales_constraint
    scales = 1 / (2 * math.pi * value)
    kernel.mixture_scales = scales.clamp(constraint.lower_bound, constraint.upper_bound)


def _mixture_means(kernel: SpectralMixtureKernel) -> Tensor:
    means: Tensor = kernel.mixture_means
    return means


def _set_mixture_means(kernel: SpectralMixtureKernel, value: Tensor) -> None:
    kernel.mixture_means = value.clamp(kernel.raw_mixture_means_constraint.lower_bound)


def _mixture_variance(kernel: SpectralMixtureKernel) -> Tensor:
    variance: Tensor = kernel.mixture_weights.sum(dim=-1).pow(kernel.ard_num_dims)
    return variance


def _set_mixture_variance(kernel: SpectralMixtureKernel, value: Tensor) -> None:
    weights = kernel.mixture_weights
    total = value.pow(1 / kernel.ard_num_dims).unsqueeze(-1)
    scaled = weights / weights.sum(dim=-1, keepdim=True) * total
    kernel.mixture_weights = scaled.clamp(kernel.raw_mixture_weights_constraint.lower_bound)


_ENTRIES = (
    KernelEntry("beta", "Beta kernel with a learned boundary weight", _beta),
    KernelEntry(
        "beta-paper", "Beta kernel of Nguyen et al. (2025), boundary weight 1", partial(_beta, boundary_weight=1.0)
    ),
    KernelEntry(
        "beta-correlation", "Beta kernel with unit diagonal, boundary weight 0", partial(_beta, boundary_weight=0.0)
    ),
    KernelEntry("beta-matern", "Matern-5/2 kernel of the Beta distance", _beta_matern),
    KernelEntry(
        "beta-additive", "main effects, and the Matern-5/2 kernel of the Beta distance for the rest", _beta_additive
    ),
    KernelEntry("rbf", "RBF kernel, BoTorch's default", _stationary),
    KernelEntry("matern", "Matern-5/2 kernel", partial(_stationary, rbf=False)),
    KernelEntry("spectral-mixture", "products of spectral mixtures of 4 components a coordinate", _spectral_mixture),
    KernelEntry("newton-girard", "additive RBF kernel of orders 1 to 4", _newton_girard),
    KernelEntry("cylindrical", "cylindrical kernel of BOCK, Matern-5/2 in the radius", _cylindrical),
    KernelEntry(
        "rbf-warped",
        "RBF kernel after a learned Kumaraswamy warp of each coordinate",
        partial(_stationary, warped=True),
    ),
    KernelEntry("matern-warped", "Matern-5/2 kernel after the same warp", partial(_stationary, rbf=False, warped=True)),
)

KERNELS: dict[str, KernelEntry] = {entry.name: entry for entry in _ENTRIES}
"""All kernels by name."""
