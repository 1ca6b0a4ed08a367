"""Covariances and their slopes by formula: what a kernel can declare besides `forward`, so that nothing needs autograd.

A search asks two things of a kernel, each some hundred times a step, and with a hundred data most of the time goes into
the layers around the arithmetic:

* *By points*: the parameters stay, the points move. An acquisition function that is maximized wants the covariances of
  a few points with the data, and slopes in the coordinates of the points.
* *By parameters*: the points stay, the parameters move. A fit wants the covariance matrix of the data, and slopes in
  the logarithms of the parameters.

A kernel answers with a `ClosedForm`, which is declared for its class:

    >>> @declares(OwnKernel)
    ... class OwnForm(ClosedForm): ...

A kernel without one is differentiated by autograd. So is a kernel of a class derived from one that has a form: the
class may have another formula, and a form speaks for the very class for which it was declared. A derived class that
leaves the formula alone takes the form over by `declares(DerivedKernel)(OwnForm)`.

Forms are about arrays in float64. Products of matrices are left to torch (`product`), so that its number of threads
holds, and the rest to NumPy, whose calls take less time, but not to NumPy's BLAS: its threads wait for each other
longer than they work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from gpytorch.kernels import AdditiveKernel, Kernel, ScaleKernel
from torch import Tensor

from betabo.kernels.cube import CubeKernel

Array = npt.NDArray[np.float64]

Places = Mapping[Tensor, slice]
"""Where the logarithms of a kernel's parameters stand in a vector."""


@dataclass(frozen=True)
class AtPoints:
    """A kernel at `b` points.

    Attributes:
        covariance: Covariances with the `n` data, `b x n`.
        variance: Prior variances, `b`.
        gradient: Gives the gradient in the points, `b x d`, of a function whose derivatives by `covariance` and
            `variance`, `b x n` and `b`, it is given.
    """

    covariance: Array
    variance: Array
    gradient: Callable[[Array, Array], Array]


@dataclass(frozen=True)
class AtParameters:
    """A kernel at one vector of parameters. It holds until the form that it comes from is asked again.

    Attributes:
        covariance: Covariance matrix of the data, `n x n`.
        add_gradient: Is given the derivatives of a function by `covariance`, `n x n` and symmetric, and a vector, and
            adds to the vector the function's derivatives by the logarithms of the parameters, each at its place.
    """

    covariance: Array
    add_gradient: Callable[[Array, Array], None]


ByPoints = Callable[[Array], AtPoints]
"""From points of the unit cube, `b x d`."""

ByParameters = Callable[[Array], AtParameters | None]
"""From a vector with the parameters' logarithms; None where the form is not accurate at these parameters."""


