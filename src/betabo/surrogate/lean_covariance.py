r"""The covariance matrix of the data as a function of the logs of the kernel's parameters, without autograd.

A fit evaluates the covariance matrix of the same points some dozens of times, and at a hundred points the time goes
into the layers around the arithmetic. The kernels supported here are sums of main effects
(`betabo.kernels.effects`) and of radial kernels

.. math:: c f(r^2), \qquad
          r^2 = \sum_i w_i\, (\phi(x_i) - \phi(x'_i))^\top A\, (\phi(x_i) - \phi(x'_i)) ,

where :math:`\phi` is the coordinate itself, :math:`A = 1` and :math:`w_i = 1/l_i^2` for RBF and Matern, and for the
Beta distance :math:`\phi` are Chebyshev features, :math:`A` depends on the bandwidth :math:`h`
(`betabo.kernels.chebyshev`), and :math:`w_i = 1/(g_h''(1)\, l_i^2)`. What depends on the points alone is kept.

A function with the symmetric matrix of derivatives :math:`S` by :math:`r^2` of all pairs, and with
:math:`L = \mathrm{diag}(S 1) - S`, changes with the weights and with :math:`A` as

.. math:: \frac{\partial}{\partial w_i} = 2 \operatorname{tr}(A \Phi_i^\top L \Phi_i), \qquad
          \frac{\partial}{\partial A} = 2 \sum_i w_i \Phi_i^\top L \Phi_i ,

one product of an :math:`n \times n` matrix with all features, as many operations as the distances themselves.

Products of matrices are left to torch, so that its number of threads holds, and the rest to NumPy, whose calls take
less time, but not to NumPy's BLAS: its threads wait for each other longer than they work.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from gpytorch.kernels import AdditiveKernel, Kernel, MaternKernel, RBFKernel, ScaleKernel
from scipy.special import zeta
from torch import Tensor

from betabo.kernels.beta_matern import BetaMaternKernel
from betabo.kernels.chebyshev import chebyshev_features, chebyshev_matrix_with_slope, smallest_degree
from betabo.kernels.cube import CubeKernel
from betabo.kernels.effects import MainEffectsKernel, arc_length
from betabo.kernels.factory import SumKernel

Array = npt.NDArray[np.float64]

_SMOOTH = (1.5, 2.5, math.inf)  # profiles with a derivative at distance zero
_MOST_PAIRS = 50_000  # whose distances in each coordinate are kept; beyond that memory matters more


class Look(Protocol):
    """A covariance matrix at some parameters. It holds until the part that it belongs to is looked at again."""

    @property
    def covariance(self) -> Array:
        """The matrix, `n x n`."""

    @abstractmethod
    def add_gradient(self, slope: Array, gradient: Array) -> None:
        """Add the gradient of a function with the given symmetric derivatives by the matrix, `n x n`."""


class Part(Protocol):
    """A kernel with the data."""

    @abstractmethod
    def at(self, vector: Array) -> Look | None:
        """The covariance matrix at the parameters in a vector, or None where the closed form is not accurate."""


class LeanCovariance:
    """The covariance matrix of some points under a sum of kernels.

    It is that of the kernel itself up to rounding and, for Beta distances, the kernel's own `tolerance`.

    Args:
        parts: The summands.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts

    @classmethod
    @torch.no_grad()
    def of(cls, kernel: Kernel, x: Tensor, places: Mapping[Tensor, slice]) -> LeanCovariance | None:
        """The closed form of a kernel, or None where it has none.

        There is one for kernels of main effects, RBF, Matern and Beta-Matern kernels of roughness 3/2 or more, the last
        without a boundary weight, and for sums of these, each with or without an output scale.

        Args:
            kernel: The kernel.
            x: The points, `n x d`.
            places: Where the logarithms of its parameters stand in a vector.
        """
        if x.dim() != 2 or any(t.dtype != torch.float64 or t.device.type != "cpu" for t in (x, *places)):
            return None
        if not all(parameter in places and parameter.requires_grad for parameter in kernel.parameters()):
            return None
        is_sum = type(kernel) in (AdditiveKernel, SumKernel) and _is_plain(kernel)
        parts = [_part(summand, x, places) for summand in (kernel.kernels if is_sum else [kernel])]
        known = [part for part in parts if part is not None]
        return cls(known) if len(known) == len(parts) else None

    def at(self, vector: Array) -> Look | None:
        """The covariance matrix at the parameters in a vector, or None where the closed form is not accurate."""
        looks = []
        for part in self.parts:
            look = part.at(vector)
            if look is None:
                return None
            looks.append(look)
        return _Sum(looks)


