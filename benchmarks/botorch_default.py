"""One step of BoTorch's default loop, for comparison."""

from __future__ import annotations

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor


def next_point(x: Tensor, y: Tensor) -> Tensor:
    """Where to evaluate next: `SingleTaskGP`, log expected improvement, 4 restarts and 256 raw samples.

    Args:
        x: Points of the unit cube, `n x d`.
        y: Their values, to be minimized, `n`.

    Returns:
        The next point, `d`.
    """
    values = -y.unsqueeze(-1)
    model = SingleTaskGP(x, values)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    acquisition = LogExpectedImprovement(model, best_f=values.max())
    bounds = torch.stack([torch.zeros_like(x[0]), torch.ones_like(x[0])])
    candidate, _ = optimize_acqf(acquisition, bounds=bounds, q=1, num_restarts=4, raw_samples=256)
    return candidate[0]
