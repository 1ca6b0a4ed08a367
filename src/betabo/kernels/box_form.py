r"""The closed form of the kernels of the Beta distance.

The distance is Euclidean in Chebyshev features (see `betabo.kernels.chebyshev`), and in exponentials (see
`betabo.kernels.exponentials`) where a bandwidth is small. By points, each coordinate has a few Chebyshev series, or
exponentials, as its embedding. By parameters, the weights are :math:`w_i = 1/(g_h''(1)\, l_i^2)`, and the matrix `A`
depends on the bandwidth.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.polynomial import chebyshev
from scipy.special import zeta
from torch import Tensor

from betabo.kernels.box import BoxKernel, log_boundary_factor, log_boundary_factor_slope
from betabo.kernels.chebyshev import (
    chebyshev_embedding,
    chebyshev_features,
    chebyshev_matrix_with_slope,
    choose_degrees,
    smallest_degree,
)
from betabo.kernels.closed_form import Array, AtPoints, ByPoints, Places, product, sum_of_products
from betabo.kernels.exponentials import ExponentialRule, choose_rule, exponential_features, slopes_by_point
from betabo.kernels.radial_form import Embedded, Embedding, Metric, Metrics, RadialForm
from betabo.kernels.special import metric_at_centre

# Error of the squared Beta distance of a coordinate, in squared length scales at the centre. The second is accepted
# where the first is out of reach.
_TOLERANCES = (1e-12, 1e-11)


class BoxForm(RadialForm):
    """The closed form of a radial kernel of the Beta distance, boundary factors included.

    By parameters there is none with boundary factors, without length scales, or where the kernel is told to sum
    log-gammas.
    """

    kernel: BoxKernel

    def embedding(self, dims: int) -> Embedding | None:
        """Chebyshev series of each coordinate; exponentials where it would take too many polynomials."""
        bandwidth, weight = (t.detach().double().flatten() for t in self.kernel.geometry())
        unit, count = 1 / metric_at_centre(bandwidth), len(bandwidth)
        by_tolerance = (choose_degrees(bandwidth, unit, count * tolerance) for tolerance in _TOLERANCES)
        degrees = next((found for found in by_tolerance if found is not None), None)
        if degrees is None:
            rule = choose_rule(bandwidth, unit, count * _TOLERANCES[0])
            return None if rule is None else _by_exponentials(bandwidth, weight.sqrt().expand(dims), rule)
        # One bandwidth for all coordinates takes one set of series, which the weights then stretch.
        values = np.zeros((len(bandwidth), max(degrees), max(degrees)))
        for degree in set(degrees):
            members = [i for i, needed in enumerate(degrees) if needed == degree]
            factors = chebyshev_embedding(bandwidth[members], degree).numpy()
            values[members, 1:degree, : factors.shape[-1]] = factors
        values = values[..., values.any(axis=(0, 1))] * weight.sqrt().expand(dims).numpy()[:, None, None]
        values[:, 0] = -chebyshev.chebval(0.0, values.swapaxes(0, 1))  # zero at the centre, to lose fewer digits
        series = torch.from_numpy(values)  # d x P x k
        derivatives = torch.from_numpy(chebyshev.chebder(values, scl=2, axis=1))  # d x (P - 1) x k
        orders = torch.arange(series.shape[1], dtype=torch.float64)

        def embed(points: Array) -> Embedded:
            angles = (2 * torch.from_numpy(points).mT - 1).clamp_(-1, 1).acos_()  # d x b
            polynomials = (angles.unsqueeze(-1) * orders).cos_()  # d x b x P

            def pull(slopes: Array) -> Array:
                by_image = torch.from_numpy(slopes).unflatten(-1, (dims, -1)).transpose(0, 1)  # d x b x k
                image_slopes = polynomials[..., :-1] @ derivatives
                return torch.sum(by_image * image_slopes, dim=-1).mT.numpy()

            return Embedded((polynomials @ series).transpose(0, 1).flatten(1).numpy(), pull)

        return embed

    def metrics(self, x: Array, places: Places) -> Metrics | None:
        """Chebyshev features, with a matrix that depends on the bandwidth."""
        kernel, points = self.kernel, torch.from_numpy(x)
        if kernel.method == "lgamma" or kernel.log_scale(points) is not None:
            return None
        place = places[kernel.raw_bandwidth]
        tolerance = max(kernel.tolerance, 8 * torch.finfo(torch.float64).eps) / x.shape[-1]
        by_degree: dict[int, Array] = {}

        def metric(vector: Array, largest_weight: float) -> Metric | None:
            h = math.exp(vector[place].item())
            z2, z3 = zeta((2, 3), 1 + 1 / h).tolist()
            at_centre = 2 * z2 / h**2
            degree = smallest_degree(h, tolerance * at_centre / largest_weight)
            if degree is None:
                return None
            if degree not in by_degree:
                by_degree[degree] = np.ascontiguousarray(chebyshev_features(points, degree).numpy())
            features = by_degree[degree]
            matrix, matrix_slope = chebyshev_matrix_with_slope(h, degree)
            flat = features.reshape(-1, degree - 1)

            def add_gradient(gradient: Array, lifted: Array, by_log_weight: Array) -> None:
                by_matrix = product(flat.T, lifted.reshape(flat.shape))
                log_centre_slope = 2 * z3 / (h * z2) - 2
                gradient[place] += 2 * sum_of_products(by_matrix, matrix_slope)
                gradient[place] -= log_centre_slope * by_log_weight.sum()

            return Metric(features, product(flat, matrix).reshape(features.shape), at_centre, add_gradient)

        return metric

    def by_points(self, x: Array) -> ByPoints | None:
        """The radial kernel times the boundary factors of both points."""
        plain, data = super().by_points(x), torch.from_numpy(x)
        if plain is None or self.kernel.log_scale(data) is None:
            return plain
        parameters = self.kernel.bandwidth.detach().double(), self.kernel.boundary_weight.detach().double()
        of_data = log_boundary_factor(data, *parameters).exp().squeeze(-1).numpy()

        def at(points: Array) -> AtPoints:
            radial, own = plain(points), log_boundary_factor(torch.from_numpy(points), *parameters).exp().numpy()
            factors, squares = own * of_data, own.squeeze(-1) ** 2
            covariance, variance = radial.covariance * factors, radial.variance * squares

            def gradient(by_covariance: Array, by_variance: Array) -> Array:
                by_log = np.einsum("bn,bn->b", by_covariance, covariance) + 2 * by_variance * variance
                log_slopes = log_boundary_factor_slope(torch.from_numpy(points), *parameters).numpy()
                slopes = radial.gradient(by_covariance * factors, by_variance * squares)
                slopes += by_log[:, None] * log_slopes
                return slopes

            return AtPoints(covariance, variance, gradient)

        return at


def _by_exponentials(bandwidth: Tensor, stretch: Tensor, rule: ExponentialRule) -> Embedding:
    """Exponentials of each coordinate, times the square roots of the weights, `d`."""
    factors = stretch.unsqueeze(-1)

    def embed(points: Array) -> Embedded:
        places = torch.from_numpy(points)

        def pull(slopes: Array) -> Array:
            by_feature = torch.from_numpy(slopes).unflatten(-1, (len(stretch), -1))  # b x d x 2K
            by_feature = by_feature * slopes_by_point(places, bandwidth, rule) * factors
            return torch.sum(by_feature, dim=-1).numpy()

        return Embedded((exponential_features(places, bandwidth, rule) * factors).flatten(-2).numpy(), pull)

    return embed
