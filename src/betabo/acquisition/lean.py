r"""Acquisition functions in closed form, value and gradient, on top of `betabo.surrogate.lean`.

A *rule* says what an acquisition function makes of mean and standard deviation. `rule_of` declares the rule of a class
of functions; those of BoTorch's analytic functions stand here. `lean_form` reads the settings off the function that it
is given, and gives back one with the same values. A class derived from one with a rule has none of its own: it may
have another formula.
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
from scipy.special import erfcx, log_ndtr, ndtr
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from betabo.acquisition.feasible import FeasibleAcquisition
from betabo.acquisition.improvement import log_improvement_with_slope, normal_density
from betabo.acquisition.knowledge import LogKnowledgeGradient, lean_knowledge
from betabo.surrogate.gp import GaussianProcess
from betabo.surrogate.lean import LeanPosterior, Prediction

Array = npt.NDArray[np.float64]


class Outcome(NamedTuple):
    """Values of an acquisition function and their derivatives by mean and standard deviation, each `b`."""

    values: Array
    by_mean: Array
    by_sigma: Array


Rule = Callable[[Array, Array], Outcome]
"""From means and standard deviations, each `b`."""

RuleMaker = Callable[[Any], Rule | None]
"""From an acquisition function; None where its settings are of a kind for which there is no rule."""

_RULES: dict[type[AcquisitionFunction], RuleMaker] = {}


def rule_of(*kinds: type[AcquisitionFunction]) -> Callable[[RuleMaker], RuleMaker]:
    """Declare how to make the rule of an acquisition function of the given classes, none derived from them included."""

    def declare(make: RuleMaker) -> RuleMaker:
        _RULES.update(dict.fromkeys(kinds, make))
        return make

    return declare


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

    def with_slopes(self, points: Array) -> tuple[Array, Array]:
        """Values and slopes at points of the unit cube, see `betabo.acquisition.maximize.HasSlopes`."""
        total, looks = _look(torch.from_numpy(points), self.terms)
        return total.numpy(), torch.stack([look.slopes() for look in looks]).sum(dim=0).numpy()


class _Look(NamedTuple):
    """A term at some points, and its derivatives by mean and standard deviation."""

    prediction: Prediction
    by_mean: Tensor
    by_sigma: Tensor

    def slopes(self) -> Tensor:
        return self.prediction.gradient(self.by_mean, self.by_sigma)


def _look(points: Tensor, terms: list[tuple[LeanPosterior, Rule]]) -> tuple[Tensor, list[_Look]]:
    """The sum of the terms at points, and the look at each."""
    total, looks = points.new_zeros(len(points)), []
    for posterior, rule in terms:
        prediction = posterior.predict(points)
        outcome = rule(prediction.mean.numpy(), prediction.sigma.numpy())
        values, by_mean, by_sigma = map(torch.from_numpy, outcome)
        total += values
        looks.append(_Look(prediction, by_mean, by_sigma))
    return total, looks


class _Sum(Function):
    @staticmethod
    def forward(ctx: Any, points: Tensor, terms: list[tuple[LeanPosterior, Rule]]) -> Tensor:
        total, ctx.looks = _look(points, terms)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad.unsqueeze(-1) * sum(look.slopes() for look in ctx.looks), None


def lean_form(acquisition: AcquisitionFunction) -> AcquisitionFunction:
    """The same function, faster, where there is a lean form; otherwise the function itself.

    There is one for functions with a rule, which are the analytic ones of the catalogue except the corrected ones, and
    for logarithms of them with constraints, if the kernels of all processes have a closed form. A function with forward
    hooks stays as it is, so that the hooks are called.

    Args:
        acquisition: Function of t-batches `b x 1 x d`.
    """
    if type(acquisition) is LogKnowledgeGradient and not _has_hooks(acquisition):
        return lean_knowledge(acquisition)
    terms = _terms(acquisition)
    return acquisition if terms is None else LeanAcquisition(acquisition.model, terms)


def _terms(acquisition: AcquisitionFunction) -> list[tuple[LeanPosterior, Rule]] | None:
    if _has_hooks(acquisition):
        return None
    if type(acquisition) is FeasibleAcquisition:
        return _feasible_terms(acquisition)
    make = _RULES.get(type(acquisition))
    if make is None or getattr(acquisition, "posterior_transform", None) is not None:
        return None
    posterior, rule = _posterior(acquisition.model), make(acquisition)
    return None if posterior is None or rule is None else [(posterior, rule)]


def _has_hooks(acquisition: AcquisitionFunction) -> bool:
    return bool(acquisition._forward_hooks or acquisition._forward_pre_hooks)


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
    values, slopes = log_improvement_with_slope(u)
    return _Scaled(np.log(sigma) + values, slopes, 1 / sigma)


def _ei(u: Array, sigma: Array) -> _Scaled:
    standard = normal_density(u) + u * ndtr(u)
    return _Scaled(sigma * standard, sigma * ndtr(u), standard)


def _pi(u: Array, sigma: Array) -> _Scaled:
    return _Scaled(ndtr(u), normal_density(u), np.zeros_like(sigma))


def _log_pi(u: Array, sigma: Array) -> _Scaled:
    return _Scaled(log_ndtr(u), math.sqrt(2 / math.pi) / erfcx(-u * math.sqrt(0.5)), np.zeros_like(sigma))


@rule_of(UpperConfidenceBound)
def _confidence_bound(acquisition: Any) -> Rule | None:
    if acquisition.beta.dim():
        return None
    sign, width = 1.0 if acquisition.maximize else -1.0, math.sqrt(float(acquisition.beta))
    return lambda mean, sigma: Outcome(
        sign * mean + width * sigma, np.full_like(mean, sign), np.full_like(sigma, width)
    )


def _improvement_on_best(function: Callable[[Array, Array], _Scaled]) -> RuleMaker:
    def make(acquisition: Any) -> Rule | None:
        if acquisition.best_f.dim():
            return None
        return _improvement(function, float(acquisition.best_f), acquisition.maximize)

    return make


rule_of(LogExpectedImprovement)(_improvement_on_best(_log_ei))
rule_of(ExpectedImprovement)(_improvement_on_best(_ei))
rule_of(ProbabilityOfImprovement)(_improvement_on_best(_pi))
