r"""Acquisition functions in closed form, value and gradient, on top of `betabo.surrogate.lean`.

A *rule* says what an acquisition function makes of mean and standard deviation. `lean_form` knows the rules of
BoTorch's analytic functions, reads the settings off the one it is given, and gives back one with the same values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import (
    ExpectedImprovement,
    LogExpectedImprovement,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
)
from botorch.models.model import Model
from numpy.polynomial.polynomial import polyval
from scipy.special import erfcx, log_ndtr, ndtr
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from betabo.acquisition.feasible import FeasibleAcquisition
from betabo.surrogate.gp import GaussianProcess
from betabo.surrogate.lean import LeanPosterior

Array = npt.NDArray[np.float64]

# 1 - t R(t), with Mills' ratio R, loses t^2 machine epsilons. From this t on its asymptotic series, whose coefficients
# are (-1)^k (2k + 1)!!, is exact to 1e-14.
_FAR = 30.0
_SERIES = (1.0, -3.0, 15.0, -105.0, 945.0, -10395.0, 135135.0)

_LOG_SQRT_2PI = math.log(2 * math.pi) / 2


class Outcome(NamedTuple):
    """Values of an acquisition function and their derivatives by mean and standard deviation, each `b`."""

    values: Array
    by_mean: Array
    by_sigma: Array


Rule = Callable[[Array, Array], Outcome]
"""From means and standard deviations, each `b`."""


class LeanAcquisition(AcquisitionFunction):
    """A sum of functions of mean and standard deviation, each of its own process.

    Gradients are given in closed form; gradients of gradients are not.

    Args:
        model: The model of the function that this one stands for.
        terms: Posteriors and what to make of them.
    """

    def __init__(self, model: Model, terms: list[tuple[LeanPosterior, Rule]]) -> None:
        super().__init__(model=model)
        self.terms = terms

    def forward(self, X: Tensor) -> Tensor:  # noqa: N803
        """Values at points of the unit cube, `... x 1 x d`, of shape `...`."""
        values: Tensor = _Sum.apply(X.reshape(-1, X.shape[-1]), self.terms)  # type: ignore[no-untyped-call]
        return values.view(X.shape[:-2])


class _Sum(Function):
    @staticmethod
    def forward(ctx: Any, points: Tensor, terms: list[tuple[LeanPosterior, Rule]]) -> Tensor:
        ctx.looks = []
        total = points.new_zeros(len(points))
        for posterior, rule in terms:
            prediction = posterior.predict(points)
            outcome = rule(prediction.mean.numpy(), prediction.sigma.numpy())
            values, by_mean, by_sigma = map(torch.from_numpy, outcome)
            total += values
            ctx.looks.append((prediction, by_mean, by_sigma))
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        gradients = (prediction.gradient(by_mean, by_sigma) for prediction, by_mean, by_sigma in ctx.looks)
        return grad.unsqueeze(-1) * sum(gradients), None


def lean_form(acquisition: AcquisitionFunction) -> AcquisitionFunction:
    """The same function, faster, where there is a lean form; otherwise the function itself.

    There is one for the analytic functions of the catalogue except the corrected ones, and for logarithms of them with
    constraints, if the kernels of all processes have one. A function with hooks stays as it is: somebody is watching.

    Args:
        acquisition: Function of t-batches `b x 1 x d`.
    """
    terms = _terms(acquisition)
    return acquisition if terms is None else LeanAcquisition(acquisition.model, terms)


def _terms(acquisition: AcquisitionFunction) -> list[tuple[LeanPosterior, Rule]] | None:
    if acquisition._forward_hooks or acquisition._forward_pre_hooks:
        return None
    if type(acquisition) is FeasibleAcquisition:
        return _feasible_terms(acquisition)
    make = _RULES.get(type(acquisition))
    if make is None or acquisition.posterior_transform is not None:
        return None
    posterior, rule = _posterior(acquisition.model), make(acquisition)
    return None if posterior is None or rule is None else [(posterior, rule)]


def _feasible_terms(acquisition: FeasibleAcquisition) -> list[tuple[LeanPosterior, Rule]] | None:
    terms: list[tuple[LeanPosterior, Rule]] = []
    if acquisition.acquisition is not None:
        objective = _terms(acquisition.acquisition) if acquisition.scale == "log" else None
        if objective is None:
            return None
        terms = objective
    for model, threshold in zip(acquisition.constraints, acquisition.thresholds, strict=True):
        posterior = _posterior(model)
        if posterior is None:
            return None
        terms.append((posterior, _improvement(_log_pi, threshold, maximize=False)))
    return terms


def _posterior(model: Model) -> LeanPosterior | None:
    return LeanPosterior.of(model) if type(model) is GaussianProcess else None


class _Scaled(NamedTuple):
    """Values of a function of the scaled improvement `u` and `sigma`, and its derivatives by either."""

    values: Array
    by_u: Array
    by_sigma: Array


def _improvement(function: Callable[[Array, Array], _Scaled], best: float, maximize: bool) -> Rule:
    """The rule of a function of `u`, the improvement on `best` in standard deviations, and `sigma`."""
    sign = 1.0 if maximize else -1.0

    def rule(mean: Array, sigma: Array) -> Outcome:
        u = sign * (mean - best) / sigma
        values, by_u, by_sigma = function(u, sigma)
        return Outcome(values, sign * by_u / sigma, by_sigma - by_u * u / sigma)

    return rule


def _log_ei(u: Array, sigma: Array) -> _Scaled:
    values, slopes = log_standard_improvement(u)
    return _Scaled(np.log(sigma) + values, slopes, 1 / sigma)


def _ei(u: Array, sigma: Array) -> _Scaled:
    standard = _density(u) + u * ndtr(u)
    return _Scaled(sigma * standard, sigma * ndtr(u), standard)


def _pi(u: Array, sigma: Array) -> _Scaled:
    return _Scaled(ndtr(u), _density(u), np.zeros_like(sigma))


def _log_pi(u: Array, sigma: Array) -> _Scaled:
    return _Scaled(log_ndtr(u), math.sqrt(2 / math.pi) / erfcx(-u * math.sqrt(0.5)), np.zeros_like(sigma))


def _density(u: Array) -> Array:
    return np.exp(-0.5 * u * u - _LOG_SQRT_2PI)


def log_standard_improvement(u: Array) -> tuple[Array, Array]:
    r""":math:`\ln h(u)` with :math:`h(u) = \phi(u) + u \Phi(u)`, and its derivative :math:`\Phi(u) / h(u)`.

    As in `betabo.acquisition.corrected`, where the formulas are.

    Args:
        u: Improvements in standard deviations, any shape.

    Returns:
        Two arrays of the shape of `u`.
    """
    high = np.maximum(u, -1.0)
    probability = ndtr(high)
    direct = _density(high) + high * probability
    low = -np.minimum(u, -1.0)
    mills = math.sqrt(math.pi / 2) * erfcx(low * math.sqrt(0.5))
    tail = 1 - np.minimum(low, _FAR) * mills
    if (far := low > _FAR).any():
        inverse_square = low[far] ** -2
        tail[far] = inverse_square * polyval(inverse_square, _SERIES)
    log_tail = np.log(tail) - 0.5 * low * low - _LOG_SQRT_2PI
    upper = u > -1.0
    return np.where(upper, np.log(direct), log_tail), np.where(upper, probability / direct, mills / tail)


def _confidence_bound(acquisition: Any) -> Rule | None:
    if acquisition.beta.dim():
        return None
    sign, width = 1.0 if acquisition.maximize else -1.0, math.sqrt(float(acquisition.beta))
    return lambda mean, sigma: Outcome(
        sign * mean + width * sigma, np.full_like(mean, sign), np.full_like(sigma, width)
    )


def _improvement_on_best(function: Callable[[Array, Array], _Scaled]) -> Callable[[Any], Rule | None]:
    def make(acquisition: Any) -> Rule | None:
        if acquisition.best_f.dim():
            return None
        return _improvement(function, float(acquisition.best_f), acquisition.maximize)

    return make


_RULES: dict[type[Any], Callable[[Any], Rule | None]] = {
    LogExpectedImprovement: _improvement_on_best(_log_ei),
    ExpectedImprovement: _improvement_on_best(_ei),
    ProbabilityOfImprovement: _improvement_on_best(_pi),
    UpperConfidenceBound: _confidence_bound,
}
