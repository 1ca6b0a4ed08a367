r"""A step near the best point: what a quadratic model in a shrinking neighbourhood does for smooth functions.

The model of the whole cube is a poor guide along a narrow, bent valley: its length scales and its transform of the
values are those of the cube. Near the best point most functions are close to a quadratic one. A local step models the
points nearest to the best one by a Gaussian process of

.. math:: k(z, z') = a \Bigl[\frac19 \Bigl(1 + \frac2d\, z^\top z'\Bigr)^2
          + b\, \mathrm{Matern}_{5/2}\Bigl(\frac{\lVert z - z' \rVert}{l}\Bigr)\Bigr]

in coordinates :math:`z` relative to the best point and in typical distances of the points, with values that are not
transformed. It goes to the lowest mean within the radius and the cube, or, where that is the best point itself, to the
highest expected improvement. Categories are held: only numbers move, and only points with the categories of the best
one are data.

What the quadratic part leaves over is believed to be a part of the function and no noise. Of :math:`b` and :math:`l`
the most likely ones of a few are taken, with the :math:`a` that is most likely then. A gradient would lead there, too,
but not from everywhere: where one part explains all, nothing says which way the other one should change.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import LogExpectedImprovement, UpperConfidenceBound
from gpytorch.kernels import AdditiveKernel, MaternKernel, ScaleKernel
from scipy.linalg import solve_triangular
from scipy.spatial.distance import pdist, squareform
from torch import Tensor

from betabo.acquisition.lean import lean_form
from betabo.acquisition.maximize import Ascend, climb, maximize, with_slopes
from betabo.kernels.quadratic import QuadraticKernel
from betabo.kernels.radial import matern
from betabo.optimizer.data import Data, Points
from betabo.problem.region import Region
from betabo.surrogate import GaussianProcess
from betabo.surrogate.likelihood import Noise

Snap = Callable[[Points], Points]

_SHARES = (1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 100.0)
"""Of the remainder, relative to the quadratic part."""

_LENGTHS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Length scales of the remainder, in typical distances of the data."""

_SHARE, _LENGTH = (1e-2, 5.7), (2.0, 1.0)  # medians, and deviations of the logarithms, of what is believed beforehand
_AMPLITUDES = tuple(10.0**power for power in range(-2, 6))  # of the values' variance, where their noise is known
_ROUNDING = 1e-11  # of a process's variance: what keeps its covariance matrix positive definite
_LOWEST_AMPLITUDE = 1e-12
_SWEEPS = 2

_STILL = 1e-3  # of the radius: a step that is shorter leads nowhere
_INCUMBENTS = 5
_MAX_ITERATIONS_DOWN = 100
_MOST_BITS = 400  # of the largest value, so that squares of values do not overflow
_MOST_POINTS = 500  # of which there are fewer in up to 28 dimensions, where they are those of a quadratic polynomial


@dataclass(frozen=True)
class LocalStep:
    """A proposal near the best point.

    Attributes:
        ranked: Admissible points of the unit cube, `k x d`, best first.
        diagnostics: Figures of the fit, JSON-able.
    """

    ranked: Points
    diagnostics: dict[str, Any]


