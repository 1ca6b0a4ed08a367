"""Expected hypervolume improvement against BoTorch's closed form for two objectives."""

from __future__ import annotations

import pytest
import torch
from botorch.acquisition.multi_objective import logei
from botorch.acquisition.multi_objective.analytic import ExpectedHypervolumeImprovement
from botorch.models import ModelListGP, SingleTaskGP
from botorch.utils.multi_objective.box_decompositions.non_dominated import NondominatedPartitioning

from betabo.acquisition.hypervolume import log_hypervolume_improvement
from betabo.kernels import BetaMaternKernel
from betabo.surrogate import GaussianProcess


def processes(values: torch.Tensor, x: torch.Tensor) -> list[GaussianProcess]:
    kernel = BetaMaternKernel(ard_num_dims=x.shape[-1]).double()
    return [GaussianProcess(x, column, kernel, 1e-4) for column in values.T]


def test_agrees_with_the_closed_form() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(8, 2, dtype=torch.float64, generator=generator)
    values = torch.stack([x.square().sum(-1), (x - 1).square().sum(-1)], dim=-1)
    models = processes(values, x)
    mine = log_hypervolume_improvement(models, values, seed=3)

    class TwoOutputs(ModelListGP):
        def posterior(self, X: torch.Tensor, **_: object) -> object:  # noqa: N803
            class Moments:
                mean = torch.cat([-model.posterior(X).mean for model in models], dim=-1)
                variance = torch.cat([model.posterior(X).variance for model in models], dim=-1)

            return Moments()

    reference = (-values).amin(0) - 0.1 * (values.amax(0) - values.amin(0))
    closed = ExpectedHypervolumeImprovement(
        TwoOutputs(SingleTaskGP(x, values[:, :1]), SingleTaskGP(x, values[:, 1:])),
        ref_point=reference.tolist(),
        partitioning=NondominatedPartitioning(ref_point=reference, Y=-values),
    )
    queries = torch.rand(20, 1, 2, dtype=torch.float64, generator=generator)
    expected = closed(queries)
    assert torch.allclose(mine(queries).exp(), expected, rtol=0.05, atol=0.01 * float(expected.max()))


def test_ends_of_a_small_front_are_worth_something() -> None:
    x = torch.tensor([[0.5, 0.0], [0.5, 1.0], [0.2, 0.9]], dtype=torch.float64)
    values = torch.stack([x[:, 0] + x[:, 1], 1 - x[:, 0] + x[:, 1]], dim=-1)
    acquisition = log_hypervolume_improvement(processes(values, x), values)
    end, known = acquisition(torch.tensor([[[0.0, 0.0]], [[0.5, 0.0]]], dtype=torch.float64))
    assert end > known + 3


def test_gradients_are_finite() -> None:
    x = torch.rand(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    values = torch.stack([x[:, 0], 1 - x[:, 0] + x[:, 1], x[:, 2]], dim=-1)
    acquisition = log_hypervolume_improvement(processes(values, x), values)
    queries = torch.rand(5, 1, 3, dtype=torch.float64).requires_grad_()
    acquisition(queries).sum().backward()
    assert queries.grad is not None
    assert queries.grad.isfinite().all()
    assert queries.grad.abs().sum() > 0


def test_models_and_objectives_must_match() -> None:
    x = torch.rand(4, 2, dtype=torch.float64)
    models = processes(x, x)
    with pytest.raises(ValueError, match="there are 2 models and 1 objectives"):
        log_hypervolume_improvement(models, x[:, :1])


def test_nothing_is_compiled_for_it() -> None:
    x = torch.rand(4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    log_hypervolume_improvement(processes(x, x), x)
    assert logei._load_attempted  # so BoTorch does not look for its compiled kernel, whose building takes long
    assert logei._C is None