class _Sum:
    def __init__(self, looks: Sequence[Look]) -> None:
        self.looks = looks
        first, *others = (look.covariance for look in looks)
        self.covariance: Array = sum(others, start=first)

    def add_gradient(self, slope: Array, gradient: Array) -> None:
        for look in self.looks:
            look.add_gradient(slope, gradient)


def _is_plain(kernel: Kernel) -> bool:
    return kernel.active_dims is None and not kernel.batch_shape


def _part(kernel: Kernel, x: Tensor, places: Mapping[Tensor, slice]) -> Part | None:
    """The closed form of a kernel that is no sum, or None where it has none."""
    if not _is_plain(kernel):
        return None
    if type(kernel) is ScaleKernel:
        part = _part(kernel.base_kernel, x, places)
        return None if part is None else _Scaled(part, places[kernel.raw_outputscale])
    if isinstance(kernel, CubeKernel):
        try:
            x = kernel.check_points(x)
        except ValueError:  # the kernel itself is to say so
            return None
    if not kernel.has_lengthscale or kernel.lengthscale.numel() not in (1, x.shape[-1]):
        return None
    lengthscale = places[kernel.raw_lengthscale]
    if type(kernel) is MainEffectsKernel:
        few = len(x) * (len(x) - 1) <= 2 * _MOST_PAIRS
        return _Effects(arc_length(x, kernel.bend), lengthscale) if few else None
    nu = math.inf if type(kernel) is RBFKernel else getattr(kernel, "nu", None)
    if nu not in _SMOOTH:
        return None
    if type(kernel) in (RBFKernel, MaternKernel):
        return _Radial(_Flat(x), lengthscale, nu)
    if type(kernel) is BetaMaternKernel and kernel.method != "lgamma" and kernel.log_scale(x) is None:
        return _Radial(_Bent(x, places[kernel.raw_bandwidth], kernel.tolerance), lengthscale, nu)
    return None


@dataclass(frozen=True)
class _Scaled:
    """A kernel times an output scale."""

    part: Part
    place: slice

    def at(self, vector: Array) -> Look | None:
        look = self.part.at(vector)
        return None if look is None else _ScaledLook(look, math.exp(vector[self.place].item()), self.place)


class _ScaledLook:
    def __init__(self, look: Look, scale: float, place: slice) -> None:
        self.look, self.scale, self.place = look, scale, place
        self.covariance = look.covariance * scale

    def add_gradient(self, slope: Array, gradient: Array) -> None:
        gradient[self.place] += _sum_of_products(slope, self.covariance)
        self.look.add_gradient(slope * self.scale, gradient)