def local_step(
    data: Data,
    pending: Points,
    radius: float,
    *,
    seed: int,
    noise: Noise = "unknown",
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
        numeric: Which coordinates are numbers, `d`; None where all are.
        snap: Maps points `n x d` to admissible ones.
        neighbours: Gives the admissible points next to one, `k x d`.
        region: Where known constraints hold; no proposal lies elsewhere.

    Returns:
        The step, or None where there are too few points with the categories of the best one, or no number to move.
    """
    numeric = np.ones(data.dims, dtype=bool) if numeric is None else numeric
    dims = int(numeric.sum())
    if not len(data.points):
        return None
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
    unit = float(np.median(pdist(z))) or 1.0  # a typical distance, in radii
    began = time.perf_counter()
    variances = data.variances[alike][nearest]
    if isinstance(noise, (int, float)):
        variances = np.where(np.isnan(variances), noise, variances)
    process, diagnostics = _fit(z / unit, values, variances)
    diagnostics["fit_seconds"] = time.perf_counter() - began
    failed = inwards(data.failed)
    failed = failed[np.linalg.norm(failed, axis=1) <= reach]
    if len(failed):
        process = process.condition(torch.from_numpy(failed / unit), process.y.max().expand(len(failed)))
    if len(under_way := inwards(pending)):
        process = process.condition(torch.from_numpy(under_way / unit))

    low, high = np.maximum(-1.0, -here / radius), np.minimum(1.0, (1.0 - here) / radius)
    if neighbours is not None:  # a step of an integer may be longer than the radius
        next_to = inwards(neighbours(centre))
        low = np.minimum(low, next_to.min(axis=0, initial=0.0))
        high = np.maximum(high, next_to.max(axis=0, initial=0.0))
    if snap is not None:  # what is rounded at an edge of the window may lie beyond it
        edges = inwards(snap(outwards(np.stack([low, high]))))
        low, high = np.minimum(low, edges.min(axis=0)), np.maximum(high, edges.max(axis=0))
    window = _Window(torch.from_numpy(low), torch.from_numpy(high - low), unit)

    def admissible(points: Points) -> Points:
        points = points if snap is None else snap(points)
        return points if region is None else region.repair(points, centre[None])

    def snap_inside(inside: Tensor) -> Tensor:
        points = admissible(outwards(window.outwards(inside).numpy()))
        return window.inwards(torch.from_numpy((points[:, numeric] - here) / radius)).clamp(0, 1)

    order = np.argsort(values, kind="stable")[:_INCUMBENTS]
    incumbents = window.inwards(torch.from_numpy(z[order])).clamp(0, 1)
    bottom = window.look(UpperConfidenceBound(process, beta=0.0, maximize=False))
    lowest = climb(bottom, incumbents[:1], _MAX_ITERATIONS_DOWN)
    ascend = None if region is None else _in_region(region, window, centre, numeric, radius)

    def best(acquisition: AcquisitionFunction) -> Points:
        starts = torch.cat([lowest, incumbents])
        candidates, _ = maximize(acquisition, starts, seed=seed, snap=snap_inside, ascend=ascend)
        return admissible(outwards(window.outwards(candidates).numpy()))

    ranked = best(bottom) if not len(under_way) else None  # one that is under way is the bottom already
    if ranked is None or np.abs(ranked[0] - centre).max() < _STILL * radius:
        improvement = LogExpectedImprovement(process, best_f=process.y.min(), maximize=False)
        ranked = best(window.look(improvement))
    return LocalStep(ranked, {**diagnostics, "radius": radius})


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


class _Fit(NamedTuple):
    """Hyperparameters, and what they cost: their negative log posterior, up to a constant."""

    cost: float
    amplitude: float
    share: float
    length: float


def _fit(z: Points, values: Points, variances: Points) -> tuple[GaussianProcess, dict[str, Any]]:
    """The process with the most likely of a few hyperparameters.

    Args:
        z: Points relative to the best one, in typical distances, `n x d`.
        values: Their values, `n`.
        variances: The variances of the values' noise, `n`, NaN where there is none.
    """
    halvings = max(0, int(np.frexp(values)[1].max()) - _MOST_BITS)  # exact, and none for values of usual size
    values, variances = np.ldexp(values, -halvings), np.ldexp(variances, -2 * halvings)
    lowest = float(values.min())
    scale = float((values - lowest).std()) or 1.0
    y = (values - lowest) / scale
    noise = np.nan_to_num(variances) / scale**2
    evidence = _Evidence(z, y, noise)
    share, length = _SHARE[0], _LENGTH[0]
    for _ in range(_SWEEPS):
        share = min(evidence.of(other, length) for other in _SHARES).share
        length = min(evidence.of(share, other) for other in _LENGTHS).length
    found = evidence.of(share, length)
    total = noise + _ROUNDING * found.amplitude * (1 + found.share)
    kernel = local_covariance(found.amplitude, found.share, found.length)
    process = GaussianProcess(torch.from_numpy(z), torch.from_numpy(y), kernel, torch.from_numpy(total))
    diagnostics = {
        "fit": "fitted",
        "fit_evaluations": evidence.count,
        "fit_messages": [],
        "remainder": found.share,
        "remainder_length": found.length,
    }
    return process, diagnostics


class _Evidence:
    """How likely values are under the hyperparameters of the local process.

    Args:
        z: Points, `n x d`.
        y: Their values, `n`.
        noise: The variances of the values' noise, `n`.
    """

    def __init__(self, z: Points, y: Points, noise: Points) -> None:
        self._distance = squareform(pdist(z))
        self._quadratic = QuadraticKernel()(torch.from_numpy(z)).to_dense().numpy()
        self._sides = np.stack([np.ones(len(y)), y], axis=1)
        self._noise = noise
        self._known: dict[tuple[float, float], _Fit] = {}
        self._remainders: dict[float, Points] = {}

    @property
    def count(self) -> int:
        """How many were looked at."""
        return len(self._known)

    def of(self, share: float, length: float) -> _Fit:
        """The best amplitude with a share of the remainder and its length scale."""
        if (share, length) not in self._known:
            self._known[share, length] = min(self._fits(share, length))
        return self._known[share, length]

    def _fits(self, share: float, length: float) -> Iterator[_Fit]:
        if length not in self._remainders:
            scaled = math.sqrt(5) / length * self._distance
            self._remainders[length] = matern(scaled, np.exp(-scaled), 2.5)
        unscaled = self._quadratic + share * self._remainders[length]
        unscaled.flat[:: len(unscaled) + 1] += _ROUNDING * (1 + share)
        unlikely = 0.5 * (math.log(share / _SHARE[0]) / _SHARE[1]) ** 2
        unlikely += 0.5 * (math.log(length / _LENGTH[0]) / _LENGTH[1]) ** 2
        count = len(self._noise)
        if not self._noise.any():  # then the best amplitude is known in closed form
            squares, log_root = self._of_residual(unscaled)
            amplitude = max(squares / count, _LOWEST_AMPLITUDE)
            yield _Fit(0.5 * count * math.log(amplitude) + log_root + unlikely, amplitude, share, length)
            return
        for amplitude in _AMPLITUDES:
            squares, log_root = self._of_residual(amplitude * unscaled + np.diag(self._noise))
            yield _Fit(0.5 * squares + log_root + unlikely, amplitude, share, length)

    def _of_residual(self, covariance: Points) -> tuple[float, float]:
        """The square of the values less their mean under a covariance, and half the logarithm of its determinant."""
        try:
            factor = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            return math.inf, 0.0
        ones, white = solve_triangular(factor, self._sides, lower=True, check_finite=False).T
        residual = white - (ones @ white) / (ones @ ones) * ones
        return float(residual @ residual), float(np.log(factor.diagonal()).sum())


def local_covariance(amplitude: float, share: float, length: float) -> AdditiveKernel:
    """The kernel of local steps.

    Args:
        amplitude: What the quadratic part is multiplied by.
        share: The remainder's factor relative to that.
        length: The remainder's length scale.
    """
    quadratic, remainder = ScaleKernel(QuadraticKernel()), ScaleKernel(MaternKernel(nu=2.5))
    kernel = AdditiveKernel(quadratic, remainder).double()
    quadratic.outputscale, remainder.outputscale = amplitude, amplitude * share
    remainder.base_kernel.lengthscale = length
    return kernel


@dataclass(frozen=True)
class _Window:
    """A box around the best point, in radii, whose points are written as points of the unit cube, `n x d`.

    Attributes:
        low: Its lower corner.
        width: Its sides.
        unit: The unit of the process's coordinates, in radii.
    """

    low: Tensor
    width: Tensor
    unit: float

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
        values: Tensor = self.acquisition(self.window.outwards(X) / self.window.unit)
        return values

    def with_slopes(self, points: Points) -> tuple[Points, Points]:
        """See `betabo.acquisition.maximize.HasSlopes`."""
        inside = self.window.outwards(torch.from_numpy(points)).numpy() / self.window.unit
        values, slopes = with_slopes(self.acquisition)(inside)
        return values, slopes * self.window.width.numpy() / self.window.unit
