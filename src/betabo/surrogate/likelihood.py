"""The negative log posterior of a Gaussian process's hyperparameters, with its gradient, as a function of a vector.

The gradient of the log marginal likelihood with respect to the covariance matrix is known in closed form, so only the
covariance matrix and the priors remain to be differentiated: in closed form where there is one
(`betabo.kernels.closed_form`, `betabo.surrogate.log_prior`), and else by autograd. Parameters
that a constraint keeps positive are fitted in their logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from betabo.kernels.closed_form import AtParameters, by_parameters
from betabo.surrogate.gp import cholesky, covariance_matrix
from betabo.surrogate.log_prior import LogPrior

Noise = float | Literal["unknown", "none"]

Vector = npt.NDArray[np.float64]

Prior = Callable[[Vector], tuple[float, Vector]]
"""Log density of a kernel's parameters at a vector that begins with them, and its derivatives by them."""

_HIGHEST_NOISE = 10.0  # variance of the noise, of standardized values
_LARGEST_LOG = math.log(1e6)  # of a parameter without upper bound


@dataclass(frozen=True)
class NoisePrior:
    """What is believed of an unknown noise variance of standardized values before they are seen.

    By default, all from next to no noise, 8e-7, to noise with a third of the values' deviation, 0.14, lies between two
    deviations below and above the mean. BoTorch's prior, which expects more noise, and one that expects still less were
    tried in its place, see docs/experiments.md.

    Attributes:
        location: Mean of the log variance.
        deviation: Standard deviation of the log variance.
        start: The variance with which a fit begins; the default is noise with 8 % of the values' deviation.
        lowest: Lowest variance, which stands for no noise, too: it keeps covariance matrices positive definite.
    """

    location: float = -8.0
    deviation: float = 3.0
    start: float = math.exp(-5.0)
    lowest: float = 1e-6

    def cost(self, variance: float) -> float:
        """What a variance adds to the negative log posterior, up to a constant."""
        return 0.5 * ((math.log(variance) - self.location) / self.deviation) ** 2


USUAL_NOISE = NoisePrior()
"""The prior of a model of the whole cube."""


@dataclass(frozen=True)
class Slot:
    """One parameter of the kernel and its place in the vector that is optimized.

    Attributes:
        name: Its name in the kernel.
        parameter: The parameter itself.
        place: Where it stands in the vector.
        logarithmic: Whether the vector holds its logarithm.
        lower: Lower bound in the vector.
        upper: Upper bound in the vector.
    """

    name: str
    parameter: Tensor
    place: slice
    logarithmic: bool
    lower: float
    upper: float

    def write(self, vector: Vector) -> None:
        """Set the parameter."""
        values = torch.from_numpy(vector[self.place]).to(self.parameter).view_as(self.parameter)
        self.parameter.data.copy_(values.exp() if self.logarithmic else values)

    def read(self, values: Tensor) -> Vector:
        """What the vector holds for the given values of the parameter."""
        flat = values.detach().double().flatten()
        return (flat.clamp_min(1e-300).log() if self.logarithmic else flat).numpy()


