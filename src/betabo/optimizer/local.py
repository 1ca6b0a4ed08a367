r"""A step near the best point: what a quadratic model in a shrinking neighbourhood does for smooth functions.

The model of the whole cube is a poor guide along a narrow, bent valley: its length scales and its transform of the
values are those of the cube. Near the best point most functions are close to a quadratic one. A local step models the
points nearest to the best one by a Gaussian process of

.. math:: k(z, z') = \frac a9 \Bigl(1 + \frac2d\, z^\top z'\Bigr)^2
          + b\, \mathrm{Matern}_{5/2}\Bigl(\frac{\lVert z - z' \rVert}{l}\Bigr)

in coordinates :math:`z` relative to the best point and in radii, with values that are not transformed, and maximizes
expected improvement within the radius and the cube. Categories are held: only numbers move, and only points with the
categories of the best one are data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import LogExpectedImprovement, UpperConfidenceBound
from gpytorch.constraints import Interval
from gpytorch.kernels import AdditiveKernel, MaternKernel, ScaleKernel
from gpytorch.priors import LogNormalPrior
from scipy.spatial.distance import pdist
from torch import Tensor

from betabo.acquisition.lean import lean_form
from betabo.acquisition.maximize import Ascend, climb, maximize, with_slopes
from betabo.kernels.quadratic import QuadraticKernel
from betabo.optimizer.data import Data, Points
from betabo.problem.region import Region
from betabo.surrogate import FitState, GaussianProcess, NoisePrior, fit_gp
from betabo.surrogate.likelihood import Noise

Snap = Callable[[Points], Points]

_NOISE = NoisePrior(location=-16.0, deviation=4.0, start=math.exp(-16.0), lowest=1e-12)
"""Values near a bowl's bottom differ by far less than those around it, so much less noise must be possible."""

_MAX_ITERATIONS = 25  # of a fit, which begins where the last one ended
_INCUMBENTS = 5
_MAX_ITERATIONS_DOWN = 100
_MOST_BITS = 400  # of the largest value, so that squares of values do not overflow
_MOST_POINTS = 500  # of which there are fewer in up to 28 dimensions, where they are those of a quadratic polynomial


@dataclass(frozen=True)
class LocalStep:
    """A proposal near the best point.

    Attributes:
        ranked: Admissible points of the unit cube, `k x d`, best first.
        state: Hyperparameters to start the next fit from.
        diagnostics: Figures of the fit, JSON-able.
    """

    ranked: Points
    state: FitState
    diagnostics: dict[str, Any]


