"""What every kernel on the unit cube shares: checked points, batches, priors that can be drawn from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

import torch
from gpytorch.kernels import Kernel
from gpytorch.priors import Prior
from torch import Tensor

# How far outside [0, 1] a coordinate may lie and still count as rounding of a bound.
_ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-5}


class CubeKernel(Kernel):  # type: ignore[misc]
    """Base class of kernels whose points lie in the unit cube."""

    active_dims: Tensor | None

    def check_points(self, x: Tensor) -> Tensor:
        """Refuse what is not a point of the unit cube; move rounding errors back onto the bounds."""
        if x.dtype not in _ROUNDING:
            raise TypeError(
                f"points have dtype {x.dtype}, expected torch.float64 or torch.float32: convert them with x.double()."
            )
        if self.ard_num_dims is not None and x.shape[-1] != self.ard_num_dims:
            raise ValueError(
                f"points have {x.shape[-1]} coordinates, expected {self.ard_num_dims} (the kernel's ard_num_dims)."
            )
        if x.numel() == 0:
            return x
        low, high = torch.stack(torch.aminmax(x.detach())).tolist()
        if low >= 0 and high <= 1:
            return x
        slack = _ROUNDING[x.dtype]
        if not (low >= -slack and high <= 1 + slack):
            found = "NaN" if math.isnan(low + high) else f"values from {low:g} to {high:g}"
            raise ValueError(
                f"points contain {found}, expected coordinates in [0, 1]: "
                "scale them with the bounds of the search space, "
                "for example input_transform=Normalize(d, bounds=bounds)."
            )
        return x + (x.clamp(0, 1) - x).detach()  # the gradient passes as if x lay on the bound

    def __getitem__(self, index: Any) -> Self:
        with self._active_dims_set_aside() as active_dims:
            selected: Self = super().__getitem__(index)
        selected.active_dims = active_dims
        return selected

    def expand_batch(self, *sizes: Any) -> Self:
        """The same kernel with its parameters expanded to a larger batch shape."""
        with self._active_dims_set_aside() as active_dims:
            expanded: Self = super().expand_batch(*sizes)
        expanded.active_dims = active_dims
        return expanded

    @contextmanager
    def _active_dims_set_aside(self) -> Iterator[Tensor | None]:
        """GPyTorch indexes and expands every buffer as if it had the batch shape; `active_dims` has not."""
        active_dims = self.active_dims
        self.active_dims = None
        try:
            yield active_dims
        finally:
            self.active_dims = active_dims


def register_prior(
    kernel: Kernel, name: str, prior: Prior | None, setter: Callable[[Any, Tensor], None] | None = None
) -> None:
    """Put a prior on the attribute `name`, with closures that read it and set it.

    `fit_gpytorch_mll` restarts from draws of the priors, through the setting closure. The default one moves a draw
    outside the attribute's constraint to the nearest admissible value.
    """
    if prior is None:
        return
    if not isinstance(prior, Prior):
        raise TypeError(f"{name}_prior is a {type(prior).__name__}, expected a gpytorch.priors.Prior.")
    kernel.register_prior(f"{name}_prior", prior, partial(_read, name), setter or partial(_set_within_constraint, name))


def _read(name: str, kernel: Kernel) -> Tensor:
    value: Tensor = getattr(kernel, name)
    return value


def _set_within_constraint(name: str, kernel: Kernel, value: Tensor) -> None:
    constraint = getattr(kernel, f"raw_{name}_constraint")
    setattr(kernel, name, value.clamp(constraint.lower_bound, constraint.upper_bound))


def as_parameter(value: Tensor | float | Sequence[float], like: Tensor, name: str) -> Tensor:
    """`value` in the dtype, device and shape of the parameter `like`."""
    tensor = torch.as_tensor(value, dtype=like.dtype, device=like.device)
    try:
        return tensor.expand_as(like)
    except RuntimeError:
        raise ValueError(
            f"{name} has shape {tuple(tensor.shape)}, expected a number or a shape that expands to {tuple(like.shape)}."
        ) from None


def show(value: Tensor) -> str:
    """The numbers of a tensor for an error message; one number where all are equal."""
    values = value.detach().flatten().tolist()
    return f"{values[0]:g}" if len(set(values)) == 1 else f"[{', '.join(f'{v:g}' for v in values)}]"
