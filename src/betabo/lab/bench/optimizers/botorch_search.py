"""BoTorch's default loop: `SingleTaskGP` and log expected improvement."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from botorch.acquisition.analytic import LogExpectedImprovement
from botorch.exceptions.errors import ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim.optimize import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.observed import Observed
from betabo.lab.bench.optimizers.peer import PeerSearch


class BotorchSearch(PeerSearch):
    """BoTorch as it comes: RBF kernel with BoTorch's priors, log expected improvement by `optimize_acqf`.

    Args:
        restarts: Starts of the maximization.
        raw_samples: Points from which these starts are chosen.
        around_best: Whether some of those are perturbations of the best points, `sample_around_best`.
    """

    def __init__(self, restarts: int = 4, raw_samples: int = 512, around_best: bool = True) -> None:
        if not 1 <= restarts <= raw_samples:
            raise ValueError(f"restarts is {restarts}, expected a number from 1 to raw_samples, {raw_samples}.")
        self._settings: dict[str, Any] = {
            "restarts": restarts,
            "raw_samples": raw_samples,
            "around_best": around_best,
        }

    def own_design(self) -> Point:
        """Two Sobol points a coordinate, as in BoTorch's tutorials."""
        return self.sobol(2 * len(self.low))

    def begin(self) -> None:
        """Nothing is known yet."""
        self._observed = Observed()
        self._figures: dict[str, Any] = {}

    def propose(self) -> Point:
        """The maximum of the acquisition function; a random point while all have failed."""
        if self._observed.empty:
            return self.from_unit(torch.rand(len(self.low), dtype=torch.float64).numpy())
        began = time.perf_counter()
        x, y = self._observed.tensors()
        model = fitted_model(x, y)
        fitted = time.perf_counter()
        unit = maximize_improvement(model, -y.min(), **self._settings)
        self._figures = {
            "lengthscale": model.covar_module.lengthscale.detach().flatten().tolist(),
            "noise": float(model.likelihood.noise),
            "fit_seconds": fitted - began,
            "acquisition_seconds": time.perf_counter() - fitted,
        }
        return self.from_unit(unit.numpy())

    def observe(self, point: Point, value: float) -> None:
        """Add the value to the data."""
        self._observed.add(self.to_unit(point), value)

    def fail(self, point: Point) -> None:
        """Add a failure to the data."""
        self._observed.add(self.to_unit(point), np.nan)

    def diagnostics(self) -> dict[str, Any]:
        """Figures of the last step, see `OptimizerAdapter.diagnostics`."""
        return self._figures


def fitted_model(x: Tensor, y: Tensor) -> SingleTaskGP:
    """BoTorch's default model of `-y`, since BoTorch maximizes.

    Args:
        x: Points of the unit cube, `n x d`.
        y: Their values, to be minimized, `n`.
    """
    model = SingleTaskGP(x, -y.unsqueeze(-1))
    try:
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    except ModelFittingError:  # the hyperparameters are then those that the priors favour
        model.eval()
    return model


def maximize_improvement(
    model: SingleTaskGP, best: Tensor, *, restarts: int, raw_samples: int, around_best: bool
) -> Tensor:
    """Where log expected improvement over `best` is highest in the unit cube, `d`."""
    dims = model.train_inputs[0].shape[-1]
    bounds = torch.stack([torch.zeros(dims, dtype=torch.float64), torch.ones(dims, dtype=torch.float64)])
    candidate, _ = optimize_acqf(
        LogExpectedImprovement(model, best_f=best),
        bounds=bounds,
        q=1,
        num_restarts=restarts,
        raw_samples=raw_samples,
        options={"sample_around_best": around_best},
    )
    point: Tensor = candidate[0]
    return point
