r"""Weighted sums of squared Beta distances between two sets of points, by either of two methods.

.. math:: r^2(x, x') = \sum_{i=1}^d w_i\, \rho_{h_i}^2(x_i, x'_i)

`"lgamma"` sums the definition coordinate by coordinate (`betabo.kernels.direct`); `"matmul"` is one matrix product of
Chebyshev features (`betabo.kernels.matmul`). Both need memory of the order of the result, whatever the dimension.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from betabo.kernels.chebyshev import choose_degrees, merge_degrees
from betabo.kernels.direct import DirectForm
from betabo.kernels.matmul import Workspace, broadcast_shape, matmul_form
from betabo.kernels.special import beta_sq_distance

Method = Literal["auto", "matmul", "lgamma"]
METHODS: tuple[str, ...] = get_args(Method)

# Costs in nanoseconds behind the automatic choice, measured in float64 on two CPU cores. The direct form: what does not
# depend on the sizes, and a pair and coordinate without and with gradients. The matmul form: what does not depend on
# the sizes, a multiply-add of the matrix product, and a feature of a point that is not known yet.
_DIRECT_FIXED, _PAIR, _PAIR_WITH_GRADIENT = 4e5, 30.0, 200.0
_MATMUL_FIXED, _MULTIPLY, _FEATURE = 6e5, 0.03, 5.0


def sq_distance(
    x1: Tensor,
    x2: Tensor,
    bandwidth: Tensor,
    weight: Tensor,
    *,
    method: Method = "auto",
    tolerance: float = 5e-10,
    sharp: bool = False,
    workspace: Workspace | None = None,
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
        workspace: What the matmul form keeps between calls.
        scale: Factor of the squared distances.
        offset1: Term of each point of `x1`, `... x n x 1`.
        offset2: Term of each point of `x2`, `... x m x 1`.

    Returns:
        Matrix, `... x n x m`. Where `x1` equals `x2` the distances on its diagonal are exactly zero. Elsewhere rounding
        may leave squared distances slightly below zero.
    """
    workspace = Workspace() if workspace is None else workspace
    if x1 is x2:  # the gradients with respect to the first and the second argument are kept apart
        x1, x2 = x1.view_as(x1), x2.view_as(x2)
    # What concerns the parameters alone is a few hundred numbers: a GPU would take longer to start than to compute.
    bandwidth, weight = (t.double().cpu().expand(*t.shape[:-1], x1.shape[-1]) for t in (bandwidth, weight))
    tolerance = max(tolerance / 10 if sharp else tolerance, 8 * torch.finfo(x1.dtype).eps)
    degrees = None if method == "lgamma" else choose_degrees(bandwidth, weight, tolerance)
    if degrees is None and method == "matmul":
        raise ValueError(
            f"method='matmul' cannot reach the tolerance {tolerance:g} at the bandwidth {bandwidth.min().item():g}; "
            "use method='auto' or 'lgamma', or a larger bandwidth or tolerance."
        )
    known = 0 if degrees is None else workspace.known_rows(x2)
    batch = broadcast_shape(x1.shape[:-2], x2.shape[:-2], bandwidth.shape[:-2], weight.shape[:-2])
    pairs = batch.numel() * x1.shape[-2] * x2.shape[-2]
    if degrees is not None and method == "auto":
        new_points = x1.shape[:-1].numel() + x2.shape[:-2].numel() * (x2.shape[-2] - known)
        differentiated = torch.is_grad_enabled() and any(t.requires_grad for t in (x1, x2, bandwidth, weight))
        if not _matmul_is_cheaper(degrees, pairs, new_points, differentiated):
            degrees = None
    if degrees is None:
        on_device = (bandwidth.to(x1.device), weight.to(x1.device))
        result: Tensor = scale * DirectForm.apply(x1, x2, *on_device)  # type: ignore[no-untyped-call]
        for offset in (offset1, None if offset2 is None else offset2.mT):
            result = result if offset is None else result + offset
        return result

    # A GPU multiplies so fast that one group of coordinates is always best.
    degrees = merge_degrees(degrees, pairs if x1.device.type == "cpu" else 0)
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
            workspace,
            same=_same(x1, part),
            scale=scale,
            offset1=offset1,
            offset2=offset,
        )
        for part, offset in zip(x2.split(sizes, dim=-2), offsets, strict=True)
    ]
    result = blocks[0] if len(blocks) == 1 else torch.cat(blocks, dim=-1)
    return _sharpened(result, x1, x2, bandwidth, weight, tolerance) if sharp else result


def _matmul_is_cheaper(degrees: list[int], pairs: int, new_points: int, differentiated: bool) -> bool:
    direct = _DIRECT_FIXED + (_PAIR_WITH_GRADIENT if differentiated else _PAIR) * pairs * len(degrees)
    return _MATMUL_FIXED + sum(degrees) * (_FEATURE * new_points + _MULTIPLY * pairs) < direct


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
