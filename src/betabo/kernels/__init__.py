"""Covariance functions on the unit cube."""

from betabo.kernels import pathwise as pathwise  # registers features for BoTorch's pathwise sampling
from betabo.kernels.beta import BetaKernel
from betabo.kernels.beta_matern import BetaMaternKernel
from betabo.kernels.factory import beta_covariance, beta_matern_covariance

__all__ = ["BetaKernel", "BetaMaternKernel", "beta_covariance", "beta_matern_covariance"]
