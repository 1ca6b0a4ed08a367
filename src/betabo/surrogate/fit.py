"""Hyperparameters by maximum a posteriori: a lean likelihood around any GPyTorch kernel.

The gradient of the log marginal likelihood with respect to the covariance matrix is known in closed form, so the kernel
matrix is the only thing that autograd goes through. Parameters that a constraint keeps positive are fitted in their
logarithms, with SciPy's L-BFGS-B.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from gpytorch.kernels import Kernel
from scipy.optimize import minimize as scipy_minimize
from torch import Tensor

from betabo.surrogate.gp import GaussianProcess, cholesky, covariance_matrix

Noise = float | Literal["unknown", "none"]

LOWEST_NOISE, NO_NOISE = 1e-6, 1e-6
_NOISE_PRIOR = (-8.0, 3.0)  # mean and standard deviation of the log noise variance, of standardized values
_NOISE_START = math.exp(-5.0)
_MOST_POINTS = 300  # of which the likelihood is computed; the posterior uses all
_LARGEST_LOG = math.log(1e6)
_TOLERANCE = 1e-6  # relative change of the objective at which a fit has converged


@dataclass(frozen=True)
class FitState:
    """Hyperparameters as plain numbers, to start the next fit from and to be saved.

    Attributes:
        parameters: Raw values of the kernel's parameters by name.
        noise: Noise variance of standardized values.
    """

    parameters: dict[str, list[float]]
    noise: float


@dataclass(frozen=True)
class FitReport:
    """How a fit went.

    Attributes:
        status: `"fitted"`; `"constant"` where all values are equal and nothing was fitted; `"fallback"` where no start
            succeeded and the kernel's initial hyperparameters were taken.
        objective: Negative log posterior of the hyperparameters that were taken, NaN without a fit.
        starts: Number of starts that succeeded.
        evaluations: Evaluations of the likelihood.
        seconds: Time taken.
        messages: What went wrong on the way.
    """

    status: Literal["fitted", "constant", "fallback"]
    objective: float
    starts: int
    evaluations: int
    seconds: float
    messages: tuple[str, ...] = ()


def fit_gp(
    x: Tensor,
    y: Tensor,
    kernel: Kernel,
    *,
    noise: Noise = "unknown",
    warm_start: FitState | None = None,
    restarts: int = 1,
    max_iterations: int = 60,
    generator: torch.Generator | None = None,
) -> tuple[GaussianProcess, FitState, FitReport]:
    """Fit the kernel's parameters and the noise, and condition on the data.

    Where no start leads anywhere the kernel's initial hyperparameters are taken, and the report says so.

    Args:
        x: Points of the unit cube, `n x d`.
        y: Standardized values, `n`.
        kernel: Covariance function; its parameters are set in place.
        noise: `"unknown"` fits the noise variance, `"none"` means a deterministic objective, a number is the known
            noise variance of the standardized values.
        warm_start: Hyperparameters of an earlier fit, tried first.
        restarts: Further starts, from draws around the initial hyperparameters.
        max_iterations: Iterations of L-BFGS-B a start.
        generator: Source of the draws.

    Returns:
        The process, its hyperparameters, and how the fit went.
    """
    began = time.perf_counter()
    problem = _Likelihood(*_thinned(x, y), kernel, noise)
    initial = problem.vector()
    if float(y.std(correction=0)) < 1e-9:
        process, state = _condition(x, y, problem, initial)
        return process, state, FitReport("constant", math.nan, 0, 0, time.perf_counter() - began)

    starts = [initial]
    for _ in range(restarts):
        draw = torch.randn(len(initial), generator=generator, dtype=torch.float64).numpy()
        starts.append(initial + draw)
    if warm_start is not None:
        starts = [problem.vector_of(warm_start), *starts[1:]]
    found: list[tuple[float, npt.NDArray[np.float64]]] = []
    for start in starts:
        clipped = np.clip(start, *problem.bounds.T)
        result = scipy_minimize(
            problem.per_point,
            clipped,
            jac=True,
            method="L-BFGS-B",
            bounds=problem.bounds,
            options={"maxiter": max_iterations, "ftol": _TOLERANCE},
        )
        objective = float(result.fun) * len(problem.y)
        if np.isfinite(objective) and objective < 0.99 * problem.worst:
            found.append((objective, result.x))
    for objective, vector in sorted(found, key=lambda pair: pair[0]):
        try:
            process, state = _condition(x, y, problem, vector)
        except ValueError as error:
            problem.messages.append(str(error))
            continue
        seconds = time.perf_counter() - began
        report = FitReport("fitted", objective, len(found), problem.evaluations, seconds, tuple(problem.messages))
        return process, state, report
    problem.messages.append("no start of the fit succeeded; the kernel's initial hyperparameters were taken")
    process, state = _condition(x, y, problem, initial, extra_noise=True)
    seconds = time.perf_counter() - began
    return process, state, FitReport("fallback", math.nan, 0, problem.evaluations, seconds, tuple(problem.messages))


def _thinned(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """At most `_MOST_POINTS` of the data: the best third, and an even choice of the rest."""
    if len(y) <= _MOST_POINTS:
        return x, y
    order = y.argsort()
    best = order[: _MOST_POINTS // 3]
    rest = order[_MOST_POINTS // 3 :].sort().values
    step = torch.linspace(0, len(rest) - 1, _MOST_POINTS - len(best)).round().long()
    keep = torch.cat([best, rest[step]]).sort().values
    return x[keep], y[keep]


def _condition(
    x: Tensor, y: Tensor, problem: _Likelihood, vector: npt.NDArray[np.float64], extra_noise: bool = False
) -> tuple[GaussianProcess, FitState]:
    problem.assign(vector)
    noise = problem.noise(vector)
    process = GaussianProcess(x, y, problem.kernel, max(noise, 1e-2) if extra_noise else noise)
    return process, FitState({s.name: s.parameter.detach().flatten().tolist() for s in problem.slots}, noise)


@dataclass(frozen=True)
class _Slot:
    """One parameter of the kernel and its place in the vector that is optimized."""

    name: str
    parameter: Tensor
    place: slice
    logarithmic: bool
    lower: float
    upper: float

    def write(self, vector: npt.NDArray[np.float64]) -> None:
        values = torch.from_numpy(vector[self.place]).to(self.parameter).view_as(self.parameter)
        self.parameter.data.copy_(values.exp() if self.logarithmic else values)

    def read(self, values: Tensor) -> npt.NDArray[np.float64]:
        flat = values.detach().double().flatten()
        return (flat.clamp_min(1e-300).log() if self.logarithmic else flat).numpy()


@dataclass
class _Likelihood:
    """Negative log posterior of the hyperparameters, with its gradient, as a function of a vector."""

    x: Tensor
    y: Tensor
    kernel: Kernel
    noise_model: Noise
    evaluations: int = 0
    messages: list[str] = field(default_factory=list)
    worst: float = 1e10  # what an impossible vector costs

    def __post_init__(self) -> None:
        self.slots: list[_Slot] = []
        start = 0
        for name, parameter, constraint in self.kernel.named_parameters_and_constraints():
            stop = start + parameter.numel()
            lower, upper, logarithmic = -30.0, 30.0, False
            if constraint is not None and not constraint.enforced:
                low, high = float(constraint.lower_bound), float(constraint.upper_bound)
                logarithmic = low > 0
                lower = math.log(low) if logarithmic else low
                upper = min(math.log(high), _LARGEST_LOG) if logarithmic else high
            self.slots.append(_Slot(name, parameter, slice(start, stop), logarithmic, lower, upper))
            start = stop
        self.size = start
        limits = [(slot.lower, slot.upper) for slot in self.slots for _ in range(slot.parameter.numel())]
        if self.noise_model == "unknown":
            limits.append((math.log(LOWEST_NOISE), math.log(10.0)))
        self.bounds = np.array(limits, dtype=np.float64).reshape(-1, 2)
        self.priors = [(prior, closure, module) for _, module, prior, closure, _ in self.kernel.named_priors()]

    def vector(self) -> npt.NDArray[np.float64]:
        """The kernel's current parameters."""
        parts = [slot.read(slot.parameter) for slot in self.slots]
        return np.concatenate([*parts, [math.log(_NOISE_START)]] if self.noise_model == "unknown" else parts)

    def vector_of(self, state: FitState) -> npt.NDArray[np.float64]:
        """The parameters of an earlier fit, or the current ones where it does not match the kernel."""
        vector = self.vector()
        for slot in self.slots:
            values = state.parameters.get(slot.name, [])
            if len(values) == slot.parameter.numel():
                vector[slot.place] = slot.read(torch.tensor(values, dtype=torch.float64))
        if self.noise_model == "unknown":
            vector[-1] = math.log(max(state.noise, LOWEST_NOISE))
        return vector

    def assign(self, vector: npt.NDArray[np.float64]) -> None:
        """Set the kernel's parameters."""
        for slot in self.slots:
            slot.write(vector)

    def noise(self, vector: npt.NDArray[np.float64]) -> float:
        """The noise variance."""
        if self.noise_model == "unknown":
            return math.exp(vector[-1])
        return NO_NOISE if self.noise_model == "none" else max(float(self.noise_model), NO_NOISE)

    def __call__(self, vector: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        self.evaluations += 1
        self.assign(vector)
        gradient = np.zeros_like(vector)
        try:
            value = self._evaluate(vector, gradient)
        except (ValueError, ArithmeticError, RuntimeError) as error:
            message = f"likelihood: {error}"
            if message not in self.messages:
                self.messages.append(message)
            return self.worst, gradient
        if not (math.isfinite(value) and np.isfinite(gradient).all()):
            return self.worst, np.zeros_like(vector)
        return value, gradient

    def per_point(self, vector: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        """The objective divided by the number of points.

        The first step of L-BFGS-B in a box is the gradient itself; of the sum it would be a leap across the box.
        """
        value, gradient = self(vector)
        return value / len(self.y), gradient / len(self.y)

    def _evaluate(self, vector: npt.NDArray[np.float64], gradient: npt.NDArray[np.float64]) -> float:
        parameters = [slot.parameter for slot in self.slots]
        noise, count = self.noise(vector), len(self.y)
        with torch.enable_grad():
            covariance = covariance_matrix(self.kernel, self.x)
            log_prior = sum(
                (prior.log_prob(closure(module)).sum() for prior, closure, module in self.priors),
                start=torch.zeros((), dtype=self.x.dtype, device=self.x.device),
            )
        identity = torch.eye(count, dtype=self.x.dtype, device=self.x.device)
        factor = cholesky(covariance.detach() + noise * identity)
        inverse = torch.cholesky_inverse(factor)
        weights = inverse.sum(dim=-1)
        mean = (weights @ self.y) / weights.sum()  # the constant mean that fits best
        alpha = inverse @ (self.y - mean)
        value = 0.5 * float((self.y - mean) @ alpha) + float(factor.diagonal().log().sum())
        value += 0.5 * count * math.log(2 * math.pi) - float(log_prior.detach())
        slope = 0.5 * (inverse - alpha.unsqueeze(-1) * alpha)  # of the likelihood in the covariance matrix
        outputs, slopes = [covariance], [slope]
        if log_prior.requires_grad:
            outputs, slopes = [covariance, log_prior], [slope, -torch.ones_like(log_prior)]
        found = torch.autograd.grad(outputs, parameters, slopes, allow_unused=True)
        for slot, grad in zip(self.slots, found, strict=True):
            if grad is not None:
                scaled = grad * slot.parameter.detach() if slot.logarithmic else grad
                gradient[slot.place] = scaled.double().flatten().numpy()
        if self.noise_model == "unknown":
            location, scale = _NOISE_PRIOR
            deviation = (vector[-1] - location) / scale
            value += 0.5 * deviation**2
            gradient[-1] = float(slope.diagonal().sum()) * noise + deviation / scale
        return value
