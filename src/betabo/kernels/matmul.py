r"""The weighted sum of squared Beta distances as one matrix product of Chebyshev features.

With :math:`\Phi` the features of all coordinates side by side and :math:`M` the block-diagonal matrix of the
coordinates' quadratic forms :math:`w_i A(h_i)`,

.. math:: r^2(x, x') = \Phi(x)^\top M \Phi(x) + \Phi(x')^\top M \Phi(x') - 2\, \Phi(x)^\top M \Phi(x') .

Features do not depend on the bandwidths. Those of a training set are kept by a `FeatureCache` and serve every step of a
fit and, together with the quadratic forms, every prediction after it.

The value is computed outside the graph, and the gradient with respect to each input is a node of its own. So whatever a
backward pass does not ask for is not computed: where an acquisition function is maximized, that is the gradient with
respect to the bandwidths and the training points, although both are marked as requiring one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Size, Tensor
from torch.autograd import Function

from betabo.kernels.chebyshev import chebyshev_features, chebyshev_matrix, chebyshev_slopes


class _Group(NamedTuple):
    """Coordinates with the same number of polynomials, and the place of their features among all."""

    degree: int
    coordinates: slice | list[int]
    place: slice


class _Forms(NamedTuple):
    """Quadratic forms of the coordinates, group by group, and what they were made from."""

    degrees: list[int]
    groups: list[_Group]
    parameters: list[Tensor]  # bandwidth and weight, leaves of a graph of their own where gradients may be wanted
    exact: list[Tensor]  # the forms in float64, at the end of that graph
    matrices: list[Tensor]  # the same as plain numbers of the points' type

    def gradient(self, slopes: list[Tensor]) -> list[Tensor]:
        """Gradient with respect to the parameters, given that with respect to the matrices."""
        slopes = [s.double().cpu().sum_to_size(exact.shape) for s, exact in zip(slopes, self.exact, strict=True)]
        parameters, exact = self.parameters, self.exact
        if not exact[0].requires_grad:  # first made for a prediction
            with torch.enable_grad():
                parameters = [t.detach().requires_grad_() for t in parameters]
                exact = _matrices(parameters[0], parameters[1], self.groups)
        return list(torch.autograd.grad(exact, parameters, slopes, retain_graph=True))


@dataclass
class _Side:
    """One set of points: its features, and what the forms make of them."""

    points: Tensor  # ... x n x d
    features: Tensor  # ... x n x d x (P - 1), for the largest P needed so far
    forms: _Forms | None = None
    joined: Tensor | None = None  # ... x n x (all features)
    image: Tensor | None = None  # joined features times the forms
    norm: Tensor | None = None  # ... x n x 1
    _slopes: Tensor | None = None

    def under(self, forms: _Forms) -> tuple[Tensor, Tensor, Tensor]:
        """Joined features, their image and their squared norm under the forms, computed when the forms are new."""
        if self.forms is not forms or self.joined is None or self.image is None or self.norm is None:
            self.joined = _join(self.features, forms.groups)
            self.image = _apply(forms.matrices, self.joined, forms.groups)
            self.norm = (self.joined * self.image).sum(dim=-1, keepdim=True)
            self.forms = forms
        return self.joined, self.image, self.norm

    def slopes(self) -> Tensor:
        """Derivatives of the features, `... x n x d x (P - 1)`."""
        if self._slopes is None:
            self._slopes = chebyshev_slopes(self.features)
        return self._slopes


class FeatureCache:
    """What the matmul form keeps between calls: the point sets seen last, and the last quadratic forms.

    Point sets are found by content, because callers hand in fresh copies of the same points, and copies repeated over a
    batch: GPyTorch joins the training points to every member of a batch of query points.

    Args:
        capacity: Number of point sets kept.
    """

    def __init__(self, capacity: int = 2) -> None:
        self._capacity = capacity
        self._sides: list[_Side] = []
        self._forms: _Forms | None = None

    def __len__(self) -> int:
        return len(self._sides)

    def known_rows(self, x: Tensor) -> int:
        """How many of the leading rows of `x` are a point set that is kept, in every member of the batch."""
        return max((len(side.points) for side in self._sides if _begins_with(x, side.points)), default=0)

    def forms(self, bandwidth: Tensor, weight: Tensor, degrees: list[int], like: Tensor) -> _Forms:
        """The quadratic forms of the given parameters, in the type and on the device of `like`."""
        last = self._forms
        if (
            last is not None
            and last.degrees == degrees
            and last.matrices[0].dtype == like.dtype
            and last.matrices[0].device == like.device
            and _identical(last.parameters[0], bandwidth)
            and _identical(last.parameters[1], weight)
        ):
            return last
        groups = _groups(degrees)
        parameters = [t.detach().clone().requires_grad_(torch.is_grad_enabled()) for t in (bandwidth, weight)]
        exact = _matrices(parameters[0], parameters[1], groups)
        matrices = [matrix.detach().to(like) for matrix in exact]
        self._forms = _Forms(degrees, groups, parameters, exact, matrices)
        return self._forms

    def side(self, x: Tensor, degree: int) -> _Side:
        """Features of `x` for at least `degree` polynomials, without a batch where `x` only repeats a known set."""
        for index, side in enumerate(self._sides):
            if len(side.points) == x.shape[-2] and _begins_with(x, side.points):
                if side.features.shape[-1] >= degree - 1:
                    return side
                del self._sides[index]
                x = side.points
                break
        side = _Side(x.clone(), chebyshev_features(x, degree))
        if x.dim() == 2:
            self._sides = [side, *self._sides[: self._capacity - 1]]
        return side


def _identical(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.equal(a, b)


def _begins_with(x: Tensor, points: Tensor) -> bool:
    comparable = x.dtype == points.dtype and x.device == points.device and x.shape[-1] == points.shape[-1]
    if not comparable or x.shape[-2] < len(points):
        return False
    rows = x[..., : len(points), :]
    return torch.equal(rows, points.expand_as(rows))


def matmul_form(
    x1: Tensor,
    x2: Tensor,
    bandwidth: Tensor,
    weight: Tensor,
    degrees: list[int],
    cache: FeatureCache,
    *,
    same: bool = False,
    scale: float = 1.0,
    offset1: Tensor | None = None,
    offset2: Tensor | None = None,
) -> Tensor:
    r""":math:`\text{scale} \cdot r^2(x, x') + o_1(x) + o_2(x')` for all pairs of points, in one matrix product.

    Args:
        x1: Points, `... x n x d`.
        x2: Points, `... x m x d`.
        bandwidth: `... x 1 x d`, float64, on the CPU.
        weight: `... x 1 x d`, float64, on the CPU.
        degrees: Number of polynomials of each coordinate.
        cache: What is kept from earlier calls.
        same: Whether `x1` and `x2` hold the same points. They must not be the same tensor where gradients are wanted:
            each has its own.
        scale: Factor of the squared distance.
        offset1: Term of each point of `x1`, `... x n x 1`.
        offset2: Term of each point of `x2`, `... x m x 1`.

    Returns:
        `... x n x m`. The distance of the i-th to the i-th point is exactly zero where the points are the same.
    """
    forms = cache.forms(bandwidth, weight, degrees, x1)
    with torch.no_grad():
        side1 = cache.side(x1.detach(), max(degrees))
        side2 = side1 if same else cache.side(x2.detach(), max(degrees))
        joined1, image1, norm1 = side1.under(forms)
        joined2, image2, norm2 = side2.under(forms)
        own1, own2 = (
            scale * norm if offset is None else scale * norm + offset
            for norm, offset in ((norm1, offset1), (norm2, offset2))
        )
        left = _columns(-2 * scale * image1, own1, torch.ones_like(own1))
        right = _columns(joined2, torch.ones_like(own2), own2)
        result = left @ right.mT
        batch = broadcast_shape(x1.shape[:-2], x2.shape[:-2], result.shape[:-2])
        if result.shape[:-2] != batch:
            result = result.expand(*batch, *result.shape[-2:]).clone()
        if same:
            own = (own1 - scale * norm1 + own2 - scale * norm2).squeeze(-1)
            result.diagonal(dim1=-2, dim2=-1).copy_(own)
    if not torch.is_grad_enabled():
        return result
    groups, matrices = forms.groups, forms.matrices

    def recompute() -> Tensor:
        return scale * _differentiable_form(x1, x2, bandwidth, weight, groups)

    def gradient1(grad: Tensor) -> list[Tensor]:
        slope = grad.sum(dim=-1, keepdim=True) * image1 - _apply(matrices, grad @ joined2, groups)
        return [2 * scale * _chain(slope, side1.slopes(), groups)]

    def gradient2(grad: Tensor) -> list[Tensor]:
        by_column = grad.sum(dim=-2).unsqueeze(-1)
        if x1.shape[-2] < min(degrees):  # a few queries: contract the polynomials first
            own = by_column * _chain(image2, side2.slopes(), groups)
            return [2 * scale * (own - _pull(grad, image1, side2.slopes(), groups))]
        return [2 * scale * _chain(by_column * image2 - grad.mT @ image1, side2.slopes(), groups)]

    def gradient_of_parameters(grad: Tensor) -> list[Tensor]:
        right1 = grad.sum(dim=-1, keepdim=True) * joined1 - 2 * (grad @ joined2)
        right2 = grad.sum(dim=-2).unsqueeze(-1) * joined2
        slopes = [scale * (_outer(joined1, right1, g) + _outer(joined2, right2, g)) for g in groups]
        return forms.gradient(slopes)

    # The last node is the first that a backward pass meets. What is seldom wanted without the rest comes first.
    result = _attach(result, gradient_of_parameters, recompute, bandwidth, weight)
    result = _attach(result, gradient2, recompute, x2)
    result = _attach(result, gradient1, recompute, x1)
    if offset1 is not None:
        result = _attach(result, lambda grad: [grad.sum(dim=-1, keepdim=True)], None, offset1)
    if offset2 is not None:
        result = _attach(result, lambda grad: [grad.sum(dim=-2).unsqueeze(-1)], None, offset2)
    return result


_Gradient = Callable[[Tensor], list[Tensor]]


def _attach(value: Tensor, gradient: _Gradient, recompute: Callable[[], Tensor] | None, *inputs: Tensor) -> Tensor:
    """Give a value computed outside the graph its gradient with respect to some inputs.

    Args:
        value: The value; it is not copied.
        gradient: Gives the gradients from that of the value.
        recompute: Computes the value with PyTorch's own operations, for gradients of gradients; None where `gradient`
            is linear and can be differentiated itself.
        inputs: The inputs.
    """
    if not any(x.requires_grad for x in inputs):
        return value
    attached: Tensor = _Attach.apply(value, gradient, recompute, *inputs)  # type: ignore[no-untyped-call]
    return attached


class _Attach(Function):
    @staticmethod
    def forward(
        ctx: Any, value: Tensor, gradient: _Gradient, recompute: Callable[[], Tensor] | None, *inputs: Tensor
    ) -> Tensor:
        ctx.save_for_backward(*inputs)
        ctx.gradient, ctx.recompute = gradient, recompute
        ctx.mark_dirty(value)
        return value

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        inputs, needed, (grad,) = ctx.saved_tensors, ctx.needs_input_grad[3:], grad_outputs
        if ctx.recompute is None or not torch.is_grad_enabled():
            gradients = [g.sum_to_size(x.shape) for g, x in zip(ctx.gradient(grad), inputs, strict=True)]
            return grad, None, None, *gradients
        # The gradient itself will be differentiated.
        wanted = [x for x, need in zip(inputs, needed, strict=True) if need]
        found = iter(torch.autograd.grad(ctx.recompute(), wanted, grad, create_graph=True))
        return grad, None, None, *(next(found) if need else None for need in needed)


def _differentiable_form(x1: Tensor, x2: Tensor, bandwidth: Tensor, weight: Tensor, groups: list[_Group]) -> Tensor:
    """The same in operations that PyTorch differentiates itself, to any order."""
    matrices = [matrix.to(x1) for matrix in _matrices(bandwidth, weight, groups)]
    degree = max(group.degree for group in groups)
    joined1, joined2 = (_join(chebyshev_features(x, degree), groups) for x in (x1, x2))
    image1, image2 = (_apply(matrices, joined, groups) for joined in (joined1, joined2))
    norm1, norm2 = (joined1 * image1).sum(dim=-1, keepdim=True), (joined2 * image2).sum(dim=-1, keepdim=True)
    return norm1 + norm2.mT - 2 * (image1 @ joined2.mT)


def _groups(degrees: list[int]) -> list[_Group]:
    groups, start = [], 0
    for degree in sorted(set(degrees)):
        members = [i for i, p in enumerate(degrees) if p == degree]
        stop = start + len(members) * (degree - 1)
        coordinates = slice(None) if len(members) == len(degrees) else members
        groups.append(_Group(degree, coordinates, slice(start, stop)))
        start = stop
    return groups


def _matrices(bandwidth: Tensor, weight: Tensor, groups: list[_Group]) -> list[Tensor]:
    """The quadratic forms of each group's coordinates, `... x coordinates x p x p`, in float64."""
    return [
        chebyshev_matrix(bandwidth[..., 0, g.coordinates], g.degree) * weight[..., 0, g.coordinates, None, None]
        for g in groups
    ]