class _Effects:
    r"""Main effects: the mean over the coordinates of :math:`(1 + s + s^2/3)\, e^{-s}`, with :math:`s = a r`.

    Here :math:`r` is the distance of two points in a coordinate and :math:`a = \sqrt5/l`. The values, and their
    derivatives :math:`(s^2 + s^3)\, e^{-s}/3` by :math:`\ln l`, are sums of :math:`r^k e^{-a r}`, `k` up to 3, with
    powers of `a` as coefficients.

    Args:
        u: Arc lengths of the points' coordinates, `n x d`.
        place: Where the logs of the length scales stand.
    """

    def __init__(self, u: Tensor, place: slice) -> None:
        self.place = place
        self.count, self.dims = u.shape
        rows, columns = np.triu_indices(self.count, 1)
        by_coordinate = np.ascontiguousarray(u.mT.numpy())
        self.distances: Array = np.abs(by_coordinate[:, rows] - by_coordinate[:, columns])  # d x p
        self.terms = np.empty((4, *self.distances.shape))  # kept: fresh memory would take longer than the arithmetic
        self.upper = rows * self.count + columns  # of each pair, its place in the flat matrix
        self.pairs = np.full((self.count, self.count), len(rows))  # of each entry, its pair; the diagonal comes last
        self.pairs[rows, columns] = self.pairs[columns, rows] = np.arange(len(rows))

    def at(self, vector: Array) -> Look:
        a = np.broadcast_to(math.sqrt(5) * np.exp(-vector[self.place]), self.dims)
        first = self.terms[0]
        np.multiply(self.distances, -a[:, None], out=first)
        np.exp(first, out=first)
        for term, following in pairwise(self.terms):
            np.multiply(term, self.distances, out=following)
        coefficients = np.concatenate([np.ones(self.dims), a, a * a / 3]) / self.dims
        values = np.append(_product(coefficients, self.terms[:3].reshape(3 * self.dims, -1)), 1.0)
        return _EffectsLook(self, a, values.take(self.pairs))


@dataclass(frozen=True)
class _EffectsLook:
    part: _Effects
    a: Array
    covariance: Array

    def add_gradient(self, slope: Array, gradient: Array) -> None:
        part = self.part
        by_pair = slope.take(part.upper)
        square, cube = _product(part.terms[2:].reshape(2 * part.dims, -1), by_pair).reshape(2, -1)
        by_log = (square + self.a * cube) * self.a**2 * (2 / (3 * part.dims))  # every pair counts twice
        gradient[part.place] += _to_size(by_log, part.place)


class _Radial:
    """A profile of the squared distance.

    Args:
        geometry: What makes squared distances of coordinates, up to their weights.
        place: Where the logs of the length scales stand.
        nu: Roughness.
    """

    def __init__(self, geometry: _Geometry, place: slice, nu: float) -> None:
        self.geometry, self.place, self.nu = geometry, place, nu

    def at(self, vector: Array) -> Look | None:
        inverse_squares = np.exp(-2 * vector[self.place])
        metric = self.geometry.at(vector, float(inverse_squares.max()))
        if metric is None:
            return None
        count, dims, _ = metric.features.shape
        weights = np.broadcast_to(inverse_squares / metric.at_centre, dims)[:, None]
        sq_distance = _product((metric.images * weights).reshape(count, -1), metric.features.reshape(count, -1).T)
        norms = sq_distance.diagonal().copy()
        sq_distance *= -2
        sq_distance += norms
        sq_distance += norms[:, None]
        return _RadialLook(self, metric, weights, *_profile(sq_distance, self.nu))


@dataclass(frozen=True)
class _RadialLook:
    part: _Radial
    metric: _Metric
    weights: Array  # d x 1
    covariance: Array
    by_distance: Array  # derivatives of the covariance by the squared distance

    def add_gradient(self, slope: Array, gradient: Array) -> None:
        metric, place = self.metric, self.part.place
        by_distance = slope * self.by_distance
        joined = metric.features.reshape(len(slope), -1)
        lifted = by_distance.sum(axis=1)[:, None] * joined
        lifted -= _product(by_distance, joined)
        lifted = lifted.reshape(metric.features.shape)
        lifted *= self.weights
        by_log_weight = 2 * np.einsum("ndq,ndq->d", metric.images, lifted)
        gradient[place] -= 2 * _to_size(by_log_weight, place)
        if metric.bandwidth is not None:
            metric.bandwidth.add_gradient(metric.features, lifted, by_log_weight, gradient)


