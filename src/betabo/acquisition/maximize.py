"""Where an acquisition function is largest on the unit cube, its faces and vertices included.

Gradient ascent finds a maximum on a face only from a start that leads there. Random starts do not in many dimensions:
nearly all of them are far from every vertex. So starts are drawn from four places: all over the cube, around the
best points found so far, at those points with some coordinates moved onto faces, and at vertices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched
from torch import Tensor
from torch.quasirandom import SobolEngine

Array: TypeAlias = npt.NDArray[np.float64]

Ascend: TypeAlias = Callable[[Callable[[Array], tuple[float, Array]], Array, int], Array]
"""A way to climb: of a function with its slope, starts `n x d` and a number of iterations; it gives points `n x d`."""


WithSlopes: TypeAlias = Callable[[Array], tuple[Array, Array]]
"""Values of a function, `b`, and its slopes, `b x d`, at points `b x d`."""


@runtime_checkable
class HasSlopes(Protocol):
    """An acquisition function that gives its slopes itself, without autograd."""

    def with_slopes(self, points: Array) -> tuple[Array, Array]:
        """Values, `b`, and slopes, `b x d`, at points `b x d`."""


_MOST_TURNS = 128  # coordinates of the best point that are moved onto their faces one by one


@dataclass(frozen=True)
class MaximizeOptions:
    """How hard to look.

    In 81 cases of `benchmarks/effort.py`, half or twice the samples made no clear difference to the best value found,
    15 iterations fell short more often, and more than 60 changed nothing. More starts found a higher value now and
    then, but searches with twice the starts and samples came out no better (`docs/experiments.md`).

    Attributes:
        raw_samples: Points all over the cube at which the function is looked at first.
        local_samples: Points around the incumbents, and as many with coordinates on faces.
        starts: Points of each kind from which gradient ascent begins.
        max_iterations: Iterations of gradient ascent.
    """

    raw_samples: int = 256
    local_samples: int = 128
    starts: int = 2
    max_iterations: int = 60


def maximize(
    acquisition: AcquisitionFunction,
    incumbents: Tensor,
    *,
    seed: int,
    options: MaximizeOptions | None = None,
    snap: Callable[[Tensor], Tensor] | None = None,
    ascend: Ascend | None = None,
    more: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Maximize over the unit cube by bound-constrained gradient steps from many kinds of starts.

    Args:
        acquisition: Function of t-batches `b x 1 x d`.
        incumbents: The best points known, best first, `k x d`.
        seed: Seed of the starts.
        options: How hard to look.
        snap: Maps points `b x d` to admissible ones, for discrete coordinates and known constraints.
        ascend: How to climb from the starts; None climbs in the whole cube.
        more: Further points at which to look first, `n x d`.

    Returns:
        Points, `m x d`, best first, and their values, `m`. The first is the answer; the others are what to take if
        it has been evaluated already.
    """
    options = MaximizeOptions() if options is None else options
    snap = (lambda points: points) if snap is None else snap
    kinds = [snap(points) for points in starting_points(incumbents, options, seed)]
    kinds += [] if more is None else [more]
    values = [_evaluate(acquisition, points) for points in kinds]
    chosen = []
    for points, scores in zip(kinds, values, strict=True):
        best = scores.topk(min(options.starts, len(scores))).indices
        chosen.append(points[best])
    starts = torch.unique(torch.cat(chosen), dim=0)
    if ascend is None:
        ascended = climb(acquisition, starts, options.max_iterations)
    else:
        ascended = torch.from_numpy(ascend(_of_one_point(acquisition), starts.numpy(), options.max_iterations))
    ascended = _onto_near_faces(ascended.clamp(0, 1), reach=1e-9)  # where rounding kept it off
    finalists = snap(torch.cat([_onto_near_faces(ascended), ascended, starts]))
    scores = _evaluate(acquisition, finalists)
    everything, all_scores = torch.cat([finalists, *kinds]), torch.cat([scores, *values])
    order = all_scores.argsort(descending=True, stable=True)
    return everything[order], all_scores[order]


