"""The kernels of the paper's figures, with everything fixed."""

from __future__ import annotations

from gpytorch.kernels import Kernel, MaternKernel, RBFKernel

from betabo.kernels import BetaKernel


def beta(bandwidth: float, boundary_weight: float = 1.0) -> Kernel:
    """The Beta kernel with one bandwidth; boundary weight 1 is the paper's, divided by its value at the centre."""
    kernel = BetaKernel(boundary_weight=boundary_weight).double()
    kernel.bandwidth = bandwidth
    return kernel


def rbf(lengthscale: float = 1.0) -> Kernel:
    """The RBF kernel with one length scale."""
    kernel = RBFKernel().double()
    kernel.lengthscale = lengthscale
    return kernel


def matern(lengthscale: float = 1.0, nu: float = 2.5) -> Kernel:
    """The Matern kernel with one length scale."""
    kernel = MaternKernel(nu=nu).double()
    kernel.lengthscale = lengthscale
    return kernel
