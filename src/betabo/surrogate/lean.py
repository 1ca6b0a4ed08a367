r"""The posterior at single points in closed form, with its gradient: no autograd, no lazy tensors, few operations.

Where an acquisition function is maximized, a dozen points are looked at some sixty times, and the time goes into the
layers around the arithmetic. The kernels supported here are sums of some of one form,

.. math:: k(x, x') = c\, e^{s(x) + s(x')} f(r^2), \qquad r^2 = \lVert \psi(x) - \psi(x') \rVert^2 ,

with a radial profile :math:`f`, the logs :math:`s` of the boundary factors, if there are any, and an embedding
:math:`\psi` that works coordinate by coordinate: :math:`x_i / l_i` for RBF and Matern, and Chebyshev features for the
Beta distance, which is a Euclidean distance in them (see `betabo.kernels.chebyshev`). Data are embedded once. A look at
`b` points is then a product of matrices and two triangular systems. A kernel of main effects (see
`betabo.kernels.effects`) may be among the summands.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from gpytorch.kernels import AdditiveKernel, Kernel, MaternKernel, RBFKernel, ScaleKernel
from gpytorch.settings import min_variance
from numpy.polynomial import chebyshev
from torch import Tensor

from betabo.kernels.beta import BetaKernel
from betabo.kernels.beta_matern import BetaMaternKernel
from betabo.kernels.box import BoxKernel
from betabo.kernels.chebyshev import chebyshev_embedding, choose_degrees
from betabo.kernels.effects import MainEffectsKernel, arc_length, arc_length_slope
from betabo.kernels.factory import SumKernel
from betabo.kernels.radial import matern_profile
from betabo.kernels.special import metric_at_centre
from betabo.surrogate.gp import GaussianProcess

# Error of the squared Beta distance of a coordinate, in squared length scales at the centre. The second is accepted
# where the first is out of reach.
_TOLERANCES = (1e-12, 1e-11)

_CACHED = 2**17  # numbers that fit into a cache together with two more of their kind

_SMOOTH = (1.5, 2.5, math.inf)  # profiles with a derivative at distance zero


class Embedded(Protocol):
    """Points in the space where the kernel's distance is Euclidean."""

    @property
    def coordinates(self) -> Tensor:
        """Their coordinates there, `b x m`."""

    @abstractmethod
    def pull(self, slopes: Tensor) -> Tensor:
        """Derivatives with respect to the points, `b x d`, from those with respect to the coordinates, `b x m`."""


class Embedding(Protocol):
    """What embeds points of the unit cube."""

    @abstractmethod
    def __call__(self, points: Tensor) -> Embedded:
        """The points `b x d`, embedded."""


