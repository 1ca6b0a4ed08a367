"""What a search believes: a Gaussian process for each objective and each constraint, and where it wants to look."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.utils.multi_objective.pareto import is_non_dominated
from gpytorch.kernels import Kernel
from scipy.special import ndtr, ndtri
from torch import Tensor

from betabo.acquisition.catalogue import ACQUISITIONS, AcquisitionContext, make_acquisition
from betabo.acquisition.feasible import FeasibleAcquisition
from betabo.acquisition.hypervolume import log_hypervolume_improvement
from betabo.acquisition.knowledge import LogKnowledgeGradient
from betabo.kernels.box import BoxKernel
from betabo.kernels.catalogue import make_kernel
from betabo.kernels.factory import profile_covariance
from betabo.optimizer.config import Config
from betabo.optimizer.data import Data, Points
from betabo.optimizer.noise import Repeats, is_seen
from betabo.surrogate import FitReport, FitState, GaussianProcess, OutputTransform, covariance_factor, fit_gp
from betabo.surrogate.likelihood import USUAL_NOISE

_MOST_NOISE = 1e3  # standard deviation of the noise, in standard deviations of the values
_MAX_ITERATIONS = 60  # of a fit
_NOISY = FitState({}, noise=0.3)  # from which a thorough fit begins too
_CLEARLY = 1.0  # by how much the logarithm of the likelihood has to be higher
_LARGEST = sys.float_info.max / 4  # prediction; two of them have a difference
_REACH = 3.0  # predictions are cut off this many times the range of the values beyond them

Effort = Literal["none", "usual", "thorough"]
"""How a fit looks for hyperparameters: not at all, with those of the last fit; from these; from noise, too."""

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(32)  # for means over a normal distribution


@dataclass(frozen=True)
class Output:
    """The model of one objective or one constraint.

    Attributes:
        process: The fitted process, in transformed values.
        transform: From values to transformed values.
        state: Its hyperparameters as plain numbers.
        diagnostics: Figures of the fit, JSON-able.
        lowest: Lowest value seen.
        highest: Highest value seen.
    """

    process: GaussianProcess
    transform: OutputTransform
    state: FitState
    diagnostics: dict[str, Any]
    lowest: float
    highest: float

    @classmethod
    def fit(
        cls,
        data: Data,
        values: Points,
        config: Config,
        seed: int,
        state: FitState | None,
        variances: Points | None = None,
        effort: Effort = "usual",
    ) -> Output:
        """Fit to the values, `n`, of the points of `data`; failed points count as being as bad as the worst.

        Args:
            data: The points.
            values: Their values.
            config: How to model them.
            seed: Seed of the fit.
            state: Hyperparameters of the last fit.
            variances: Noise variances of the values, `n`, NaN where they are not known; None where none is.
            effort: How hard to look for hyperparameters.
        """
        x = torch.from_numpy(data.points)
        kernel = _new_kernel(config, data)
        transform = _learn_transform(data, values, config, state)
        y = torch.from_numpy(transform(values))
        noise = config.noise_model
        if isinstance(noise, (int, float)):
            deviation = math.sqrt(noise) / transform.scale / transform.spread
            noise = min(deviation, _MOST_NOISE) ** 2
        repeats = Repeats.of(data, values)
        is_open = noise == "unknown" and repeats.leave_open
        fit = partial(
            fit_gp,
            x,
            y,
            variances=_transformed_variances(values, variances, transform),
            counted=torch.from_numpy(~repeats.again) if is_open else None,
        )
        process, state, report = fit(
            kernel,
            noise=noise,
            warm_start=state,
            restarts=1 if state is None else 0,
            max_iterations=0 if effort == "none" and state is not None else _MAX_ITERATIONS,
            generator=torch.Generator().manual_seed(seed),
        )
        if effort == "thorough" and noise == "unknown":  # one that took noise for signal does not find back by itself
            again = _new_kernel(config, data)
            other = fit(again, warm_start=_NOISY, restarts=0)
            if is_seen(other[1]) and _evidence(other[1], other[2]) > _evidence(state, report) + _CLEARLY:
                process, state, report = other
                kernel = again
        if is_open and is_seen(state) and effort != "none":
            again = _new_kernel(config, data)
            other = fit(again, noise="none", warm_start=state, restarts=0)
            deviations = math.sqrt(state.noise) / transform.slopes(values)
            if not repeats.speak_for_noise(values, deviations, _evidence(state, report) + other[2].objective):
                process, state, report = other
                kernel = again
        if len(data.failed):
            worst = y.max().expand(len(data.failed))
            process = process.condition(torch.from_numpy(data.failed), worst)
        diagnostics = {
            "fit": report.status,
            "fit_seconds": report.seconds,
            "fit_evaluations": report.evaluations,
            "fit_messages": list(report.messages),
            "noise": state.noise,
            **_kernel_figures(kernel),
        }
        return cls(process, transform, state, diagnostics, float(values.min()), float(values.max()))

    @torch.no_grad()
    def means(self, points: Tensor) -> Tensor:
        """Posterior means of the transformed value at points of the unit cube, `n x d`; of shape `n`."""
        posterior = cast("GPyTorchPosterior", self.process.posterior(points.unsqueeze(-2)))
        return posterior.mean.flatten()

    def moments(self, point: Points) -> tuple[float, float]:
        """Mean and deviation of the value at a point of the unit cube, `d`, without noise, in its own units."""
        values = self.quantiles(point[None], ndtr(_NODES).tolist())[:, 0]
        weights = _WEIGHTS / _WEIGHTS.sum()
        mean = float(weights @ values)
        largest = float(np.abs(values - mean).max()) or 1.0  # of which the square may overflow
        return mean, float(np.sqrt(weights @ np.square((values - mean) / largest)) * largest)

    def quantiles(self, points: npt.ArrayLike, probabilities: Sequence[float]) -> Points:
        """Quantiles of the value, without noise, in its own units.

        Args:
            points: Points of the unit cube, `n x d`.
            probabilities: Numbers between 0 and 1, `k` of them.

        Returns:
            An array `k x n`. Where the transformation has no inverse or extrapolates far, it ends at three times the
            range of the values seen beyond them.
        """
        x = torch.as_tensor(np.asarray(points, dtype=np.float64)).unsqueeze(-2)
        with torch.no_grad():
            posterior = cast("GPyTorchPosterior", self.process.posterior(x))
            mean = posterior.mean.flatten().numpy()
            deviation = posterior.variance.flatten().sqrt().numpy()
        return self.in_own_units(mean + ndtri(np.asarray(probabilities, dtype=np.float64))[:, None] * deviation)

    def leave_one_out(self, probabilities: Sequence[float]) -> Points:
        """Quantiles of each value that the model was fitted to, noise included, as if it had not been known, `k x n`.

        Args:
            probabilities: Numbers between 0 and 1, `k` of them.
        """
        mean, variance = (moment.numpy() for moment in self.process.leave_one_out())
        z = mean + ndtri(np.asarray(probabilities, dtype=np.float64))[:, None] * np.sqrt(variance)
        return self.in_own_units(z)

    def draws(self, points: npt.ArrayLike, count: int, seed: int) -> Points:
        """Functions that the model believes in, without noise, at points `n x d`: an array `count x n`."""
        x = torch.as_tensor(np.asarray(points, dtype=np.float64))
        return self.in_own_units(self.process.draw(x, count, torch.Generator().manual_seed(seed)).numpy())

    def in_own_units(self, z: Points) -> Points:
        """Transformed values in the output's own units, cut off far beyond those seen and where sums overflow."""
        reach = _REACH * (self.highest - self.lowest)
        low, high = max(self.lowest - reach, -_LARGEST), min(self.highest + reach, _LARGEST)
        return np.clip(self.transform.inverse(z), low, high)


