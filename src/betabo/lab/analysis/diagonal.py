r"""The prior variance :math:`k(x, x)` of the Beta product kernel, its exact range, and bounds on it.

All in logarithms, for the kernel of Nguyen et al. (UAI 2025) without any normalization: `BetaKernel` with boundary
weight 1 is this kernel divided by its value at the centre. :math:`\ln k(x, x)` is convex in each coordinate and
symmetric about the centre, so it is least at the centre of the cube and largest at the vertices.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import brentq

from betabo.kernels.special import boundary_excess
from betabo.kernels.special import log_diagonal_supremum as _log_supremum

Array = npt.NDArray[np.float64]


def log_diagonal(x: npt.ArrayLike, bandwidth: npt.ArrayLike) -> Array:
    r""":math:`\ln k(x, x)`.

    Args:
        x: Points of the unit cube, `... x d`.
        bandwidth: One bandwidth, or `d` of them.

    Returns:
        The log variances, of shape `...`.
    """
    points = np.asarray(x, dtype=np.float64)
    if points.ndim == 0:
        raise ValueError("x is a number, expected points of shape ... x d; for one coordinate write x[:, None].")
    if not bool(((points >= 0) & (points <= 1)).all()):
        raise ValueError("x has coordinates outside [0, 1]; scale points by the bounds of the search space.")
    h = _bandwidth(bandwidth)
    vertex = torch.zeros((), dtype=torch.float64)
    logs = _log_supremum(h) + boundary_excess(torch.from_numpy(points), h) - boundary_excess(vertex, h)
    return np.asarray(logs.sum(dim=-1).numpy())


def log_diagonal_supremum(bandwidth: npt.ArrayLike, dims: int = 1) -> Array:
    r"""Log of the largest variance, at the vertices: :math:`d \ln\frac{(1 + 1/h)^2}{1 + 2/h}`, elementwise in `h`."""
    return np.asarray(dims * _log_supremum(_bandwidth(bandwidth)).numpy())


def log_diagonal_infimum(bandwidth: npt.ArrayLike, dims: int = 1) -> Array:
    r"""Log of the least variance, at the centre, elementwise in `h`; never below 0."""
    h = _bandwidth(bandwidth)
    vertex = torch.zeros((), dtype=torch.float64)
    return np.asarray(dims * (_log_supremum(h) - boundary_excess(vertex, h)).numpy())


def log_printed_bound(bandwidth: npt.ArrayLike, dims: int = 1) -> Array:
    r"""Log of the upper bound of the paper's Proposition 1, elementwise in `h`.

    .. math:: 2^{3d - 2d/h} (1/h + 1)^d \left(\frac{1}{\pi h} + \frac{3}{2\pi}\right)^{d/2}

    It is below the variance for small `h`: see `printed_bound_threshold`.
    """
    h = np.asarray(_bandwidth(bandwidth).numpy())
    return np.asarray(log_repaired_bound(h, dims) + dims * (2 - 2 / h) * np.log(2.0))


def log_repaired_bound(bandwidth: npt.ArrayLike, dims: int = 1) -> Array:
    r"""Log of what the proof of Proposition 1 gives once its exponent is put right, elementwise in `h`.

    The proof turns :math:`2^{2x/h} \cdot 2^{2(1 - x)/h}` into :math:`2^2`, where it is :math:`2^{2/h}`. With that the
    other steps stand, and the bound is

    .. math:: 2^d (1/h + 1)^d \left(\frac{1}{\pi h} + \frac{3}{2\pi}\right)^{d/2},

    valid for every `h`, but of the order :math:`h^{-3/2}` a dimension where the exact supremum is of the order
    :math:`h^{-1}`.
    """
    h = np.asarray(_bandwidth(bandwidth).numpy())
    factor = np.log(2 * (1 / h + 1)) + 0.5 * np.log((1 / h + 1.5) / np.pi)
    return np.asarray(dims * factor)


def printed_bound_threshold() -> float:
    """The bandwidth below which the bound of Proposition 1 is less than the largest variance, in every dimension."""
    root = brentq(lambda h: float(log_printed_bound(h) - log_diagonal_supremum(h)), 0.1, 10.0, xtol=1e-14)
    return float(root)


def _bandwidth(bandwidth: npt.ArrayLike) -> torch.Tensor:
    h = np.asarray(bandwidth, dtype=np.float64)
    if not bool((h > 0).all()):
        raise ValueError(f"bandwidth is {bandwidth!r}, expected numbers > 0.")
    return torch.from_numpy(h)