class LeanPosterior:
    """Mean and standard deviation of a `GaussianProcess` at single points, and their gradients.

    Both are those of `GaussianProcess.posterior`, with GPyTorch's lower bound of the variance, up to the rounding of
    squared distances.

    Args:
        process: A process without batch dimensions, in float64, on the CPU.
        parts: The kernels that its kernel is the sum of.
    """

    def __init__(self, process: GaussianProcess, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.mean, self.weights, self.factor = process.mean, process.weights.squeeze(-1), process.factor

    @classmethod
    @torch.no_grad()
    def of(cls, process: GaussianProcess) -> LeanPosterior | None:
        """The lean form of a process, or None where its kernel has none.

        There is one for RBF, Matern, Beta and Beta-Matern kernels of roughness 3/2 or more, unless a bandwidth is too
        small for the Chebyshev features, for kernels of main effects, and for sums of these, each with or without an
        output scale.
        """
        if process.batch_shape or process.x.dtype != torch.float64 or process.x.device.type != "cpu":
            return None
        kernel = process.kernel
        is_sum = type(kernel) in (AdditiveKernel, SumKernel) and _is_plain(kernel)
        summands = list(kernel.kernels) if is_sum else [kernel]
        parts = [_part(summand, process.x) for summand in summands]
        known = [part for part in parts if part is not None]
        return cls(process, known) if len(known) == len(parts) else None

    @torch.no_grad()
    def predict(self, points: Tensor) -> Prediction:
        """The posterior at points of the unit cube, `b x d`."""
        looks = [part.look(points) for part in self.parts]
        cross = looks[0].cross if len(looks) == 1 else torch.stack([look.cross for look in looks]).sum(dim=0)
        prior = sum(look.prior for look in looks)
        solved = torch.linalg.solve_triangular(self.factor, cross.mT, upper=False)  # n x b
        variance = (prior - solved.square().sum(dim=0)).clamp_min(min_variance.value(torch.float64))
        mean = self.mean + cross @ self.weights
        return Prediction(mean, variance.sqrt(), self, looks, solved)


@dataclass(frozen=True)
class Prediction:
    """The posterior at `b` points, each by itself.

    Attributes:
        mean: Posterior means, `b`.
        sigma: Posterior standard deviations, without noise, `b`.
        posterior: What made the prediction.
        looks: What each part of the kernel makes of the points.
        solved: Covariances with the data through the Cholesky factor of the data's covariance, `n x b`.
    """

    mean: Tensor
    sigma: Tensor
    posterior: LeanPosterior
    looks: Sequence[Look]
    solved: Tensor

    @torch.no_grad()
    def gradient(self, by_mean: Tensor, by_sigma: Tensor) -> Tensor:
        """Gradient, `b x d`, of a function of mean and standard deviation with the given derivatives, each `b`."""
        lean = self.posterior
        # Where the variance is at its lower bound it does not change.
        free = self.sigma > math.sqrt(min_variance.value(torch.float64))
        by_variance = torch.where(free, 0.5 * by_sigma / self.sigma, 0.0).unsqueeze(-1)
        inverse = torch.linalg.solve_triangular(lean.factor.mT, self.solved, upper=True).mT  # b x n
        by_cross = by_mean.unsqueeze(-1) * lean.weights - 2 * by_variance * inverse
        first, *others = (look.gradient(by_cross, by_variance) for look in self.looks)
        return sum(others, start=first)


class Look(Protocol):
    """What a kernel makes of `b` points."""

    @property
    def cross(self) -> Tensor:
        """Covariances with the data, `b x n`."""

    @property
    def prior(self) -> Tensor | float:
        """Prior variances, `b` or one for all."""

    @abstractmethod
    def gradient(self, by_cross: Tensor, by_prior: Tensor) -> Tensor:
        """Gradient, `b x d`, of a function with the given derivatives by the two, `b x n` and `b x 1`."""


class Part(Protocol):
    """A kernel with the data."""

    @abstractmethod
    def look(self, points: Tensor) -> Look:
        """What it makes of points of the unit cube, `b x d`."""


def _part(kernel: Kernel, x: Tensor) -> Part | None:
    """The lean form of a kernel that is no sum, or None where it has none."""
    scale = 1.0
    if type(kernel) is ScaleKernel and _is_plain(kernel):
        kernel, scale = kernel.base_kernel, float(kernel.outputscale)
    if not _is_plain(kernel):
        return None
    if type(kernel) is MainEffectsKernel:
        return _Effects(kernel, x, scale)
    nu = math.inf if type(kernel) in (RBFKernel, BetaKernel) else getattr(kernel, "nu", None)
    if nu not in _SMOOTH:
        return None
    if type(kernel) in (RBFKernel, MaternKernel):
        return _Radial(x, _Scaled(kernel.lengthscale.double().squeeze(0)), nu, scale, None)
    if type(kernel) in (BetaKernel, BetaMaternKernel):
        embedding = _chebyshev(kernel, x.shape[-1])
        return None if embedding is None else _Radial(x, embedding, nu, scale, kernel)
    return None


class _Radial:
    """A radial kernel of an embedding, with boundary factors if `boundary` is a kernel that has some."""

    def __init__(self, x: Tensor, embedding: Embedding, nu: float, scale: float, boundary: BoxKernel | None) -> None:
        self.embedding, self.nu, self.scale, self.boundary = embedding, nu, scale, boundary
        self.data = embedding(x).coordinates  # n x m
        self.norms = self.data.square().sum(dim=-1)
        log_scale = None if boundary is None else boundary.log_scale(x)
        self.factors = scale * torch.ones_like(self.norms) if log_scale is None else scale * log_scale.squeeze(-1).exp()

    def look(self, points: Tensor) -> Look:
        embedded = self.embedding(points)
        norms = embedded.coordinates.square().sum(dim=-1, keepdim=True)
        sq_distance = torch.addmm(self.norms, embedded.coordinates, self.data.mT, alpha=-2).add_(norms)
        cross = matern_profile(sq_distance, self.nu).mul_(self.factors)
        log_scale = None if self.boundary is None else self.boundary.log_scale(points)
        if log_scale is None:
            return _RadialLook(self, points, embedded, sq_distance, cross, self.scale, None)
        factor = log_scale.exp()
        prior = self.scale * factor.squeeze(-1).square()
        return _RadialLook(self, points, embedded, sq_distance, cross.mul_(factor), prior, factor)


@dataclass(frozen=True)
class _RadialLook:
    part: _Radial
    points: Tensor
    embedded: Embedded
    sq_distance: Tensor
    cross: Tensor
    prior: Tensor | float
    factor: Tensor | None  # boundary factors of the points, b x 1

    def gradient(self, by_cross: Tensor, by_prior: Tensor) -> Tensor:
        part = self.part
        by_distance = by_cross * _profile_slope(self.sq_distance, part.nu) * part.factors
        if self.factor is not None:
            by_distance *= self.factor
        total = by_distance.sum(dim=-1, keepdim=True)
        gradient = self.embedded.pull(2 * (total * self.embedded.coordinates - by_distance @ part.data))
        if self.factor is not None and part.boundary is not None:
            by_log_scale = (by_cross * self.cross).sum(dim=-1, keepdim=True)
            by_log_scale += 2 * by_prior * part.scale * self.factor.square()
            gradient += by_log_scale * _log_scale_slope(part.boundary, self.points)
        return gradient


class _Effects:
    """A kernel of main effects. Everything is d x b x n, for as many points at a time as fit into a cache."""

    def __init__(self, kernel: MainEffectsKernel, x: Tensor, scale: float) -> None:
        self.bend = kernel.bend
        self.scale = scale
        self.stretch: Tensor = math.sqrt(5) / kernel.lengthscale.double().squeeze(0).expand(x.shape[-1])
        self.data: Tensor = (arc_length(x, self.bend) * self.stretch).mT.unsqueeze(-2)  # d x 1 x n
        self.rows = max(1, _CACHED // self.data.numel())

    def look(self, points: Tensor) -> Look:
        placed = arc_length(points, self.bend) * self.stretch
        parts = [self._covariance(some) for some in torch.split(placed, self.rows)]
        return _EffectsLook(self, points, placed, torch.cat(parts), self.scale)

    def differences(self, placed: Tensor) -> Tensor:
        return placed.mT.unsqueeze(-1) - self.data

    def _covariance(self, placed: Tensor) -> Tensor:
        s = self.differences(placed).abs_()
        decay = torch.exp(-s)
        return s.addcmul_(s, s, value=1 / 3).add_(1).mul_(decay).sum(dim=0).mul_(self.scale / len(s))


@dataclass(frozen=True)
class _EffectsLook:
    part: _Effects
    points: Tensor
    placed: Tensor
    cross: Tensor
    prior: float

    def gradient(self, by_cross: Tensor, by_prior: Tensor) -> Tensor:
        del by_prior  # the prior variance is the same everywhere
        part = self.part
        blocks = zip(torch.split(self.placed, part.rows), torch.split(by_cross, part.rows), strict=True)
        slopes = torch.cat([self._slopes(placed, weights) for placed, weights in blocks])
        return slopes * part.stretch * arc_length_slope(self.points, part.bend) * (-part.scale / (3 * len(part.data)))

    def _slopes(self, placed: Tensor, weights: Tensor) -> Tensor:
        difference = self.part.differences(placed)
        s = difference.abs()
        decay = torch.exp(-s)
        return difference.mul_(s.add_(1)).mul_(decay).mul_(weights).sum(dim=-1).mT


@dataclass(frozen=True)
class _Scaled:
    """The cube stretched by the length scales, `d` or one for all."""

    lengthscale: Tensor

    def __call__(self, points: Tensor) -> Embedded:
        return _Stretched((points - 0.5) / self.lengthscale, self.lengthscale)


@dataclass(frozen=True)
class _Stretched:
    coordinates: Tensor
    lengthscale: Tensor

    def pull(self, slopes: Tensor) -> Tensor:
        return slopes / self.lengthscale


@dataclass(frozen=True)
class _Chebyshev:
    """Chebyshev series of each coordinate, whose Euclidean distance is the weighted Beta distance."""

    series: Tensor  # d x P x k
    derivatives: Tensor  # d x (P - 1) x k

    def __call__(self, points: Tensor) -> Embedded:
        orders = torch.arange(self.series.shape[1], dtype=points.dtype)
        angles = (2 * points.mT - 1).clamp_(-1, 1).acos_()  # d x b
        polynomials = (angles.unsqueeze(-1) * orders).cos_()  # d x b x P
        images = polynomials @ self.series
        return _ChebyshevImages(images.transpose(0, 1).flatten(1), polynomials, self.derivatives)


@dataclass(frozen=True)
class _ChebyshevImages:
    coordinates: Tensor  # b x (d k)
    polynomials: Tensor  # d x b x P
    derivatives: Tensor

    def pull(self, slopes: Tensor) -> Tensor:
        by_image = slopes.unflatten(-1, (len(self.derivatives), -1)).transpose(0, 1)  # d x b x k
        image_slopes = self.polynomials[..., :-1] @ self.derivatives
        return torch.sum(by_image * image_slopes, dim=-1).mT


def _is_plain(kernel: Kernel) -> bool:
    return kernel.active_dims is None and not kernel.batch_shape


def _chebyshev(kernel: BetaKernel | BetaMaternKernel, dims: int) -> _Chebyshev | None:
    """The embedding of a kernel's Beta distance, or None where it takes too many polynomials."""
    bandwidth, weight = (t.double().flatten() for t in kernel.geometry())
    by_tolerance = (
        choose_degrees(bandwidth, 1 / metric_at_centre(bandwidth), len(bandwidth) * tolerance)
        for tolerance in _TOLERANCES
    )
    degrees = next((found for found in by_tolerance if found is not None), None)
    if degrees is None:
        return None
    # One bandwidth for all coordinates takes one set of series, which the weights then stretch.
    features = np.zeros((len(bandwidth), max(degrees), max(degrees)))
    for degree in set(degrees):
        members = [i for i, needed in enumerate(degrees) if needed == degree]
        embedding = chebyshev_embedding(bandwidth[members], degree).numpy()
        features[members, 1:degree, : embedding.shape[-1]] = embedding
    features = features[..., features.any(axis=(0, 1))] * weight.sqrt().expand(dims).numpy()[:, None, None]
    features[:, 0] = -chebyshev.chebval(0.0, features.swapaxes(0, 1))  # zero at the centre, to lose fewer digits
    derivatives = chebyshev.chebder(features, scl=2, axis=1)
    return _Chebyshev(torch.from_numpy(features), torch.from_numpy(derivatives))


def _profile_slope(sq_distance: Tensor, nu: float) -> Tensor:
    """Derivative of `matern_profile` with respect to the squared distance."""
    if nu == math.inf:
        return -0.5 * matern_profile(sq_distance, nu)
    return matern_profile(sq_distance * (nu / (nu - 1)), nu - 1) * (-0.5 * nu / (nu - 1))


def _log_scale_slope(kernel: BoxKernel, points: Tensor) -> Tensor:
    """Derivative of `kernel.log_scale` with respect to each coordinate of the points, `b x d`."""

    def q(z: Tensor) -> Tensor:
        return torch.digamma(z + 0.5) - torch.digamma(z + 1)

    h = kernel.bandwidth.double().squeeze(0)
    return 0.5 * kernel.boundary_weight.squeeze(0) * (q(points / h) - q((1 - points) / h)) / h