def starting_points(incumbents: Tensor, options: MaximizeOptions, seed: int) -> list[Tensor]:
    """Points at which to look first: all over the cube, around the incumbents, with coordinates on faces, vertices.

    Args:
        incumbents: The best points known, best first, `k x d`.
        options: How many of each kind.
        seed: Seed of the random ones.

    Returns:
        Four sets of points, each `n x d`.
    """
    dims = incumbents.shape[-1]
    generator = np.random.default_rng(seed)
    everywhere = SobolEngine(dims, scramble=True, seed=seed).draw(options.raw_samples, dtype=torch.float64)
    centres = incumbents.cpu().double().numpy()
    count = options.local_samples
    base = centres[generator.integers(len(centres), size=count)]
    moved = _some_coordinates(generator, count, dims)
    width = 10.0 ** generator.uniform(-3, -0.7, size=(count, 1))
    around = np.clip(base + moved * width * generator.standard_normal((count, dims)), 0, 1)

    base = centres[generator.integers(len(centres), size=count)]
    faces = generator.integers(2, size=(count, dims)).astype(np.float64)
    nearest = np.where(generator.random((count, 1)) < 0.5, np.round(base), faces)
    onto_faces = np.where(_some_coordinates(generator, count, dims), nearest, base)
    turns = np.arange(dims)
    if dims > _MOST_TURNS:
        turns = np.sort(generator.choice(dims, _MOST_TURNS, replace=False))
    single = np.repeat(centres[:1], 2 * len(turns), axis=0)  # the best point with one coordinate on a face, in turn
    single[np.arange(len(turns)), turns] = 0.0
    single[len(turns) + np.arange(len(turns)), turns] = 1.0
    vertices = np.concatenate([np.round(centres), generator.integers(2, size=(count // 4, dims)).astype(np.float64)])
    sets = [everywhere.numpy(), around, np.concatenate([onto_faces, single]), vertices]
    return [torch.from_numpy(points).to(incumbents) for points in sets]


def climb(acquisition: AcquisitionFunction, starts: Tensor, max_iterations: int) -> Tensor:
    """Where gradient ascent by L-BFGS-B ends, from all starts at once and within the unit cube.

    Args:
        acquisition: Function of t-batches `b x 1 x d`.
        starts: Points of the unit cube, `m x d`.
        max_iterations: Iterations from each.

    Returns:
        Points, `m x d`, each the best one met from its start.
    """
    function = with_slopes(acquisition)

    def descent(points: Array) -> tuple[Array, Array]:
        values, slopes = function(points)
        return -values, np.nan_to_num(-slopes)

    box = [(0.0, 1.0)] * starts.shape[-1]
    x0 = starts.numpy()
    found, _, _ = fmin_l_bfgs_b_batched(descent, x0, bounds=box, maxiter=max_iterations)  # type: ignore[no-untyped-call]
    return torch.from_numpy(found).to(starts)


def with_slopes(acquisition: AcquisitionFunction) -> WithSlopes:
    """An acquisition function with its slopes: its own if it has any, or else by autograd."""
    if isinstance(acquisition, HasSlopes):
        return acquisition.with_slopes

    def function(points: Array) -> tuple[Array, Array]:
        x = torch.from_numpy(points).clone().requires_grad_()
        values = acquisition(x.unsqueeze(-2))
        (slopes,) = torch.autograd.grad(values.sum(), x)
        return values.detach().numpy(), slopes.numpy()

    return function


def _of_one_point(acquisition: AcquisitionFunction) -> Callable[[Array], tuple[float, Array]]:
    """The same, of one point."""
    function = with_slopes(acquisition)

    def of_one(point: Array) -> tuple[float, Array]:
        values, slopes = function(point[None])
        return float(values[0]), slopes[0]

    return of_one


def _some_coordinates(generator: np.random.Generator, count: int, dims: int) -> npt.NDArray[np.bool_]:
    """Which coordinates to move: from one to all of them, at least one in each row."""
    share = np.minimum(1.0, 2.0 ** generator.uniform(0, np.log2(dims + 1), size=(count, 1)) / dims)
    moved: npt.NDArray[np.bool_] = generator.random((count, dims)) < share
    moved[np.arange(count), generator.integers(dims, size=count)] = True
    return moved


def _onto_near_faces(points: Tensor, reach: float = 0.02) -> Tensor:
    """The points with every coordinate that is close to a face on it; they only count where their values are higher."""
    return torch.where(points < reach, 0.0, torch.where(points > 1 - reach, 1.0, points))


def _evaluate(acquisition: AcquisitionFunction, points: Tensor) -> Tensor:
    with torch.no_grad():
        values: Tensor = acquisition(points.unsqueeze(-2))
    return torch.nan_to_num(values, nan=-torch.inf, posinf=torch.finfo(values.dtype).max)
