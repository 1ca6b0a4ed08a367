r"""TuRBO-1: Bayesian optimization in one trust region, after Eriksson et al. (NeurIPS 2019).

The region is a box around the best point, with sides proportional to the length scales :math:`\ell_i` of the model:

.. math:: L_i = L \, \ell_i \Big/ \Big(\prod_j \ell_j\Big)^{1/d}.

:math:`L` doubles after some successes in a row and halves after some failures in a row. When it is too short, the
region is given up and a new one begins with a design of its own. The next point is the minimum of one sample of the
posterior over random candidates in the region.
"""

from __future__ import annotations

import time
from typing import Any

import gpytorch
import numpy as np
import torch
from botorch.exceptions.errors import ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.constraints import Interval
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor
from torch.quasirandom import SobolEngine

from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.observed import Observed
from betabo.lab.bench.optimizers.peer import PeerSearch

_FIRST, _LONGEST, _SHORTEST = 0.8, 1.6, 2.0**-7  # of L, in sides of the box
_SUCCESSES = 3  # in a row after which L doubles, as in the paper of TuRBO
_PROGRESS = 1e-3  # share of the best value by which a success is better


class TurboSearch(PeerSearch):
    """TuRBO with one trust region and one point at a time."""

    def own_design(self) -> Point:
        """Two Sobol points a coordinate, as for each later region."""
        return self.sobol(2 * len(self.low))

    def begin(self) -> None:
        """The starting points are the design of the first region."""
        self._tolerance = max(4, len(self.low))  # failures in a row
        self._figures: dict[str, Any] = {}
        self._design: list[Point] = []
        self._new_region()

    def _new_region(self) -> None:
        self._observed = Observed()
        self._length = _FIRST
        self._won = self._lost = 0
        self._in_region = False

    def propose(self) -> Point:
        """The next point of the region, or of its design."""
        self._in_region = False
        if self._design:
            return self.from_unit(self._design.pop())
        if self._observed.empty:
            return self.from_unit(torch.rand(len(self.low), dtype=torch.float64).numpy())
        self._in_region = True
        began = time.perf_counter()
        x, y = self._observed.tensors()
        model = fitted_model(x, y)
        fitted = time.perf_counter()
        lengthscale = model.covar_module.base_kernel.lengthscale.detach().flatten()
        unit = lowest_of_sample(model, candidates(x[y.argmin()], region_sides(lengthscale, self._length)))
        self._figures = {
            "lengthscale": lengthscale.tolist(),
            "noise": float(model.likelihood.noise),
            "fit_seconds": fitted - began,
            "acquisition_seconds": time.perf_counter() - fitted,
        }
        return self.from_unit(unit.numpy())

    def observe(self, point: Point, value: float) -> None:
        """Add the value to the data and resize the region."""
        success = False
        if self._in_region:
            best = float(self._observed.tensors()[1].min())
            success = value < best - _PROGRESS * abs(best)
        self._observed.add(self.to_unit(point), value)
        self._resize(success)

    def fail(self, point: Point) -> None:
        """Add a failure to the data and resize the region."""
        self._observed.add(self.to_unit(point), np.nan)
        self._resize(False)

    def diagnostics(self) -> dict[str, Any]:
        """Figures of the last step, see `OptimizerAdapter.diagnostics`."""
        return self._figures

    def _resize(self, success: bool) -> None:
        if not self._in_region:
            return
        self._won, self._lost = (self._won + 1, 0) if success else (0, self._lost + 1)
        if self._won == _SUCCESSES:
            self._length, self._won = min(2 * self._length, _LONGEST), 0
        elif self._lost == self._tolerance:
            self._length, self._lost = self._length / 2, 0
        if self._length < _SHORTEST:
            self._new_region()
            self._design = list(_sobol(len(self.low), 2 * len(self.low)).numpy())


def fitted_model(x: Tensor, y: Tensor) -> SingleTaskGP:
    """The Gaussian process of a region: Matérn-5/2 with one length scale a coordinate, of standardized values.

    Args:
        x: Points of the unit cube, `n x d`.
        y: Their values, `n`.
    """
    kernel = MaternKernel(nu=2.5, ard_num_dims=x.shape[-1], lengthscale_constraint=Interval(0.005, 2.0))
    model = SingleTaskGP(
        x,
        y.unsqueeze(-1),
        covar_module=ScaleKernel(kernel, outputscale_constraint=Interval(0.05, 20.0)),
        likelihood=GaussianLikelihood(noise_constraint=Interval(5e-4, 0.1)),
    )
    try:
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    except ModelFittingError:  # the hyperparameters are then those it began with
        model.eval()
    return model


def region_sides(lengthscale: Tensor, length: float) -> Tensor:
    """Sides of the region, `d`: proportional to the length scales, with `length` as their geometric mean."""
    return length * lengthscale / lengthscale.log().mean().exp()


def candidates(centre: Tensor, sides: Tensor) -> Tensor:
    """Random points in the region, which differ from its centre in about 20 coordinates, `m x d`."""
    dims = len(centre)
    count = min(100 * dims, 5000)
    low, high = (centre - sides / 2).clamp(0, 1), (centre + sides / 2).clamp(0, 1)
    points = low + (high - low) * _sobol(dims, count)
    moved = torch.rand(count, dims) <= min(1.0, 20 / dims)
    moved[torch.arange(count), torch.randint(dims, (count,))] |= ~moved.any(-1)
    return torch.where(moved, points, centre)


def lowest_of_sample(model: SingleTaskGP, points: Tensor) -> Tensor:
    """The point, `d`, of `points`, `m x d`, at which one joint sample of the posterior is lowest."""
    exact = gpytorch.settings.max_cholesky_size(len(points) + 1), gpytorch.settings.cholesky_max_tries(8)
    with torch.no_grad(), exact[0], exact[1]:
        sample = model.posterior(points).rsample(torch.Size([1]))
    return points[sample.flatten().argmin()]


def _sobol(dims: int, count: int) -> Tensor:
    seed = int(torch.randint(2**31 - 1, ()))
    return SobolEngine(dims, scramble=True, seed=seed).draw(count, dtype=torch.float64)