class Likelihood:
    """Negative log posterior of the hyperparameters, with its gradient, as a function of a vector.

    The vector holds the kernel's parameters in their own order and, where the noise is unknown, the log of its variance
    at the end.

    Args:
        x: Points of the unit cube, `n x d`.
        y: Standardized values, `n`.
        kernel: Covariance function.
        noise_model: `"unknown"`, `"none"`, or the known noise variance.
        noise_prior: What is believed of an unknown noise variance.
        variances: Noise variances of the values, `n`, NaN where it is that of the noise model; None where it always is.
        lean: Whether to use the closed form where there is one.

    Attributes:
        slots: The kernel's parameters that are fitted.
        bounds: Lower and upper bounds of the vector, one row for each number.
        evaluations: Number of evaluations so far.
        messages: What went wrong so far.
        worst: What an impossible vector costs.
        is_lean: Whether the kernel has a closed form that is used.
    """

    worst = 1e10

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        kernel: Kernel,
        noise_model: Noise,
        *,
        noise_prior: NoisePrior = USUAL_NOISE,
        variances: Tensor | None = None,
        lean: bool = True,
    ) -> None:
        self.x, self.y, self.kernel, self.noise_model, self.noise_prior = x, y, kernel, noise_model, noise_prior
        self.variances = variances
        self.evaluations = 0
        self.messages: list[str] = []
        self.slots = _slots(kernel)
        limits = [(slot.lower, slot.upper) for slot in self.slots for _ in range(slot.parameter.numel())]
        if noise_model == "unknown":
            limits.append((math.log(noise_prior.lowest), math.log(_HIGHEST_NOISE)))
        self.bounds = np.array(limits, dtype=np.float64).reshape(-1, 2)
        places = {slot.parameter: slot.place for slot in self.slots if slot.logarithmic}
        self._lean = by_parameters(kernel, x, places) if lean else None
        self._by_autograd = _form_by_autograd(x, kernel, self.slots)
        self._prior: Prior = LogPrior.of(kernel, places) or _prior_by_autograd(kernel, self.slots)

    @property
    def is_lean(self) -> bool:  # noqa: D102
        return self._lean is not None

    def vector(self) -> Vector:
        """The kernel's current parameters."""
        parts = [slot.read(slot.parameter) for slot in self.slots]
        return np.concatenate([*parts, [math.log(self.noise_prior.start)]] if self.noise_model == "unknown" else parts)

    def vector_of(self, parameters: Mapping[str, Sequence[float]], noise: float) -> Vector:
        """The parameters of an earlier fit by name, or the current ones where they do not match the kernel."""
        vector = self.vector()
        for slot in self.slots:
            values = parameters.get(slot.name, [])
            if len(values) == slot.parameter.numel():
                vector[slot.place] = slot.read(torch.tensor(values, dtype=torch.float64))
        if self.noise_model == "unknown":
            vector[-1] = math.log(max(noise, self.noise_prior.lowest))
        return vector

    def assign(self, vector: Vector) -> None:
        """Set the kernel's parameters."""
        for slot in self.slots:
            slot.write(vector)

    def noise(self, vector: Vector) -> float:
        """The noise variance where it is not known."""
        if self.noise_model == "unknown":
            return math.exp(vector[-1])
        known = 0.0 if self.noise_model == "none" else float(self.noise_model)
        return max(known, self.noise_prior.lowest)

    def noises(self, vector: Vector, variances: Tensor | None) -> Tensor | float:
        """The noise variance of each value, given those that are known."""
        noise = self.noise(vector)
        if variances is None:
            return noise
        return torch.where(variances.isnan(), noise, variances.clamp_min(self.noise_prior.lowest))

    def __call__(self, vector: Vector) -> tuple[float, Vector]:
        """The objective and its gradient; `worst` and zeros where it cannot be had."""
        self.evaluations += 1
        gradient = np.zeros_like(vector)
        try:
            value = self._evaluate(vector, gradient)
        except (ValueError, ArithmeticError, RuntimeError) as error:
            message = f"likelihood: {error}"
            if message not in self.messages:
                self.messages.append(message)
            return self.worst, np.zeros_like(vector)
        if not (math.isfinite(value) and np.isfinite(gradient).all()):
            return self.worst, np.zeros_like(vector)
        return value, gradient

    def _evaluate(self, vector: Vector, gradient: Vector) -> float:
        noise, count = self.noise(vector), len(self.y)
        form = (None if self._lean is None else self._lean(vector)) or self._by_autograd(vector)
        log_prior, prior_gradient = self._prior(vector)
        noisy = torch.from_numpy(form.covariance).clone()
        noisy.diagonal().add_(self.noises(vector, self.variances))
        factor = cholesky(noisy)
        inverse = torch.cholesky_inverse(factor).mT  # symmetric, and now row by row
        weights = inverse.sum(dim=-1)
        mean = (weights @ self.y) / weights.sum()  # the constant mean that fits best
        residual = self.y - mean
        alpha = inverse @ residual
        value = 0.5 * float(residual @ alpha) + float(factor.diagonal().log().sum())
        value += 0.5 * count * math.log(2 * math.pi) - log_prior
        slope = torch.addr(inverse, alpha, alpha, alpha=-1).mul_(0.5)  # of the likelihood in the covariance matrix
        form.add_gradient(slope.numpy(), gradient)
        gradient[: len(prior_gradient)] -= prior_gradient
        if self.noise_model == "unknown":
            location, scale = self.noise_prior.location, self.noise_prior.deviation
            deviation = (vector[-1] - location) / scale
            value += 0.5 * deviation**2
            trace = slope.trace() if self.variances is None else slope.diagonal()[self.variances.isnan()].sum()
            gradient[-1] = float(trace) * noise + deviation / scale
        return value


def _slots(kernel: Kernel) -> list[Slot]:
    slots, start = [], 0
    for name, parameter, constraint in kernel.named_parameters_and_constraints():
        if not parameter.requires_grad:  # fixed by the user
            continue
        stop = start + parameter.numel()
        lower, upper, logarithmic = -30.0, 30.0, False
        if constraint is not None and not constraint.enforced:
            low, high = float(constraint.lower_bound), float(constraint.upper_bound)
            logarithmic = low > 0
            lower = math.log(low) if logarithmic else low
            upper = min(math.log(high), _LARGEST_LOG) if logarithmic else high
        slots.append(Slot(name, parameter, slice(start, stop), logarithmic, lower, upper))
        start = stop
    return slots


def _form_by_autograd(x: Tensor, kernel: Kernel, slots: Sequence[Slot]) -> Callable[[Vector], AtParameters]:
    """The covariance matrix of any kernel as a function of a vector."""

    def at(vector: Vector) -> AtParameters:
        for slot in slots:
            slot.write(vector)
        with torch.enable_grad():
            covariance = covariance_matrix(kernel, x)
        return AtParameters(
            covariance.detach().numpy(),
            lambda slope, gradient: _pull(covariance, torch.from_numpy(slope), slots, gradient),
        )

    return at


def _prior_by_autograd(kernel: Kernel, slots: Sequence[Slot]) -> Prior:
    """The log density under any priors, of whatever the kernel makes of its parameters."""
    priors = [(prior, closure, module) for _, module, prior, closure, _ in kernel.named_priors()]

    def at(vector: Vector) -> tuple[float, Vector]:
        gradient = np.zeros(slots[-1].place.stop if slots else 0)
        if not priors:
            return 0.0, gradient
        for slot in slots:
            slot.write(vector)
        with torch.enable_grad():
            density = torch.stack([prior.log_prob(closure(module)).sum() for prior, closure, module in priors]).sum()
        _pull(density, torch.ones_like(density), slots, gradient)
        return float(density.detach()), gradient

    return at


def _pull(output: Tensor, slope: Tensor, slots: Sequence[Slot], gradient: Vector) -> None:
    """Add to a gradient what comes by way of an output, given the slope in it."""
    if not output.requires_grad:
        return
    found = torch.autograd.grad(output, [slot.parameter for slot in slots], slope, allow_unused=True)
    for slot, grad in zip(slots, found, strict=True):
        if grad is not None:
            scaled = grad * slot.parameter.detach() if slot.logarithmic else grad
            gradient[slot.place] += scaled.double().flatten().numpy()
