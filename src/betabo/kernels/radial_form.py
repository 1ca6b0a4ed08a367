r"""The closed form of radial kernels, :math:`k(x, x') = f(r^2)`, whatever their distance.

By points, the distance is Euclidean after an embedding, :math:`r^2 = \lVert \psi(x) - \psi(x') \rVert^2`. Data are
embedded once, so `b` points take a product of matrices.

By parameters, it is a quadratic form in features that depend on the points alone,

.. math:: r^2 = \sum_i w_i\, (\phi(x_i) - \phi(x'_i))^\top A\, (\phi(x_i) - \phi(x'_i)), \qquad
          w_i = \frac{1}{c\, l_i^2} .

A function with the symmetric matrix of derivatives :math:`S` by :math:`r^2` of all pairs, and with
:math:`L = \mathrm{diag}(S 1) - S`, changes with the weights and with :math:`A` as

.. math:: \frac{\partial}{\partial w_i} = 2 \operatorname{tr}(A \Phi_i^\top L \Phi_i), \qquad
          \frac{\partial}{\partial A} = 2 \sum_i w_i \Phi_i^\top L \Phi_i ,

one product of an :math:`n \times n` matrix with all features, as many operations as the distances themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from gpytorch.kernels import MaternKernel, RBFKernel

from betabo.kernels.closed_form import (
    Array,
    AtParameters,
    AtPoints,
    ByParameters,
    ByPoints,
    ClosedForm,
    Places,
    declares,
    product,
    to_size,
)
from betabo.kernels.radial import SMOOTH, profile_with_slope

Profile = Callable[[Array], tuple[Array, Array]]
"""Correlations at squared distances, 1 at distance zero, and their derivatives. It may overwrite what it is given."""


@dataclass(frozen=True)
class Embedded:
    """Points in the space where a kernel's distance is Euclidean.

    Attributes:
        coordinates: Their coordinates there, `b x m`.
        pull: Gives derivatives by the points, `b x d`, from those by the coordinates, `b x m`.
    """

    coordinates: Array
    pull: Callable[[Array], Array]


Embedding = Callable[[Array], Embedded]
"""From points of the unit cube, `b x d`."""


@dataclass(frozen=True)
class Metric:
    """Squared distances of coordinates up to their length scales: features and a quadratic form of them.

    Attributes:
        features: `n x d x q`.
        images: Their products with the matrix `A`.
        scale: The constant `c` in the weights.
        add_gradient: Adds to a gradient what comes by way of `A` and `c`, where these depend on a parameter. It is
            given the gradient, the weighted `L` times the features, `n x d x q`, and the derivatives by the logarithms
            of the weights, `d`.
    """

    features: Array
    images: Array
    scale: float = 1.0
    add_gradient: Callable[[Array, Array, Array], None] = lambda *_: None


Metrics = Callable[[Array, float], Metric | None]
"""The metric at a vector of parameters, given the largest of the inverse squared length scales; None where it is not
accurate enough."""


class RadialForm(ClosedForm):
    """The closed form of a radial kernel, here of the coordinates over the kernel's length scales.

    Args:
        kernel: The kernel.
        profile: Its profile, or None where that has no derivative at distance zero.
    """

    def __init__(self, kernel: Any, profile: Profile | None) -> None:
        super().__init__(kernel)
        self.profile = profile

    def embedding(self, dims: int) -> Embedding | None:
        """The embedding of `dims` coordinates at the kernel's present parameters, or None where there is none."""
        lengthscale = np.broadcast_to(self.kernel.lengthscale.detach().double().squeeze(0).numpy(), dims)
        return lambda points: Embedded((points - 0.5) / lengthscale, lambda slopes: slopes / lengthscale)

    def metrics(self, x: Array, places: Places) -> Metrics | None:  # noqa: ARG002
        """The metric of the data `x`, `n x d`, at any parameters, or None where there is none."""
        features = np.ascontiguousarray(x - x.mean(axis=0))[..., None]  # n x d x 1
        metric = Metric(features, features)
        return lambda *_: metric

    def by_points(self, x: Array) -> ByPoints | None:  # noqa: D102
        profile, embedding = self.profile, self.embedding(x.shape[-1])
        if profile is None or embedding is None:
            return None
        data = embedding(x).coordinates  # n x m
        norms = np.einsum("nm,nm->n", data, data)

        def at(points: Array) -> AtPoints:
            embedded = embedding(points)
            own = embedded.coordinates
            sq_distance = product(own, data.T)
            sq_distance *= -2
            sq_distance += norms
            sq_distance += np.einsum("bm,bm->b", own, own)[:, None]
            covariance, slopes = profile(sq_distance)

            def gradient(by_covariance: Array, by_variance: Array) -> Array:
                del by_variance  # the prior variance is the same everywhere
                by_distance = by_covariance * slopes
                total = by_distance.sum(axis=1)[:, None]
                return embedded.pull(2 * (total * own - product(by_distance, data)))

            return AtPoints(covariance, np.ones(len(points)), gradient)

        return at

    def by_parameters(self, x: Array, places: Places) -> ByParameters | None:  # noqa: D102
        profile, kernel = self.profile, self.kernel
        if profile is None or not kernel.has_lengthscale or kernel.lengthscale.numel() not in (1, x.shape[-1]):
            return None
        metrics, place = self.metrics(x, places), places[kernel.raw_lengthscale]
        if metrics is None:
            return None

        def at(vector: Array) -> AtParameters | None:
            inverse_squares = np.exp(-2 * vector[place])
            metric = metrics(vector, float(inverse_squares.max()))
            if metric is None:
                return None
            count, dims, _ = metric.features.shape
            weights = np.broadcast_to(inverse_squares / metric.scale, dims)[:, None]
            joined = metric.features.reshape(count, -1)
            sq_distance = product((metric.images * weights).reshape(count, -1), joined.T)
            norms = sq_distance.diagonal().copy()
            sq_distance *= -2
            sq_distance += norms
            sq_distance += norms[:, None]
            covariance, slopes = profile(sq_distance)

            def add_gradient(slope: Array, gradient: Array) -> None:
                by_distance = slope * slopes
                lifted = by_distance.sum(axis=1)[:, None] * joined
                lifted -= product(by_distance, joined)
                lifted = lifted.reshape(metric.features.shape)
                lifted *= weights
                by_log_weight = 2 * np.einsum("ndq,ndq->d", metric.images, lifted)
                gradient[place] -= 2 * to_size(by_log_weight, place)
                metric.add_gradient(gradient, lifted, by_log_weight)

            return AtParameters(covariance, add_gradient)

        return at


def smooth_profile(nu: float) -> Profile | None:
    """The Matern profile, or None where it has a kink at distance zero."""
    return partial(profile_with_slope, nu=nu) if nu in SMOOTH else None


@declares(RBFKernel, MaternKernel)
def _of_gpytorch(kernel: RBFKernel | MaternKernel) -> ClosedForm:
    return RadialForm(kernel, smooth_profile(getattr(kernel, "nu", math.inf)))