def local_step(
    data: Data,
    pending: Points,
    radius: float,
    *,
    seed: int,
    noise: Noise = "unknown",
    state: FitState | None = None,
    numeric: npt.NDArray[np.bool_] | None = None,
    snap: Snap | None = None,
    neighbours: Snap | None = None,
    region: Region | None = None,
) -> LocalStep | None:
    """Look for a better point within a radius of the best one.

    Args:
        data: What is known, of one objective without constraints.
        pending: Points that count as evaluated with their expected values, `p x d`.
        radius: How far to go in each coordinate.
        seed: Seed of the search.
        noise: As in `Config`, of values whose variance is not known.
        state: Hyperparameters of the last local fit.
        numeric: Which coordinates are numbers, `d`; None where all are.
        snap: Maps points `n x d` to admissible ones.
        neighbours: Gives the admissible points next to one, `k x d`.
        region: Where known constraints hold; no proposal lies elsewhere.

    Returns:
        The step, or None where there are too few points with the categories of the best one, or no number to move.
    """
    numeric = np.ones(data.dims, dtype=bool) if numeric is None else numeric
    dims = int(numeric.sum())
    centre = data.points[np.argmin(data.values)]
    alike = np.abs(data.points[:, ~numeric] - centre[~numeric]).max(axis=1, initial=0.0) < 0.5
    if dims == 0 or alike.sum() < dims + 2:
        return None
    here = centre[numeric]

    def inwards(points: Points) -> Points:
        """The numbers of points with the same categories, relative to the best point and in radii."""
        same = np.abs(points[:, ~numeric] - centre[~numeric]).max(axis=1, initial=0.0) < 0.5
        return np.asarray((points[same][:, numeric] - here) / radius)

    def outwards(inner: Points) -> Points:
        points = np.tile(centre, (len(inner), 1))
        points[:, numeric] = np.clip(here + radius * inner, 0.0, 1.0)
        return points

    z, values = inwards(data.points), data.values[alike]
    distance = np.linalg.norm(z, axis=1)
    count = min((dims + 1) * (dims + 2) // 2 + 2 * dims, _MOST_POINTS)
    nearest = np.sort(np.argsort(distance, kind="stable")[:count])
    reach = distance[nearest].max()
    z, values = z[nearest], values[nearest]
    process, found, diagnostics = _fit(z, values, data.variances[alike][nearest], noise, state)
    failed = inwards(data.failed)
    failed = failed[np.linalg.norm(failed, axis=1) <= reach]
    if len(failed):
        process = process.condition(torch.from_numpy(failed), process.y.max().expand(len(failed)))
    if len(under_way := inwards(pending)):
        process = process.condition(torch.from_numpy(under_way))

    low, high = np.maximum(-1.0, -here / radius), np.minimum(1.0, (1.0 - here) / radius)
    if neighbours is not None:  # a step of an integer may be longer than the radius
        next_to = inwards(neighbours(centre))
        low = np.minimum(low, next_to.min(axis=0, initial=0.0))
        high = np.maximum(high, next_to.max(axis=0, initial=0.0))
    if snap is not None:  # what is rounded at an edge of the window may lie beyond it
        edges = inwards(snap(outwards(np.stack([low, high]))))
        low, high = np.minimum(low, edges.min(axis=0)), np.maximum(high, edges.max(axis=0))
    window = _Window(torch.from_numpy(low), torch.from_numpy(high - low))

    def admissible(points: Points) -> Points:
        points = points if snap is None else snap(points)
        return points if region is None else region.repair(points, centre[None])

    def snap_inside(inside: Tensor) -> Tensor:
        points = admissible(outwards(window.outwards(inside).numpy()))
        return window.inwards(torch.from_numpy((points[:, numeric] - here) / radius)).clamp(0, 1)

    improvement = LogExpectedImprovement(process, best_f=process.y.min(), maximize=False)
    order = np.argsort(values, kind="stable")[:_INCUMBENTS]
    incumbents = window.inwards(torch.from_numpy(z[order])).clamp(0, 1)
    bottom = UpperConfidenceBound(process, beta=0.0, maximize=False)
    lowest = climb(window.look(bottom), incumbents[:1], _MAX_ITERATIONS_DOWN)
    candidates, _ = maximize(
        window.look(improvement),
        torch.cat([lowest, incumbents]),
        seed=seed,
        snap=snap_inside,
        ascend=None if region is None else _in_region(region, window, centre, numeric, radius),
    )
    ranked = admissible(outwards(window.outwards(candidates).numpy()))
    return LocalStep(ranked, found, {**diagnostics, "radius": radius})


def _in_region(
    region: Region, window: _Window, centre: Points, numeric: npt.NDArray[np.bool_], radius: float
) -> Ascend:
    """Climbing in a window around the best point and within the region."""
    here = centre[numeric]

    def outwards(inside: Points) -> Points:
        points = np.tile(centre, (len(inside), 1))
        points[:, numeric] = np.clip(here + radius * window.outwards(torch.from_numpy(inside)).numpy(), 0.0, 1.0)
        return points

    def inwards(points: Points) -> Points:
        return window.inwards(torch.from_numpy((points[..., numeric] - here) / radius)).clamp(0, 1).numpy()

    def ascend(function: Callable[[Points], tuple[float, Points]], starts: Points, iterations: int) -> Points:
        def of_point(point: Points) -> tuple[float, Points]:
            value, inner = function(inwards(point))
            slope = np.zeros(len(centre))
            slope[numeric] = inner / (radius * window.width.numpy())
            return value, slope

        low, high = outwards(np.zeros((1, len(here))))[0], outwards(np.ones((1, len(here))))[0]
        return inwards(region.ascend(of_point, outwards(starts), iterations, low, high))

    return ascend


def _fit(
    z: Points, values: Points, variances: Points, noise: Noise, state: FitState | None
) -> tuple[GaussianProcess, FitState, dict[str, Any]]:
    halvings = max(0, int(np.frexp(values)[1].max()) - _MOST_BITS)  # exact, and none for values of usual size
    values, variances = np.ldexp(values, -halvings), np.ldexp(variances, -2 * halvings)
    lowest = float(values.min())
    scale = float((values - lowest).std()) or 1.0
    if isinstance(noise, (int, float)):
        noise = math.ldexp(noise, -2 * halvings) / scale**2
    process, found, report = fit_gp(
        torch.from_numpy(z),
        torch.from_numpy((values - lowest) / scale),
        local_covariance(_typical_distance(z)),
        noise=noise,
        variances=None if np.isnan(variances).all() else torch.from_numpy(variances / scale**2),
        noise_prior=_NOISE,
        warm_start=state,
        restarts=0,
        max_iterations=_MAX_ITERATIONS,
    )
    diagnostics = {
        "fit": report.status,
        "fit_seconds": report.seconds,
        "fit_evaluations": report.evaluations,
        "fit_messages": list(report.messages),
        "local_noise": found.noise,
    }
    return process, found, diagnostics


def local_covariance(distance: float) -> AdditiveKernel:
    """The kernel of local steps.

    Args:
        distance: A typical distance of the data, of which the length scale is expected to be twice as long.
    """
    quadratic = ScaleKernel(
        QuadraticKernel(),
        outputscale_prior=LogNormalPrior(math.log(10.0), 4.0),
        outputscale_constraint=_positive(1e-6, 1e6, 10.0),
    )
    rest = ScaleKernel(
        MaternKernel(
            nu=2.5,
            lengthscale_prior=LogNormalPrior(math.log(2 * distance), 1.0),
            lengthscale_constraint=_positive(0.1 * distance, 20 * distance, 2 * distance),
        ),
        outputscale_prior=LogNormalPrior(math.log(0.1), 4.0),
        outputscale_constraint=_positive(1e-10, 1e6, 0.1),
    )
    return AdditiveKernel(quadratic, rest).double()


def _positive(low: float, high: float, start: float) -> Interval:
    return Interval(low, high, transform=None, initial_value=start)


def _typical_distance(z: Points) -> float:
    return float(np.median(pdist(z))) or 1.0


@dataclass(frozen=True)
class _Window:
    """A box whose points are written as points of the unit cube, `n x d`."""

    low: Tensor
    width: Tensor

    def inwards(self, points: Tensor) -> Tensor:
        return (points - self.low) / self.width

    def outwards(self, inside: Tensor) -> Tensor:
        return self.low + self.width * inside

    def look(self, acquisition: AcquisitionFunction) -> AcquisitionFunction:
        return _Through(lean_form(acquisition), self)


class _Through(AcquisitionFunction):
    """A function of points of a box as a function of points of the unit cube."""

    def __init__(self, acquisition: AcquisitionFunction, window: _Window) -> None:
        super().__init__(model=acquisition.model)
        self.acquisition, self.window = acquisition, window

    def forward(self, X: Tensor) -> Tensor:  # noqa: N803
        values: Tensor = self.acquisition(self.window.outwards(X))
        return values

    def with_slopes(self, points: Points) -> tuple[Points, Points]:
        """See `betabo.acquisition.maximize.HasSlopes`."""
        inside = self.window.outwards(torch.from_numpy(points)).numpy()
        values, slopes = with_slopes(self.acquisition)(inside)
        return values, slopes * self.window.width.numpy()