@dataclass(frozen=True)
class Surrogate:
    """The models of all objectives and constraints.

    Attributes:
        objectives: One model for each objective.
        constraints: One model for each constraint, which holds where its value is at most 0.
    """

    objectives: tuple[Output, ...]
    constraints: tuple[Output, ...]

    @classmethod
    def fit(
        cls, data: Data, config: Config, seed: int, states: Sequence[FitState] = (), effort: Effort = "usual"
    ) -> Surrogate:
        """Fit every output, each from its own state if there is one for each."""
        count = data.objectives.shape[1]
        columns = [*data.objectives.T, *data.constraints.T]
        variances = [*data.variances.reshape(-1, count).T, *np.full_like(data.constraints, np.nan).T]
        starts = list(states) if len(states) == len(columns) else [None] * len(columns)
        # A configured variance is that of the objective's noise, not of what is measured beside it.
        beside = config if isinstance(config.noise, str) else replace(config, noise="unknown")
        outputs = tuple(
            Output.fit(data, column, config if i < count else beside, seed + i, start, known, effort)
            for i, (column, known, start) in enumerate(zip(columns, variances, starts, strict=True))
        )
        return cls(outputs[:count], outputs[count:])

    @property
    def outputs(self) -> tuple[Output, ...]:
        """All models, objectives first."""
        return self.objectives + self.constraints

    @property
    def states(self) -> tuple[FitState, ...]:
        """Hyperparameters of all models."""
        return tuple(output.state for output in self.outputs)

    @property
    def sees_noise(self) -> bool:
        """Whether there is one objective, with noise."""
        return len(self.objectives) == 1 and is_seen(self.objectives[0].state)

    def asks_for_knowledge(self, config: Config) -> bool:
        """Whether the knowledge gradient takes the place of log EI, of which it is the form with noise."""
        return self.sees_noise and config.acquisition == "log_ei"

    def diagnostics(self) -> dict[str, Any]:
        """Figures of the first objective's fit; of all fits under `"models"` where there are several."""
        figures = dict(self.outputs[0].diagnostics)
        if len(self.outputs) > 1:
            figures["models"] = [output.diagnostics for output in self.outputs]
            figures["fit_seconds"] = sum(output.diagnostics["fit_seconds"] for output in self.outputs)
        return figures

    def acquisition(self, data: Data, pending: Tensor, config: Config, seed: int) -> AcquisitionFunction:
        """What to maximize next.

        Args:
            data: What the models were fitted to.
            pending: Points that count as evaluated with their expected values, `p x d`.
            config: Which acquisition function.
            seed: Seed of its samples, where it uses any.
        """
        objectives = [_with_pending(output.process, pending) for output in self.objectives]
        constraints = [_with_pending(output.process, pending) for output in self.constraints]
        thresholds = [float(output.transform([0.0])[0]) for output in self.constraints]
        feasible = torch.ones(len(objectives[0].y), dtype=torch.bool)
        for process, threshold in zip(constraints, thresholds, strict=True):
            feasible &= process.y <= threshold
        if not feasible.any():
            return FeasibleAcquisition(None, constraints, thresholds)
        own = feasible.clone()  # what an earlier task reached need not be reached again
        own[: len(data.points)] &= torch.from_numpy(~data.earlier)
        feasible = own if own.any() else feasible
        if len(objectives) > 1:
            values = torch.stack([process.y for process in objectives], dim=-1)
            acquisition = log_hypervolume_improvement(objectives, values[feasible], seed=seed)
            return FeasibleAcquisition(acquisition, constraints, thresholds) if constraints else acquisition
        (process,) = objectives
        succeeded = torch.ones_like(feasible)
        succeeded[len(data.points) : len(data.points) + len(data.failed)] = False
        context = AcquisitionContext(
            model=process,
            best_f=process.y[feasible].min(),  # maybe that of a pending point: the next one is to improve on it
            X_observed=process.x[feasible & succeeded],
            step=len(data.points) + len(pending),
            dims=data.dims,
            beta=config.beta,
        )
        if self.asks_for_knowledge(config):
            acquisition = LogKnowledgeGradient(process, context.X_observed, self.objectives[0].state.noise)
        else:
            acquisition = make_acquisition(config.acquisition, context)
        if not constraints:
            return acquisition
        scale = ACQUISITIONS[config.acquisition].scale if isinstance(config.acquisition, str) else "real"
        return FeasibleAcquisition(acquisition, constraints, thresholds, scale, reference=-float(process.y.max()))

    def with_more(self, data: Data) -> Surrogate:
        """The same models, hyperparameters and all, that know further evaluations besides."""
        points = torch.from_numpy(data.points)

        def extended(output: Output, values: Points) -> Output:
            return replace(output, process=output.process.condition(points, torch.from_numpy(output.transform(values))))

        return Surrogate(
            tuple(extended(*pair) for pair in zip(self.objectives, data.objectives.T, strict=True)),
            tuple(extended(*pair) for pair in zip(self.constraints, data.constraints.T, strict=True)),
        )

    def incumbents(self, data: Data, count: int) -> Tensor:
        """The best points known, best first, `k x d`: feasible ones with the lowest values, or the Pareto front.

        With noise they are those with the lowest means. Without a feasible point, those that violate the constraints
        least.
        """
        x = torch.from_numpy(data.points)
        objectives = torch.stack([output.process.y[: len(x)] for output in self.objectives], dim=-1)
        if self.sees_noise:
            objectives = self.objectives[0].means(x).unsqueeze(-1)
        violation = torch.zeros(len(x), dtype=x.dtype)
        for output in self.constraints:
            threshold = float(output.transform([0.0])[0])
            violation += (output.process.y[: len(x)] - threshold).clamp_min(0)
        score, behind = objectives.mean(dim=-1), torch.zeros(len(x), dtype=torch.bool)
        if objectives.shape[1] > 1:
            behind = ~is_non_dominated(-objectives, deduplicate=False)
        feasible = violation == 0
        order = np.lexsort((score * feasible, behind & feasible, violation))  # by the last first
        return x[torch.from_numpy(order[:count])]