def _join(features: Tensor, groups: list[_Group]) -> Tensor:
    """Features of all coordinates side by side, `... x n x features`."""
    return _columns(*(features[..., g.coordinates, : g.degree - 1].flatten(-2) for g in groups))


def _apply(matrices: list[Tensor], phi: Tensor, groups: list[_Group]) -> Tensor:
    """Product of joined features, `... x n x features`, with the block-diagonal matrix of the forms."""
    products = (_by_coordinate(phi, g) @ matrix for g, matrix in zip(groups, matrices, strict=True))
    return _columns(*(product.transpose(-3, -2).flatten(-2) for product in products))


def _columns(*parts: Tensor) -> Tensor:
    """The parts side by side, expanded to the same rows."""
    if len(parts) == 1:
        return parts[0]
    rows = broadcast_shape(*(part.shape[:-1] for part in parts))
    return torch.cat([part.expand(*rows, part.shape[-1]) for part in parts], dim=-1)


def broadcast_shape(*shapes: Size) -> Size:
    """`torch.broadcast_shapes`, which is slow, after a look whether there is anything to do."""
    return shapes[0] if len(set(shapes)) == 1 else torch.broadcast_shapes(*shapes)


def _by_coordinate(phi: Tensor, group: _Group) -> Tensor:
    """A group's part of joined features as `... x coordinates x n x p`."""
    blocks: Tensor = phi[..., group.place].unflatten(-1, (-1, group.degree - 1))
    return blocks.transpose(-3, -2)


