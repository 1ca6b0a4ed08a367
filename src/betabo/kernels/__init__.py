"""Covariance functions on the unit cube."""

from betabo.kernels import pathwise as pathwise  # registers features for BoTorch's pathwise sampling
from betabo.kernels.baselines.additive import NewtonGirardKernel
from betabo.kernels.baselines.cylindrical import CylindricalKernel
from betabo.kernels.baselines.warped import WarpedKernel
from betabo.kernels.beta import BetaKernel
from betabo.kernels.beta_matern import BetaMaternKernel
from betabo.kernels.catalogue import KERNELS, make_kernel
from betabo.kernels.effects import MainEffectsKernel
from betabo.kernels.factory import beta_additive_covariance, beta_covariance, beta_matern_covariance

__all__ = [
    "KERNELS",
    "BetaKernel",
    "BetaMaternKernel",
    "CylindricalKernel",
    "MainEffectsKernel",
    "NewtonGirardKernel",
    "WarpedKernel",
    "beta_additive_covariance",
    "beta_covariance",
    "beta_matern_covariance",
    "make_kernel",
]
