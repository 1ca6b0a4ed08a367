r"""Weighted sums of squared Beta distances between two sets of points, by either of two methods.

.. math:: r^2(x, x') = \sum_{i=1}^d w_i\, \rho_{h_i}^2(x_i, x'_i)

`"lgamma"` sums the definition coordinate by coordinate (`betabo.kernels.direct`); `"matmul"` is one matrix product of
features: Chebyshev polynomials (`betabo.kernels.matmul`), or exponentials (`betabo.kernels.exponentials`) where these
are fewer, as they are for small bandwidths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from betabo.kernels.chebyshev import choose_degrees
from betabo.kernels.direct import DirectForm
from betabo.kernels.exponentials import ExponentialRule, choose_rule, exponential_form
from betabo.kernels.matmul import FeatureCache, broadcast_shape, matmul_form
from betabo.kernels.special import beta_sq_distance

Method = Literal["auto", "matmul", "lgamma"]
METHODS: tuple[str, ...] = get_args(Method)

# Costs in nanoseconds behind the automatic choice, measured in float64 on two CPU cores. The direct form: what does not
# depend on the sizes, and a pair and coordinate without and with gradients. The matmul form: what does not depend on
# the sizes, a multiply-add of a matrix product, a feature of a point that is not known yet, and one more distinct
# number of polynomials; gradients take one more product. Exponentials depend on the bandwidth and are never known;
# their gradients take two more products and another pass over the features.
_DIRECT_FIXED, _PAIR, _PAIR_WITH_GRADIENT = 4e5, 30.0, 200.0
_MATMUL_FIXED, _MULTIPLY, _FEATURE, _GROUP = 6e5, 0.03, 5.0, 3e5
_EXPONENTIAL_FIXED, _WITH_GRADIENT = 4e5, 3.0


def sq_distance(
    x1: Tensor,
    x2: Tensor,
    bandwidth: Tensor,
    weight: Tensor,
    *,
    method: Method = "auto",
    tolerance: float = 5e-10,
    sharp: bool = False,
    cache: FeatureCache | None = None,
    scale: float = 1.0,
    offset1: Tensor | None = None,
    offset2: Tensor | None = None,
) -> Tensor:
    r""":math:`\text{scale} \cdot r^2(x, x') + o_1(x) + o_2(x')` for all pairs of points.

    The scale and the offsets ride along in the matrix product, which saves passes over the result.

    Args:
        x1: Points in the unit cube, `... x n x d`.
        x2: Points in the unit cube, `... x m x d`.
        bandwidth: Bandwidths, `... x 1 x d` (or `... x 1 x 1`).
        weight: Factors of the coordinates' squared distances, `... x 1 x d` (or `... x 1 x 1`).
        method: `"matmul"`, `"lgamma"`, or `"auto"` for the cheaper one that is accurate enough.
        tolerance: Largest absolute error of :math:`r^2` with which the matmul form is accepted.
        sharp: Whether :math:`r` itself, and not only its square, must be accurate near zero, as for a profile with a
            kink there. The closest pairs of the matmul form are then replaced by the direct form. Not with offsets.
        cache: What the matmul form keeps between calls.
        scale: Factor of the squared distances.
        offset1: Term of each point of `x1`, `... x n x 1`.
        offset2: Term of each point of `x2`, `... x m x 1`.

    Returns:
        Matrix, `... x n x m`. Where `x1` equals `x2` the distances on its diagonal are exactly zero. Elsewhere rounding
        may leave squared distances slightly below zero.
    """
    cache = FeatureCache() if cache is None else cache
    one_set = x1 is x2
    if one_set:  # the gradients with respect to the first and the second argument are kept apart
        x1, x2 = x1.view_as(x1), x2.view_as(x2)
    # What concerns the parameters alone is a few hundred numbers: a GPU would take longer to start than to compute.
    bandwidth, weight = (t.double().cpu().expand(*t.shape[:-1], x1.shape[-1]) for t in (bandwidth, weight))
    tolerance = max(tolerance / 10 if sharp else tolerance, 8 * torch.finfo(x1.dtype).eps)
    degrees = None if method == "lgamma" else choose_degrees(bandwidth, weight, tolerance)
    rule = None if method == "lgamma" else choose_rule(bandwidth, weight, tolerance)
    if method == "matmul" and degrees is None and rule is None:
        raise ValueError(
            f"method='matmul' cannot reach the tolerance {tolerance:g} at the bandwidth {bandwidth.min().item():g}; "
            "use method='auto' or 'lgamma', or a larger bandwidth or tolerance."
        )
    if degrees is not None and rule is not None:  # polynomials are the same for all bandwidths, and so come first
        degrees, rule = (degrees, None) if sum(degrees) <= len(degrees) * rule.count else (None, rule)
    known = 0 if degrees is None else cache.known_rows(x2)
    batch = broadcast_shape(x1.shape[:-2], x2.shape[:-2], bandwidth.shape[:-2], weight.shape[:-2])
    work = _Work(
        dims=x1.shape[-1],
        pairs=batch.numel() * x1.shape[-2] * x2.shape[-2],
        points=x1.shape[:-1].numel() + x2.shape[:-1].numel(),
        known=x2.shape[:-2].numel() * known,
        differentiated=torch.is_grad_enabled() and any(t.requires_grad for t in (x1, x2, bandwidth, weight)),
    )
    direct = math.inf if method == "matmul" else work.direct()
    if degrees is None or work.chebyshev(degrees) >= direct:
        on_device = (bandwidth.to(x1.device), weight.to(x1.device))
        if rule is None or work.exponentials(rule) >= direct:
            sharp = False  # it is already
            result: Tensor = DirectForm.apply(x1, x2, *on_device)  # type: ignore[no-untyped-call]
        else:
            result = exponential_form(x1, x1 if one_set else x2, *on_device, rule).to(x1.dtype)
            if _same(x1, x2):
                result.diagonal(dim1=-2, dim2=-1).zero_()
        result = scale * result
        for offset in (offset1, None if offset2 is None else offset2.mT):
            result = result if offset is None else result + offset
    else:
        # A GPU multiplies so fast that one group of coordinates is always best.
        degrees = merge_degrees(degrees, work.pairs if x1.device.type == "cpu" else 0)
        # GPyTorch asks for the covariance of query points with the training points followed by the query points.
        sizes = [known, x2.shape[-2] - known] if 0 < known < x2.shape[-2] and x1.shape[-2] < known else [x2.shape[-2]]
        offsets = [None] * len(sizes) if offset2 is None else offset2.split(sizes, dim=-2)
        blocks = [
            matmul_form(
                x1,
                part,
                bandwidth,
                weight,
                degrees,
                cache,
                same=_same(x1, part),
                scale=scale,
                offset1=offset1,
                offset2=offset,
            )
            for part, offset in zip(x2.split(sizes, dim=-2), offsets, strict=True)
        ]
        result = blocks[0] if len(blocks) == 1 else torch.cat(blocks, dim=-1)
    return _sharpened(result, x1, x2, bandwidth, weight, tolerance) if sharp else result


@dataclass(frozen=True)
class _Work:
    """How much there is to do, and what it costs in either form.

    Attributes:
        dims: Number of coordinates.
        pairs: Number of pairs of points.
        points: Number of points of both sets.
        known: Those of them whose Chebyshev features are known.
        differentiated: Whether there will be gradients.
    """

    dims: int
    pairs: int
    points: int
    known: int
    differentiated: bool

    def direct(self) -> float:
        return _DIRECT_FIXED + (_PAIR_WITH_GRADIENT if self.differentiated else _PAIR) * self.pairs * self.dims

    def chebyshev(self, degrees: list[int]) -> float:
        products = 2 if self.differentiated else 1
        each = _FEATURE * (self.points - self.known) + products * _MULTIPLY * self.pairs
        return _MATMUL_FIXED + sum(degrees) * each

    def exponentials(self, rule: ExponentialRule) -> float:
        once = self.dims * rule.count * (_FEATURE * self.points + _MULTIPLY * self.pairs)
        return _EXPONENTIAL_FIXED + (_WITH_GRADIENT * once if self.differentiated else once)


def merge_degrees(degrees: list[int], pairs: int) -> list[int]:
    """Raise degrees so that fewer distinct ones remain, as long as that saves time.

    Coordinates with the same degree are handled together. Each distinct degree has a fixed cost; raising a degree makes
    the matrix product wider and the quadratic form larger. What counts is a step of a fit, which takes two products,
    one for the value and one for its gradient.

    Args:
        degrees: Number of polynomials of each coordinate.
        pairs: Number of pairs of points.
    """
    merged, target = list(degrees), max(degrees)
    for degree in sorted(set(degrees), reverse=True):
        members = [i for i, p in enumerate(degrees) if p == degree]
        wider = 2 * _MULTIPLY * (pairs * (target - degree) + 0.75 * (target**3 - degree**3))
        if len(members) * wider < _GROUP:
            for i in members:
                merged[i] = target
        else:
            target = degree
    return merged


def _same(x1: Tensor, x2: Tensor) -> bool:
    return x1.shape == x2.shape and torch.equal(x1, x2)


def _sharpened(result: Tensor, x1: Tensor, x2: Tensor, bandwidth: Tensor, weight: Tensor, tolerance: float) -> Tensor:
    """Replace the entries whose square root the absolute error `tolerance` would spoil."""
    precision = 2e-9 if result.dtype == torch.float64 else 2e-4  # aimed at, of the distance itself
    close = result.detach().abs() < (tolerance / precision) ** 2
    where = close.nonzero(as_tuple=True)
    batch, row, column = where[:-2], where[-2], where[-1]
    shape = result.shape[:-2]
    points1, points2 = (x.expand(*shape, *x.shape[-2:]).double() for x in (x1, x2))
    parameters = (t.to(result.device).expand(*shape, 1, t.shape[-1]) for t in (bandwidth, weight))
    h, w = (t[(*batch, torch.zeros_like(row))] for t in parameters)
    exact = beta_sq_distance(points1[(*batch, row)], points2[(*batch, column)], h) * w
    return result.masked_scatter(close, exact.sum(dim=-1).to(result.dtype))
