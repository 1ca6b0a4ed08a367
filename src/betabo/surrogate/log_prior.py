r"""Log-normal priors of parameters, as a function of the parameters' logarithms.

With :math:`u = \ln x`, the log density of a log-normal distribution at :math:`x` is a quadratic function of :math:`u`,

.. math:: \ln p(x) = -\frac{(u - m)^2}{2 s^2} - u - \ln s - \tfrac12 \ln 2\pi ,

so the priors of all parameters together are three arrays of coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from gpytorch.kernels import Kernel
from gpytorch.priors import LogNormalPrior
from torch import Tensor

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LogPrior:
    """Log density of a kernel's parameters under its priors.

    Attributes:
        square: Coefficients of the squared logarithms.
        linear: Coefficients of the logarithms.
        constant: The rest.
    """

    square: Vector
    linear: Vector
    constant: float

    @classmethod
    def of(cls, kernel: Kernel, places: Mapping[Tensor, slice]) -> LogPrior | None:
        """The priors of a kernel, or None where one of them is not log-normal, or of something else than a parameter.

        Args:
            kernel: The kernel.
            places: Where the logarithms of its parameters stand in a vector.
        """
        size = max((place.stop for place in places.values()), default=0)
        square, linear, constant = np.zeros(size), np.zeros(size), 0.0
        for _, module, prior, closure, _ in kernel.named_priors():
            if type(prior) is not LogNormalPrior or prior.transform(None) is not None:
                return None
            parameter = closure(module)  # the parameter itself, unless it is transformed
            location, scale = prior.base_dist.loc, prior.base_dist.scale
            if parameter not in places or torch.broadcast_shapes(scale.shape, parameter.shape) != parameter.shape:
                return None
            # In the prior's own precision first, as its density is computed.
            m, variance, log_scale = (
                t.double().expand(parameter.shape).flatten().numpy() for t in (location, scale.square(), scale.log())
            )
            place = places[parameter]
            square[place] -= 0.5 / variance
            linear[place] += m / variance - 1
            constant -= float(np.sum(0.5 * m * m / variance + log_scale + 0.5 * math.log(2 * math.pi)))
        return cls(square, linear, constant)

    def __call__(self, vector: Vector) -> tuple[float, Vector]:
        """The log density at a vector that begins with the logarithms, and its derivatives by them."""
        u = vector[: len(self.square)]
        by_square = self.square * u
        return float((by_square + self.linear) @ u) + self.constant, 2 * by_square + self.linear
