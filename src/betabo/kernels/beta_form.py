r"""The closed form of the Beta kernel.

By parameters, the features of a coordinate (see `betabo.kernels.exponentials`) depend on its bandwidth. A function with
the symmetric matrix of derivatives :math:`S` by :math:`r^2` of all pairs, and with :math:`L = \mathrm{diag}(S 1) - S`,
changes with it as

.. math:: \frac{\partial}{\partial \ln h_i}
          = 4 \operatorname{tr}\Bigl(\frac{\partial\Phi_i^\top}{\partial\ln h_i} L \Phi_i\Bigr) .
"""

from __future__ import annotations

import numpy as np
import torch

from betabo.kernels.box import log_boundary_factor, log_boundary_factor_slope_by_bandwidth
from betabo.kernels.box_form import BoxForm
from betabo.kernels.closed_form import Array, AtParameters, ByParameters, Places, product, to_size
from betabo.kernels.exponentials import choose_rule, features_with_slopes


class BetaForm(BoxForm):
    """The closed form of the Beta kernel.

    By parameters there is none where the boundary weight is learned, where a bandwidth is too small for the kernel's
    tolerance, or where the kernel is told to sum log-gammas.
    """

    def by_parameters(self, x: Array, places: Places) -> ByParameters | None:
        """The Gaussian of the Beta distance, times the boundary factors of both points."""
        kernel = self.kernel
        if kernel.method == "lgamma" or kernel.learns_boundary_weight:
            return None
        points, place, weight = torch.from_numpy(x), places[kernel.raw_bandwidth], kernel.boundary_weight
        dims, bounded = x.shape[-1], kernel.log_scale(points) is not None
        ones = torch.ones(dims, dtype=torch.float64)

        def at(vector: Array) -> AtParameters | None:
            bandwidth = torch.from_numpy(np.exp(vector[place])).expand(dims)
            rule = choose_rule(bandwidth, ones, 2 * kernel.tolerance)
            if rule is None:
                return None
            phi, phi_slopes = features_with_slopes(points, bandwidth, rule)
            features, slopes = phi.flatten(1).numpy(), phi_slopes.numpy()
            covariance = product(features, features.T)
            norms = 0.5 * covariance.diagonal()
            if bounded:
                norms = norms - log_boundary_factor(points, bandwidth, weight).squeeze(-1).numpy()
            covariance -= norms
            covariance -= norms[:, None]
            np.exp(covariance, out=covariance)

            def add_gradient(slope: Array, gradient: Array) -> None:
                by_log = slope * covariance
                by_point = by_log.sum(axis=1)
                lifted = product(by_log, features)
                lifted -= by_point[:, None] * features
                by_bandwidth = 2 * np.einsum("ndq,ndq->d", slopes, lifted.reshape(slopes.shape))
                if bounded:
                    factor_slopes = log_boundary_factor_slope_by_bandwidth(points, bandwidth, weight)
                    by_bandwidth += 2 * (by_point @ factor_slopes.numpy())
                gradient[place] += to_size(by_bandwidth, place)

            return AtParameters(covariance, add_gradient)

        return at
