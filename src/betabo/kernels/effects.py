"""The kernel of main effects: sums of functions of one coordinate each."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from gpytorch.constraints import Interval
from gpytorch.priors import Prior
from torch import Tensor
from torch.autograd import Function

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
from betabo.kernels.cube import CubeKernel
from betabo.kernels.radial import POLYNOMIALS, decay_of, matern, matern_profile, matern_slope

_NU = 2.5  # roughness, as that of BetaMaternKernel by default: its functions are twice differentiable
_MOST_PAIRS = 50_000  # all pairs of so many points are kept with their distances; beyond that memory matters more
_AT_ONCE = 2**20  # pairs times coordinates whose terms are kept; of more they are computed block by block, and again
_BLOCK = 2**17  # pairs times coordinates of a block
_CACHED = 2**17  # numbers that fit into a cache together with two more of their kind


class MainEffectsKernel(CubeKernel):
    r"""Matern-5/2 covariance of each coordinate by itself, averaged.

    .. math::
        k(\mathbf x, \mathbf x') = \frac1d \sum_{i=1}^d
            \mathrm{Matern}_{5/2}\Bigl(\frac{|\varphi(x_i) - \varphi(x'_i)|}{l_i}\Bigr), \qquad
        \varphi(x) = \frac{\arcsin(a (2x - 1))}{2a}

    Its functions are sums of functions of one coordinate each, which can be learned from few points in many dimensions.
    Few functions are such sums, but many are close to one: added to a kernel of all coordinates, it takes over what can
    be learned coordinate by coordinate and leaves the interactions to the other.

    :math:`\varphi` is the arc length of a line whose local length at :math:`x` is proportional to
    :math:`(x (1 - x) + c)^{-1/2}` with :math:`a = (1 + 4c)^{-1/2}`: the `bend` :math:`a` says how much farther apart
    points are near a face than at the centre, by the factor :math:`(1 - a^2)^{-1/2}` on it. With :math:`a \to 1` it is
    :math:`\arcsin\sqrt x`, to which the Beta distance of nearby points tends with small bandwidths. The length scales
    mean at the centre what they mean in `gpytorch.kernels.MaternKernel`.

    Args:
        ard_num_dims: Number of coordinates `d`, each with a length scale of its own; None shares one length scale.
        bend: :math:`a`, at least 0 and less than 1.
        lengthscale_prior: Prior of the length scales.
        lengthscale_constraint: Constraint of the length scales, positive by default.
        kwargs: `batch_shape`, `active_dims` and whatever else `gpytorch.kernels.Kernel` takes.

    Example:
        >>> x = torch.rand(10, 5, dtype=torch.float64)
        >>> covar_module = ScaleKernel(MainEffectsKernel(5)) + ScaleKernel(BetaMaternKernel(ard_num_dims=5))
        >>> covar = covar_module(x)  # 10 x 10
    """

    has_lengthscale = True

    def __init__(
        self,
        ard_num_dims: int | None = None,
        bend: float = 0.9,
        lengthscale_prior: Prior | None = None,
        lengthscale_constraint: Interval | None = None,
        **kwargs: Any,
    ) -> None:
        if not 0 <= bend < 1:
            raise ValueError(f"bend is {bend!r}, expected a number of at least 0 and less than 1.")
        super().__init__(
            ard_num_dims=ard_num_dims,
            lengthscale_prior=lengthscale_prior,
            lengthscale_constraint=lengthscale_constraint,
            **kwargs,
        )
        self.bend = bend
        self._pairs: _Pairs | None = None

    @property
    def is_stationary(self) -> bool:
        """Whether only differences of points count."""
        return self.bend == 0

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, last_dim_is_batch: bool = False, **_: Any) -> Tensor:
        """Covariance of the points `x1`, `... x n x d`, and `x2`, `... x m x d`, of the unit cube."""
        if last_dim_is_batch:
            raise NotImplementedError("MainEffectsKernel does not support last_dim_is_batch; use batch_shape instead.")
        same = x1 is x2
        x1 = self.check_points(x1)
        if diag and same:
            return torch.ones_like(x1[..., 0])
        if same and x1.dim() == 2 and not self.batch_shape and not x1.requires_grad and _few(x1):
            lengthscale = self.lengthscale.squeeze(0).expand(x1.shape[-1])
            if not (torch.is_grad_enabled() and lengthscale.requires_grad):
                return _of_points(arc_length(x1, self.bend) / lengthscale)
            covariance: Tensor = _OfPairs.apply(self._pairs_of(x1), lengthscale)  # type: ignore[no-untyped-call]
            return covariance
        u1 = arc_length(x1, self.bend) / self.lengthscale
        u2 = u1 if same else arc_length(self.check_points(x2), self.bend) / self.lengthscale
        if diag:
            return matern_profile((u1 - u2).square(), _NU).mean(dim=-1)
        coordinates = zip(u1.unbind(dim=-1), u2.unbind(dim=-1), strict=True)
        zero = torch.zeros((), dtype=u1.dtype, device=u1.device)
        total = sum(  # coordinate by coordinate: memory of the order of the result
            (matern_profile((a.unsqueeze(-1) - b.unsqueeze(-2)).square(), _NU) for a, b in coordinates), start=zero
        )
        return total / x1.shape[-1]

    def _pairs_of(self, x: Tensor) -> _Pairs:
        if self._pairs is None or not self._pairs.are_of(x, self.bend):
            self._pairs = _Pairs(x.clone(), self.bend)
        return self._pairs

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_pairs": None}


def arc_length(x: Tensor, bend: float) -> Tensor:
    r"""The coordinates :math:`\varphi(x)` of `MainEffectsKernel`, zero at the centre."""
    if bend == 0:
        return x - 0.5
    return torch.asin(bend * (2 * x - 1)) / (2 * bend)


def arc_length_slope(x: Tensor, bend: float) -> Tensor:
    """The derivative of `arc_length`."""
    return (1 - (bend * (2 * x - 1)).square()).rsqrt()


def _few(x: Tensor) -> bool:
    return len(x) * (len(x) - 1) <= 2 * _MOST_PAIRS


def _of_points(placed: Tensor) -> Tensor:
    """The covariance matrix of points, `n x d`, whose coordinates are in length scales. No pairs are kept."""
    count, dims = placed.shape
    rows, columns = torch.triu_indices(count, count, offset=1, device=placed.device)
    values = torch.zeros(len(rows), dtype=placed.dtype, device=placed.device)
    for block in placed.mT.split(max(1, _BLOCK // max(len(rows), 1))):
        s = (block[:, rows] - block[:, columns]).abs_().mul_(math.sqrt(2 * _NU))
        values += matern(s, torch.exp(-s), _NU).sum(dim=0)
    return _symmetric(values / dims, rows, columns, count)


def _symmetric(values: Tensor, rows: Tensor, columns: Tensor, count: int) -> Tensor:
    """A correlation matrix from its values above the diagonal."""
    matrix = torch.ones(count, count, dtype=values.dtype, device=values.device)
    matrix[rows, columns] = values
    matrix[columns, rows] = values
    return matrix


class _Pairs:
    """All pairs of some points and their distances in each coordinate, which stay the same while a kernel is fitted."""

    def __init__(self, x: Tensor, bend: float) -> None:
        self.x, self.bend = x, bend
        self.rows, self.columns = torch.triu_indices(len(x), len(x), offset=1, device=x.device)
        u = arc_length(x, bend).mT
        self.distances = (u[:, self.rows] - u[:, self.columns]).abs()  # d x p

    def are_of(self, x: Tensor, bend: float) -> bool:
        """Whether these are the pairs of `x`."""
        same_kind = self.x.dtype == x.dtype and self.x.device == x.device and self.bend == bend
        return same_kind and self.x.shape == x.shape and torch.equal(self.x, x)


class _OfPairs(Function):
    r"""The covariance matrix of all pairs, with :math:`\mathrm{d} s^2 / \mathrm{d}l = -2 s^2 / l`."""

    @staticmethod
    def forward(ctx: Any, pairs: _Pairs, lengthscale: Tensor) -> Tensor:
        count = len(pairs.x)
        s = _scaled(pairs, lengthscale)
        decay = torch.exp(-s)
        ctx.pairs = pairs
        ctx.save_for_backward(s, decay, lengthscale)
        return _symmetric(matern(s, decay, _NU).mean(dim=0), pairs.rows, pairs.columns, count)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[None, Tensor]:
        (grad,) = grad_outputs
        s, decay, lengthscale = ctx.saved_tensors
        pairs = ctx.pairs
        if torch.is_grad_enabled():  # second derivatives need to know where s comes from
            s = _scaled(pairs, lengthscale)
            decay = torch.exp(-s)
        by_pair = grad[pairs.rows, pairs.columns] + grad[pairs.columns, pairs.rows]
        slopes = matern_slope(s, decay, _NU) * s * s
        return None, slopes @ by_pair * (-2 / len(s)) / lengthscale


def _scaled(pairs: _Pairs, lengthscale: Tensor) -> Tensor:
    return pairs.distances * (math.sqrt(2 * _NU) / lengthscale).unsqueeze(-1)


@declares(MainEffectsKernel)
class EffectsForm(ClosedForm):
    r"""The closed form of main effects.

    By points, everything is `d x b x n`, for as many points at a time as fit into a cache. By parameters, of so few
    data that all pairs are kept, the values and their derivatives are sums of :math:`r^k e^{-a r}`, `k` up to 3. Here
    :math:`r` is the distance of two points in a coordinate and :math:`a = \sqrt{2\nu}/l`, so that :math:`s = a r`.
    """

    kernel: MainEffectsKernel

    def by_points(self, x: Array) -> ByPoints:  # noqa: D102
        bend, dims = self.kernel.bend, x.shape[-1]
        lengthscale = self.kernel.lengthscale.detach().double().squeeze(0).expand(dims)
        stretch: Array = math.sqrt(2 * _NU) / lengthscale.numpy()

        def place(points: Array) -> Array:
            placed: Array = arc_length(torch.from_numpy(points), bend).numpy() * stretch
            return placed

        data = place(x).T[:, None]  # d x 1 x n
        rows = max(1, _CACHED // data.size)

        def covariances(placed: Array) -> Array:
            s = placed.T[:, :, None] - data
            np.abs(s, out=s)
            covariance: Array = matern(s, decay_of(s), _NU).sum(axis=0)
            covariance /= dims
            return covariance

        def slopes(placed: Array, weights: Array) -> Array:
            difference = placed.T[:, :, None] - data
            s = np.abs(difference)
            difference *= matern_slope(s, decay_of(s), _NU)
            by_place: Array = np.einsum("dbn,bn->bd", difference, weights)
            return by_place

        def at(points: Array) -> AtPoints:
            placed = place(points)
            starts = range(0, len(points), rows)

            def gradient(by_covariance: Array, by_variance: Array) -> Array:
                del by_variance  # the prior variance is the same everywhere
                parts = [slopes(placed[i : i + rows], by_covariance[i : i + rows]) for i in starts]
                total: Array = np.concatenate(parts) * (2 / dims)
                total *= arc_length_slope(torch.from_numpy(points), bend).numpy() * stretch
                return total

            covariance = np.concatenate([covariances(placed[i : i + rows]) for i in starts])
            return AtPoints(covariance, np.ones(len(points)), gradient)

        return at

    def by_parameters(self, x: Array, places: Places) -> ByParameters | None:  # noqa: D102
        count, dims = x.shape
        points = torch.from_numpy(x)
        if not _few(points) or self.kernel.lengthscale.numel() not in (1, dims):
            return None
        pairs, place = _Pairs(points, self.kernel.bend), places[self.kernel.raw_lengthscale]
        rows, columns, distances = pairs.rows.numpy(), pairs.columns.numpy(), pairs.distances.numpy()
        rate, length = math.sqrt(2 * _NU), dims
        if distances.size > _AT_ONCE:
            length = max(1, _BLOCK // len(rows))
        blocks = [slice(start, min(start + length, dims)) for start in range(0, dims, length)]
        terms = np.empty((4, length, len(rows)))  # kept: fresh memory would take longer than the arithmetic
        upper = rows * count + columns  # of each pair, its place in the flat matrix
        pair = np.full((count, count), len(rows))  # of each entry, its pair; the diagonal comes last
        pair[rows, columns] = pair[columns, rows] = np.arange(len(rows))

        def powers(a: Array, block: slice) -> Array:
            """The terms r^k e^(-a r) of the coordinates of a block, k from 0 to 3."""
            some = terms[:, : block.stop - block.start]
            np.multiply(distances[block], -a[block, None], out=some[0])
            np.exp(some[0], out=some[0])
            for term, following in pairwise(some):
                np.multiply(term, distances[block], out=following)
            return some

        def at(vector: Array) -> AtParameters:
            a = np.broadcast_to(rate * np.exp(-vector[place]), dims)
            coefficients = np.stack([c * a**k for k, c in enumerate(POLYNOMIALS[_NU])]) / dims
            values = np.zeros(len(rows))
            for block in blocks:
                some = powers(a, block)
                values += product(coefficients[:, block].reshape(-1), some[:3].reshape(-1, len(rows)))

            def add_gradient(slope: Array, gradient: Array) -> None:
                slopes, by_log = slope.take(upper), np.empty(dims)
                first, second = POLYNOMIALS[_NU - 1]
                for block in blocks:
                    some = terms if len(blocks) == 1 else powers(a, block)
                    square, cube = product(some[2:].reshape(-1, len(rows)), slopes).reshape(2, -1)
                    by_log[block] = first * square + second * a[block] * cube
                # Every pair counts twice, and by ln l the derivative is -2 s^2 times that by s^2.
                by_log *= a**2 / ((_NU - 1) * dims)
                gradient[place] += to_size(by_log, place)

            return AtParameters(np.append(values, 1.0).take(pair), add_gradient)

        return at
