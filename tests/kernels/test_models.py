"""The kernels inside Gaussian processes of BoTorch: fitting, prediction, acquisition."""

from __future__ import annotations

import itertools
import warnings

import pytest
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

from betabo import (
    BetaKernel,
    beta_additive_covariance,
    beta_covariance,
    beta_matern_covariance,
)


def objective(x: Tensor) -> Tensor:
    """Smooth, with its minimum near a vertex of [-1, 3]^d."""
    return ((x + 0.8).square() + torch.cos(3 * x)).mean(dim=-1, keepdim=True)


def bounds(dims: int) -> Tensor:
    return torch.tensor([[-1.0] * dims, [3.0] * dims], dtype=torch.float64)


def fitted(x: Tensor, covar_module: Kernel) -> SingleTaskGP:
    dims = x.shape[-1]
    model = SingleTaskGP(
        x,
        objective(x),
        covar_module=covar_module,
        input_transform=Normalize(dims, bounds=bounds(dims)),
        outcome_transform=Standardize(1),
    )
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def kernels(dims: int) -> dict[str, Kernel]:
    return {
        "plain beta": ScaleKernel(BetaKernel(ard_num_dims=dims)),
        "beta": beta_covariance(dims),
        "paper form": beta_covariance(dims, boundary_weight=1.0),
        "beta-matern": beta_matern_covariance(dims),
        "rough beta-matern": beta_matern_covariance(dims, nu=0.5),
        "beta-additive": beta_additive_covariance(dims),
    }


@pytest.mark.filterwarnings("ignore:Optimization failed")  # a line search gave up at a kink; BoTorch begins again
@pytest.mark.parametrize("name", kernels(1))
@pytest.mark.parametrize("dims", [1, 6, 60])
def test_fits_predicts_and_drives_an_acquisition(dims: int, name: str) -> None:
    box = bounds(dims)
    train, test = (box[0] + (box[1] - box[0]) * torch.rand(n, dims, dtype=torch.float64) for n in (30, 40))
    model = fitted(train, kernels(dims)[name])
    posterior = model.posterior(test)
    assert posterior.mean.isfinite().all()
    assert (posterior.variance > 0).all()
    if name != "plain beta" or dims < 60:  # 60 bandwidths without a prior overfit 30 points
        error = (posterior.mean - objective(test)).square().mean()
        assert error < objective(test).var()  # better than the mean

    acquisition = LogExpectedImprovement(model, best_f=objective(train).min(), maximize=False)
    candidate, value = optimize_acqf(
        acquisition, bounds=box, q=1, num_restarts=2, raw_samples=32, options={"maxiter": 40}
    )
    assert value.isfinite()
    assert ((candidate >= box[0]) & (candidate <= box[1])).all()
    elsewhere = box[0] + (box[1] - box[0]) * torch.rand(50, 1, dims, dtype=torch.float64)
    assert value > acquisition(elsewhere).median()


@pytest.mark.parametrize("name", kernels(1))
def test_every_vertex_of_the_cube_and_repeated_points(name: str) -> None:
    vertices = torch.tensor(list(itertools.product([-1.0, 3.0], repeat=6)), dtype=torch.float64)
    train = torch.cat([vertices, vertices[:5], torch.zeros(3, 6, dtype=torch.float64)])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="A not p.d., added jitter")
        model = fitted(train, kernels(6)[name])
    posterior = model.posterior(vertices)
    assert posterior.mean.isfinite().all()
    assert (posterior.mean - objective(vertices)).abs().max() < 0.2 * objective(vertices).std()
