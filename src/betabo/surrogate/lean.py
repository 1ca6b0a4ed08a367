r"""The posterior at single points in closed form, with its gradient: no autograd, no lazy tensors, few operations.

Where an acquisition function is maximized, a dozen points are looked at some sixty times, and the time goes into the
layers around the arithmetic. The kernels supported here share one form,

.. math:: k(x, x') = c\, e^{s(x) + s(x')} f(r^2), \qquad r^2 = \lVert \psi(x) - \psi(x') \rVert^2 ,

with a radial profile :math:`f`, the logs :math:`s` of the boundary factors, if there are any, and an embedding
:math:`\psi` that works coordinate by coordinate: :math:`x_i / l_i` for RBF and Matern, and Chebyshev features for the
Beta distance, which is a Euclidean distance in them (see `betabo.kernels.chebyshev`). Data are embedded once. A look at
`b` points is then a product of matrices and two triangular systems.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel
from gpytorch.settings import min_variance
from numpy.polynomial import chebyshev
from torch import Tensor

from betabo.kernels.beta import BetaKernel
from betabo.kernels.beta_matern import BetaMaternKernel
from betabo.kernels.box import BoxKernel
from betabo.kernels.chebyshev import chebyshev_embedding, choose_degrees
from betabo.kernels.radial import matern_profile
from betabo.kernels.special import metric_at_centre
from betabo.surrogate.gp import GaussianProcess

# Error of the squared Beta distance of a coordinate, in squared length scales at the centre. The second is accepted
# where the first is out of reach.
_TOLERANCES = (1e-12, 1e-11)

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
        embedding: Where its kernel's distance is Euclidean.
        nu: Roughness of the profile: 1.5, 2.5 or infinity.
        scale: The output scale.
        boundary: The kernel that knows the boundary factors, if it has any.
    """

    def __init__(
        self, process: GaussianProcess, embedding: Embedding, nu: float, scale: float, boundary: BoxKernel | None
    ) -> None:
        self.embedding, self.nu, self.scale, self.boundary = embedding, nu, scale, boundary
        self.mean, self.weights, self.factor = process.mean, process.weights.squeeze(-1), process.factor
        self.data = embedding(process.x).coordinates  # n x m
        self.norms = self.data.square().sum(dim=-1)
        log_scale = None if boundary is None else boundary.log_scale(process.x)
        self.factors = scale * torch.ones_like(self.norms) if log_scale is None else scale * log_scale.squeeze(-1).exp()

    @classmethod
    @torch.no_grad()
    def of(cls, process: GaussianProcess) -> LeanPosterior | None:
        """The lean form of a process, or None where its kernel has none.

        There is one for RBF, Matern, Beta and Beta-Matern kernels, with or without an output scale, of roughness 3/2 or
        more, and unless a bandwidth is too small for the Chebyshev features.
        """
        kernel, scale = process.kernel, 1.0
        if process.batch_shape or process.x.dtype != torch.float64 or process.x.device.type != "cpu":
            return None
        if type(kernel) is ScaleKernel and _is_plain(kernel):
            kernel, scale = kernel.base_kernel, float(kernel.outputscale)
        if not _is_plain(kernel):
            return None
        nu = math.inf if type(kernel) in (RBFKernel, BetaKernel) else getattr(kernel, "nu", None)
        if nu not in _SMOOTH:
            return None
        if type(kernel) in (RBFKernel, MaternKernel):
            return cls(process, _Scaled(kernel.lengthscale.double().squeeze(0)), nu, scale, None)
        if type(kernel) in (BetaKernel, BetaMaternKernel):
            embedding = _chebyshev(kernel, process.x.shape[-1])
            return None if embedding is None else cls(process, embedding, nu, scale, kernel)
        return None

    @torch.no_grad()
    def predict(self, points: Tensor) -> Prediction:
        """The posterior at points of the unit cube, `b x d`."""
        embedded = self.embedding(points)
        norms = embedded.coordinates.square().sum(dim=-1, keepdim=True)
        sq_distance = torch.addmm(self.norms, embedded.coordinates, self.data.mT, alpha=-2).add_(norms)
        cross = matern_profile(sq_distance, self.nu).mul_(self.factors)
        log_scale = None if self.boundary is None else self.boundary.log_scale(points)
        factor = None
        prior: Tensor | float = self.scale
        if log_scale is not None:
            factor = log_scale.exp()
            cross.mul_(factor)
            prior = self.scale * factor.squeeze(-1).square()
        solved = torch.linalg.solve_triangular(self.factor, cross.mT, upper=False)  # n x b
        variance = (prior - solved.square().sum(dim=0)).clamp_min(min_variance.value(torch.float64))
        mean = self.mean + cross @ self.weights
        return Prediction(mean, variance.sqrt(), self, points, embedded, sq_distance, cross, solved, factor)


@dataclass(frozen=True)
class Prediction:
    """The posterior at `b` points, each by itself.

    Attributes:
        mean: Posterior means, `b`.
        sigma: Posterior standard deviations, without noise, `b`.
        posterior: What made the prediction.
        points: The points, `b x d`.
        embedded: The same, embedded.
        sq_distance: Squared distances to the data, `b x n`.
        cross: Covariances with the data, `b x n`.
        solved: The same through the Cholesky factor of the data's covariance, `n x b`.
        factor: Boundary factors of the points, `b x 1`, or None.
    """

    mean: Tensor
    sigma: Tensor
    posterior: LeanPosterior
    points: Tensor
    embedded: Embedded
    sq_distance: Tensor
    cross: Tensor
    solved: Tensor
    factor: Tensor | None

    @torch.no_grad()
    def gradient(self, by_mean: Tensor, by_sigma: Tensor) -> Tensor:
        """Gradient, `b x d`, of a function of mean and standard deviation with the given derivatives, each `b`."""
        lean = self.posterior
        # Where the variance is at its lower bound it does not change.
        free = self.sigma > math.sqrt(min_variance.value(torch.float64))
        by_variance = torch.where(free, 0.5 * by_sigma / self.sigma, 0.0).unsqueeze(-1)
        inverse = torch.linalg.solve_triangular(lean.factor.mT, self.solved, upper=True).mT  # b x n
        by_cross = by_mean.unsqueeze(-1) * lean.weights - 2 * by_variance * inverse
        by_distance = by_cross * _profile_slope(self.sq_distance, lean.nu) * lean.factors
        if self.factor is not None:
            by_distance *= self.factor
        total = by_distance.sum(dim=-1, keepdim=True)
        gradient = self.embedded.pull(2 * (total * self.embedded.coordinates - by_distance @ lean.data))
        if self.factor is not None and lean.boundary is not None:
            by_log_scale = (by_cross * self.cross).sum(dim=-1, keepdim=True)
            by_log_scale += 2 * by_variance * lean.scale * self.factor.square()
            gradient += by_log_scale * _log_scale_slope(lean.boundary, self.points)
        return gradient


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