def _new_kernel(config: Config, data: Data) -> Kernel:
    """The configured kernel; the default one knows of profiles."""
    if data.profiles and config.kernel == Config.kernel:
        return profile_covariance(data.dims, data.profiles).double()
    return make_kernel(config.kernel, data.dims).double()


def _learn_transform(data: Data, values: Points, config: Config, state: FitState | None) -> OutputTransform:
    """How to transform the values, given how the last fit says they depend on each other."""
    factor = None
    if state is not None and config.power_transform:
        factor = covariance_factor(torch.from_numpy(data.points), _new_kernel(config, data), state)
    return OutputTransform.learn(values, config.power_transform, None if factor is None else factor.numpy())


def _transformed_variances(values: Points, variances: Points | None, transform: OutputTransform) -> Tensor | None:
    """Noise variances of the transformed values, where any is known: what a small error of the value does there."""
    if variances is None or np.isnan(variances).all():
        return None
    deviations = np.minimum(np.sqrt(variances) * transform.slopes(values), _MOST_NOISE)
    return torch.from_numpy(np.square(deviations))


def _evidence(state: FitState, report: FitReport) -> float:
    """Logarithm of how likely the values are under a fit, whatever was believed of the noise beforehand."""
    return USUAL_NOISE.cost(state.noise) - report.objective


def _with_pending(process: GaussianProcess, pending: Tensor) -> GaussianProcess:
    return process.condition(pending) if len(pending) else process


def _kernel_figures(kernel: Kernel) -> dict[str, Any]:
    """Bandwidths, boundary weight and length scales, where the kernel has them."""
    figures: dict[str, Any] = {}
    for module in kernel.modules():
        if isinstance(module, BoxKernel):
            figures["bandwidth"] = module.bandwidth.detach().flatten().tolist()
            figures["boundary_weight"] = module.boundary_weight.detach().mean().item()
        if isinstance(module, Kernel) and module.has_lengthscale:
            figures["lengthscale"] = module.lengthscale.detach().flatten().tolist()
    return figures
