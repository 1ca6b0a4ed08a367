"""Kernels of the literature that the kernels of this package are compared with."""