class ClosedForm:
    """The closed form of a kernel; either half of it may be missing.

    Args:
        kernel: The kernel, without batch dimensions and of all coordinates.
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def by_points(self, x: Array) -> ByPoints | None:  # noqa: ARG002
        """The kernel with its present parameters as a function of points, or None where there is no closed form.

        Args:
            x: The data, `n x d`.
        """
        return None

    def by_parameters(self, x: Array, places: Places) -> ByParameters | None:  # noqa: ARG002
        """The covariance matrix of the data as a function of parameters, or None where there is no closed form.

        Args:
            x: The data, `n x d`.
            places: Where the logarithms of all parameters of the kernel stand.
        """
        return None


_DECLARED: dict[type[Kernel], Callable[[Any], ClosedForm]] = {}

Form = TypeVar("Form", bound=Callable[[Any], ClosedForm])


def declares(*kinds: type[Kernel]) -> Callable[[Form], Form]:
    """Declare the closed form of kernels of the given classes, and not of classes derived from them.

    What is decorated is a `ClosedForm`, or a function that makes one of a kernel.
    """

    def declare(form: Form) -> Form:
        _DECLARED.update(dict.fromkeys(kinds, form))
        return form

    return declare


def closed_form(kernel: Kernel) -> ClosedForm:
    """The closed form of a kernel: an empty one where its class declares none."""
    if kernel.active_dims is not None or kernel.batch_shape:
        return ClosedForm(kernel)
    return _DECLARED.get(type(kernel), ClosedForm)(kernel)


@torch.no_grad()
def by_points(kernel: Kernel, x: Tensor) -> ByPoints | None:
    """A kernel with its present parameters as a function of points, or None where it has no closed form.

    Args:
        kernel: The kernel.
        x: The data, `n x d`.
    """
    points = _plain(x, kernel)
    return None if points is None else closed_form(kernel).by_points(points)


@torch.no_grad()
def by_parameters(kernel: Kernel, x: Tensor, places: Places) -> ByParameters | None:
    """The covariance matrix of data as a function of a kernel's parameters, or None where it has no closed form.

    Args:
        kernel: The kernel.
        x: The data, `n x d`.
        places: Where the logarithms of its parameters stand in a vector.
    """
    if not all(p in places and p.requires_grad and p.dtype == torch.float64 for p in kernel.parameters()):
        return None
    points = _plain(x, kernel)
    return None if points is None else closed_form(kernel).by_parameters(points, places)


def _plain(x: Tensor, kernel: Kernel) -> Array | None:
    """The points as an array, or None where they are not on the CPU, not in float64, or refused by the kernel."""
    if x.dim() != 2 or x.dtype != torch.float64 or any(t.device.type != "cpu" for t in (x, *kernel.parameters())):
        return None
    try:
        for module in kernel.modules():
            x = module.check_points(x) if isinstance(module, CubeKernel) else x
    except ValueError:  # the kernel itself is to say so
        return None
    return x.detach().numpy()


@declares(ScaleKernel)
class ScaledForm(ClosedForm):
    """A kernel times an output scale."""

    def by_points(self, x: Array) -> ByPoints | None:  # noqa: D102
        base, scale = closed_form(self.kernel.base_kernel).by_points(x), float(self.kernel.outputscale)
        if base is None:
            return None

        def at(points: Array) -> AtPoints:
            plain = base(points)
            return AtPoints(
                scale * plain.covariance,
                scale * plain.variance,
                lambda by_covariance, by_variance: plain.gradient(scale * by_covariance, scale * by_variance),
            )

        return at

    def by_parameters(self, x: Array, places: Places) -> ByParameters | None:  # noqa: D102
        base, place = closed_form(self.kernel.base_kernel).by_parameters(x, places), places[self.kernel.raw_outputscale]
        if base is None:
            return None

        def at(vector: Array) -> AtParameters | None:
            plain, scale = base(vector), math.exp(vector[place].item())
            if plain is None:
                return None
            covariance = scale * plain.covariance

            def add_gradient(slope: Array, gradient: Array) -> None:
                gradient[place] += sum_of_products(slope, covariance)
                plain.add_gradient(scale * slope, gradient)

            return AtParameters(covariance, add_gradient)

        return at


@declares(AdditiveKernel)
class SumForm(ClosedForm):
    """A sum of kernels, all of which have a form."""

    def by_points(self, x: Array) -> ByPoints | None:  # noqa: D102
        summands = _all(closed_form(kernel).by_points(x) for kernel in self.kernel.kernels)
        if summands is None:
            return None

        def at(points: Array) -> AtPoints:
            terms = [summand(points) for summand in summands]
            return AtPoints(
                _total(term.covariance for term in terms),
                _total(term.variance for term in terms),
                lambda *slopes: _total(term.gradient(*slopes) for term in terms),
            )

        return at

    def by_parameters(self, x: Array, places: Places) -> ByParameters | None:  # noqa: D102
        summands = _all(closed_form(kernel).by_parameters(x, places) for kernel in self.kernel.kernels)
        if summands is None:
            return None

        def at(vector: Array) -> AtParameters | None:
            terms = _all(summand(vector) for summand in summands)
            if terms is None:
                return None

            def add_gradient(slope: Array, gradient: Array) -> None:
                for term in terms:
                    term.add_gradient(slope, gradient)

            return AtParameters(_total(term.covariance for term in terms), add_gradient)

        return at


Found = TypeVar("Found")


def _all(found: Iterable[Found | None]) -> list[Found] | None:
    """What was found, or None where something was not."""
    known = []
    for each in found:
        if each is None:
            return None
        known.append(each)
    return known


def _total(arrays: Iterable[Array]) -> Array:
    first, *others = arrays
    return sum(others, start=first)


def product(left: Array, right: Array) -> Array:
    """The product of two matrices, or of a matrix and a vector, by torch."""
    product: Array = (torch.from_numpy(left) @ torch.from_numpy(right)).numpy()
    return product


def sum_of_products(left: Array, right: Array) -> float:
    """The sum of the products of the entries of two matrices."""
    return float(np.einsum("ij,ij->", left, right))


def to_size(by_coordinate: Array, place: slice) -> Array:
    """Derivatives by all length scales, or by the one that the coordinates share."""
    return by_coordinate if place.stop - place.start == len(by_coordinate) else by_coordinate.sum(keepdims=True)
