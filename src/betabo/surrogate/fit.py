"""Hyperparameters by maximum a posteriori, with SciPy's L-BFGS-B, of any GPyTorch kernel."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from gpytorch.kernels import Kernel
from scipy.optimize import minimize as scipy_minimize
from torch import Tensor

from betabo.surrogate.gp import GaussianProcess, cholesky, covariance_matrix
from betabo.surrogate.likelihood import USUAL_NOISE, Likelihood, Noise, NoisePrior

__all__ = ["FitReport", "FitState", "Noise", "NoisePrior", "covariance_factor", "fit_gp"]

_MOST_POINTS = 300  # of which the likelihood is computed; the posterior uses all
# Pairs of points times coordinates, of which an evaluation of the likelihood takes about 15 ns each: so many at most;
# so many in all iterations of a fit, which the next one goes on with; and so many with which there are several starts.
_MOST_WORK, _WORK_OF_A_FIT, _WORK_OF_A_START = 3e6, 3.6e7, 5e5
_FEWEST_ITERATIONS = 8
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

    @torch.no_grad()
    def set(self, kernel: Kernel) -> None:
        """Set the kernel's parameters; one of another name or size stays as it is."""
        for name, parameter in kernel.named_parameters():
            values = torch.tensor(self.parameters.get(name, []), dtype=torch.float64)
            if values.numel() == parameter.numel():
                parameter.copy_(values.view_as(parameter))


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
    variances: Tensor | None = None,
    counted: Tensor | None = None,
    noise_prior: NoisePrior = USUAL_NOISE,
    warm_start: FitState | None = None,
    restarts: int = 1,
    max_iterations: int = 60,
    generator: torch.Generator | None = None,
    lean: bool = True,
) -> tuple[GaussianProcess, FitState, FitReport]:
    """Fit the kernel's parameters and the noise, and condition on the data.

    Where no start leads anywhere the kernel's initial hyperparameters are taken, and the report says so.

    Args:
        x: Points of the unit cube, `n x d`.
        y: Standardized values, `n`.
        kernel: Covariance function; its parameters are set in place.
        noise: `"unknown"` fits the noise variance, `"none"` means a deterministic objective, a number is the known
            noise variance of the standardized values.
        variances: Noise variances of single standardized values, `n`, where they are known, and NaN where `noise` says
            it; None where it says it of all.
        counted: Which of the values the likelihood is that of, `n` truth values; None takes all.
        noise_prior: What is believed of an unknown noise variance.
        warm_start: Hyperparameters of an earlier fit, tried first.
        restarts: Further starts, from draws around the initial hyperparameters; none where a fit takes long.
        max_iterations: Iterations of L-BFGS-B a start; fewer where they take long.
        generator: Source of the draws.
        lean: Whether to differentiate in closed form where there is one, see `Likelihood`.

    Returns:
        The process, its hyperparameters, and how the fit went.
    """
    began = time.perf_counter()
    if variances is not None and not bool(variances.isnan().any()):
        noise = float(variances.mean())  # which is left for none to be fitted
    most = min(_MOST_POINTS, int(math.sqrt(2 * _MOST_WORK / x.shape[-1])))
    if counted is None:
        kept = _kept(y, most)
    else:
        numbers = counted.nonzero().squeeze(-1)
        kept = numbers[_kept(y[counted], most)]
    problem = Likelihood(
        x[kept],
        y[kept],
        kernel,
        noise,
        noise_prior=noise_prior,
        variances=None if variances is None else variances[kept],
        lean=lean,
    )
    initial = problem.vector()
    if float(y.std(correction=0)) < 1e-9:
        process, state = _condition(x, y, variances, problem, initial)
        return process, state, FitReport("constant", math.nan, 0, 0, time.perf_counter() - began)

    work = len(problem.y) ** 2 / 2 * x.shape[-1]
    max_iterations = min(max_iterations, max(_FEWEST_ITERATIONS, int(_WORK_OF_A_FIT / work)))
    restarts = restarts if work <= _WORK_OF_A_START else 0
    starts = [initial]
    for _ in range(restarts):
        draw = torch.randn(len(initial), generator=generator, dtype=torch.float64).numpy()
        starts.append(initial + draw)
    if warm_start is not None:
        starts = [problem.vector_of(warm_start.parameters, warm_start.noise), *starts[1:]]
    found: list[tuple[float, npt.NDArray[np.float64]]] = []
    for start in starts:
        objective, vector = _descend(problem, np.clip(start, *problem.bounds.T), max_iterations)
        if objective < problem.worst:
            found.append((objective, vector))
    for objective, vector in sorted(found, key=lambda pair: pair[0]):
        try:
            process, state = _condition(x, y, variances, problem, vector)
        except ValueError as error:
            problem.messages.append(str(error))
            continue
        seconds = time.perf_counter() - began
        report = FitReport("fitted", objective, len(found), problem.evaluations, seconds, tuple(problem.messages))
        return process, state, report
    problem.messages.append("no start of the fit succeeded; the kernel's initial hyperparameters were taken")
    process, state = _condition(x, y, variances, problem, initial, least_noise=1e-2)
    seconds = time.perf_counter() - began
    return process, state, FitReport("fallback", math.nan, 0, problem.evaluations, seconds, tuple(problem.messages))


