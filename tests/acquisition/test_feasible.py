"""Acquisition functions under constraints, against BoTorch's and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from botorch.acquisition.analytic import (
    ExpectedImprovement,
    LogConstrainedExpectedImprovement,
    LogExpectedImprovement,
    UpperConfidenceBound,
)
from botorch.models import ModelListGP, SingleTaskGP
from scipy.stats import norm

from betabo.acquisition.feasible import FeasibleAcquisition

X = torch.rand(7, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
Y, C = X.sum(-1, keepdim=True), 0.8 - X[:, :1] - X[:, 1:] ** 2
OBJECTIVE, CONSTRAINT = SingleTaskGP(X, Y), SingleTaskGP(X, C)
QUERIES = torch.rand(9, 1, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def log_probability(threshold: float) -> np.ndarray:
    posterior = CONSTRAINT.posterior(QUERIES)
    mean, deviation = posterior.mean.detach().numpy(), posterior.variance.detach().sqrt().numpy()
    return np.asarray(norm.logcdf(threshold, mean, deviation))[:, 0, 0]


def test_agrees_with_botorch() -> None:
    ours = FeasibleAcquisition(LogExpectedImprovement(OBJECTIVE, Y.min(), maximize=False), [CONSTRAINT], [0.1])
    theirs = LogConstrainedExpectedImprovement(
        ModelListGP(OBJECTIVE, CONSTRAINT),
        best_f=Y.min(),
        objective_index=0,
        constraints={1: (None, 0.1)},
        maximize=False,
    )
    assert torch.allclose(ours(QUERIES), theirs(QUERIES), rtol=1e-8)


def test_positive_values_are_multiplied() -> None:
    with pytest.warns(match="numerical issues"):
        improvement = ExpectedImprovement(OBJECTIVE, Y.min(), maximize=False)
    ours = FeasibleAcquisition(improvement, [CONSTRAINT], [0.1], scale="positive")
    expected = improvement(QUERIES).detach().numpy() * np.exp(log_probability(0.1))
    assert ours(QUERIES).exp().detach().numpy() == pytest.approx(expected, rel=1e-8)


def test_bounds_are_made_positive_first() -> None:
    bound = UpperConfidenceBound(OBJECTIVE, beta=4.0, maximize=False)
    ours = FeasibleAcquisition(bound, [CONSTRAINT], [0.1], scale="real", reference=-2.0)
    softplus = np.log1p(np.exp(bound(QUERIES).detach().numpy() + 2.0))
    assert ours(QUERIES).detach().numpy() == pytest.approx(np.log(softplus) + log_probability(0.1), rel=1e-8)


def test_without_an_acquisition_function_only_the_constraints_count() -> None:
    ours = FeasibleAcquisition(None, [CONSTRAINT, CONSTRAINT], [0.1, -0.2])
    assert ours(QUERIES).detach().numpy() == pytest.approx(log_probability(0.1) + log_probability(-0.2), rel=1e-8)


def test_far_beyond_a_constraint_there_is_still_a_slope() -> None:
    ours = FeasibleAcquisition(None, [CONSTRAINT], [-1e3])
    queries = QUERIES.clone().requires_grad_()
    values = ours(queries)
    values.sum().backward()
    assert values.isfinite().all()
    assert queries.grad is not None
    assert queries.grad.abs().amin(dim=0).max() > 0


@pytest.mark.parametrize(("models", "thresholds"), [([], []), ([CONSTRAINT], [0.0, 1.0])], ids=["none", "two"])
def test_each_constraint_has_a_threshold(models: list[SingleTaskGP], thresholds: list[float]) -> None:
    with pytest.raises(ValueError, match="expected one each"):
        FeasibleAcquisition(None, models, thresholds)