def _outer(left: Tensor, right: Tensor, group: _Group) -> Tensor:
    return _by_coordinate(left, group).mT @ _by_coordinate(right, group)


def _chain(grad_joined: Tensor, slopes: Tensor, groups: list[_Group]) -> Tensor:
    """Gradient with respect to points, `... x n x d`, from that with respect to their joined features."""
    grad = grad_joined.new_empty(*grad_joined.shape[:-1], slopes.shape[-2])
    for g in groups:
        blocks = grad_joined[..., g.place].unflatten(-1, (-1, g.degree - 1))
        grad[..., g.coordinates] = (blocks * slopes[..., g.coordinates, : g.degree - 1]).sum(dim=-1)
    return grad


def _pull(grad: Tensor, image1: Tensor, slopes2: Tensor, groups: list[_Group]) -> Tensor:
    """`_chain(grad.mT @ image1, slopes2, groups)` in another order of summation, `... x m x d`."""
    columns = []
    for g in groups:
        slopes = slopes2[..., g.coordinates, : g.degree - 1].movedim(-3, -1)  # ... x coordinates x p x m
        pairs = _by_coordinate(image1, g) @ slopes  # ... x coordinates x n x m
        columns.append((pairs * grad.unsqueeze(-3)).sum(dim=-2).mT)
    if len(groups) == 1:
        return columns[0]
    pulled = grad.new_empty(*columns[0].shape[:-1], slopes2.shape[-2])
    for g, column in zip(groups, columns, strict=True):
        pulled[..., g.coordinates] = column
    return pulled