def covariance_factor(x: Tensor, kernel: Kernel, state: FitState) -> Tensor | None:
    """Lower Cholesky factor of the covariance of values, noise included, with the hyperparameters of an earlier fit.

    Args:
        x: Points of the unit cube, `n x d`.
        kernel: Covariance function; its parameters are set in place.
        state: Hyperparameters of a fit of the same kernel.

    Returns:
        The factor, `n x n`, or None where the points do not allow these hyperparameters.
    """
    try:
        with torch.no_grad():
            state.set(kernel)
            covariance = covariance_matrix(kernel, x).clone()
            covariance.diagonal().add_(state.noise)
            return cholesky(covariance)
    except (ValueError, ArithmeticError, RuntimeError):  # as in a fit, which is to say so
        return None


def _descend(
    problem: Likelihood, start: npt.NDArray[np.float64], max_iterations: int
) -> tuple[float, npt.NDArray[np.float64]]:
    """The lowest objective met by L-BFGS-B, and where.

    What SciPy returns after a line search that failed may be the value of one point and the place of another.
    """
    count = len(problem.y)
    best, place = math.inf, start

    def per_point(vector: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        # The first step of L-BFGS-B in a box is the gradient itself; of the sum it would be a leap across the box.
        nonlocal best, place
        value, gradient = problem(vector)
        if value < best:
            best, place = value, vector.copy()
        return value / count, gradient / count

    scipy_minimize(
        per_point,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=problem.bounds,
        options={"maxiter": max_iterations, "ftol": _TOLERANCE},
    )
    return best, place


def _kept(y: Tensor, most: int) -> Tensor | slice:
    """Which data are fitted to, at most `most`: the best third, and an even choice of the rest."""
    if len(y) <= most:
        return slice(None)
    order = y.argsort()
    best = order[: most // 3]
    rest = order[most // 3 :].sort().values
    step = torch.linspace(0, len(rest) - 1, most - len(best)).round().long()
    return torch.cat([best, rest[step]]).sort().values


def _condition(
    x: Tensor,
    y: Tensor,
    variances: Tensor | None,
    problem: Likelihood,
    vector: npt.NDArray[np.float64],
    least_noise: float = 0.0,
) -> tuple[GaussianProcess, FitState]:
    problem.assign(vector)
    noise = torch.as_tensor(problem.noises(vector, variances), dtype=x.dtype).clamp_min(least_noise)
    process = GaussianProcess(x, y, problem.kernel, noise)
    parameters = {s.name: s.parameter.detach().flatten().tolist() for s in problem.slots}
    return process, FitState(parameters, problem.noise(vector))
