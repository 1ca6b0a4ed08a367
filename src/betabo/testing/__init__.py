"""Tests to derive from: what every kernel and every acquisition function for betabo has to do."""

from betabo.testing.acquisitions import AcquisitionTests
from betabo.testing.kernels import KernelTests

__all__ = ["AcquisitionTests", "KernelTests"]