def _profile(sq_distance: Array, nu: float) -> tuple[Array, Array]:
    """The Matern correlation at squared distances, which are overwritten, and its derivative by them."""
    s = np.maximum(sq_distance, 0, out=sq_distance)
    if nu == math.inf:
        s *= -0.5
        np.exp(s, out=s)
        return s, -0.5 * s
    s *= 2 * nu
    np.sqrt(s, out=s)
    decay = np.negative(s)
    np.exp(decay, out=decay)
    linear = s + 1
    linear *= decay
    if nu == 1.5:
        return linear, -1.5 * decay
    s *= s
    s *= decay
    s *= 1 / 3
    s += linear
    linear *= -5 / 6
    return s, linear


@dataclass(frozen=True)
class _Metric:
    """Squared distances of coordinates, up to the length scales.

    Attributes:
        features: `n x d x q`.
        images: Their products with the matrix `A`.
        at_centre: Squared distance of nearby points at the centre, over their squared difference.
        bandwidth: How it changes with a bandwidth, if there is one.
    """

    features: Array
    images: Array
    at_centre: float = 1.0
    bandwidth: _Bandwidth | None = None


@dataclass(frozen=True)
class _Bandwidth:
    """How a metric changes with the log of the bandwidth."""

    place: slice
    matrix_slope: Array
    log_centre_slope: float

    def add_gradient(self, features: Array, lifted: Array, by_log_weight: Array, gradient: Array) -> None:
        count = features.shape[-1]
        by_matrix = _product(features.reshape(-1, count).T, lifted.reshape(-1, count))
        gradient[self.place] += 2 * _sum_of_products(by_matrix, self.matrix_slope)
        gradient[self.place] -= self.log_centre_slope * by_log_weight.sum()


class _Geometry(Protocol):
    @abstractmethod
    def at(self, vector: Array, largest_weight: float) -> _Metric | None:
        """The metric at the parameters in a vector, accurate enough for the largest of the inverse squared lengths."""


class _Flat:
    """The coordinates themselves."""

    def __init__(self, x: Tensor) -> None:
        features = np.ascontiguousarray((x - x.mean(dim=0)).numpy())[..., None]  # n x d x 1
        self.metric = _Metric(features, features)

    def at(self, vector: Array, largest_weight: float) -> _Metric:
        del vector, largest_weight
        return self.metric


class _Bent:
    """The Beta distance."""

    def __init__(self, x: Tensor, place: slice, tolerance: float) -> None:
        self.x, self.place = x, place
        self.tolerance = max(tolerance, 8 * torch.finfo(x.dtype).eps) / x.shape[-1]
        self.features: dict[int, Array] = {}

    def at(self, vector: Array, largest_weight: float) -> _Metric | None:
        h = math.exp(vector[self.place].item())
        z2, z3 = zeta((2, 3), 1 + 1 / h).tolist()
        at_centre = 2 * z2 / h**2
        degree = smallest_degree(h, self.tolerance * at_centre / largest_weight)
        if degree is None:
            return None
        if degree not in self.features:
            self.features[degree] = np.ascontiguousarray(chebyshev_features(self.x, degree).numpy())
        features = self.features[degree]
        matrix, slope = chebyshev_matrix_with_slope(h, degree)
        images = _product(features.reshape(-1, degree - 1), matrix).reshape(features.shape)
        return _Metric(features, images, at_centre, _Bandwidth(self.place, slope, 2 * z3 / (h * z2) - 2))


def _product(left: Array, right: Array) -> Array:
    product: Array = (torch.from_numpy(left) @ torch.from_numpy(right)).numpy()
    return product


def _sum_of_products(left: Array, right: Array) -> float:
    return float(np.einsum("ij,ij->", left, right))


def _to_size(by_coordinate: Array, place: slice) -> Array:
    """Derivatives by all length scales, or by the one that the coordinates share."""
    return by_coordinate if place.stop - place.start == len(by_coordinate) else by_coordinate.sum(keepdims=True)
