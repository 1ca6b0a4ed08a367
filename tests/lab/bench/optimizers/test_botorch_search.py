from __future__ import annotations

import numpy as np
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.models import SingleTaskGP
from gpytorch.kernels import RBFKernel

from betabo.lab.bench.optimizers import make_adapter
from betabo.lab.bench.optimizers.botorch_search import fitted_model, maximize_improvement


def test_the_model_is_botorchs_default_of_the_negated_values() -> None:
    x = torch.rand(12, 2, dtype=torch.float64)
    y = (x - 0.3).square().sum(-1)
    model = fitted_model(x, y)
    assert type(model) is SingleTaskGP
    assert isinstance(model.covar_module, RBFKernel)
    assert (model.posterior(x).mean.squeeze(-1) + y).abs().max() < 0.05


def test_the_maximum_is_as_high_as_that_of_a_fine_grid() -> None:
    x = torch.rand(12, 2, dtype=torch.float64)
    y = (8 * x).sin().sum(-1)
    model = fitted_model(x, y)
    best = maximize_improvement(model, -y.min(), restarts=4, raw_samples=64, around_best=True)
    side = torch.linspace(0, 1, 60, dtype=torch.float64)
    grid = torch.cartesian_prod(side, side)
    acquisition = LogExpectedImprovement(model, best_f=-y.min())
    with torch.no_grad():
        assert acquisition(best.view(1, 1, 2)) >= acquisition(grid.unsqueeze(1)).max() - 1e-6


def test_figures_of_the_model_are_handed_out() -> None:
    adapter = make_adapter("botorch", {"restarts": 2, "raw_samples": 16, "around_best": False})
    adapter.start([(0.0, 2.0)] * 3, np.random.default_rng(0).random((5, 3)), 0)
    for _ in range(6):
        assert adapter.diagnostics() == {}
        point = adapter.ask()
        adapter.tell(point, float(point.sum()))
    figures = adapter.diagnostics()
    assert len(figures["lengthscale"]) == 3
    assert figures["noise"] > 0
    assert figures["fit_seconds"] > 0
    assert figures["acquisition_seconds"] > 0
