"""The same numbers on a GPU as on the CPU."""

from __future__ import annotations

import pytest
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood

from betabo import BetaKernel, BetaMaternKernel, beta_covariance, beta_matern_covariance

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

KERNELS = [lambda: BetaKernel(ard_num_dims=6), lambda: BetaMaternKernel(2.5, 6), lambda: BetaMaternKernel(0.5, 6)]
METHODS = ["matmul", "lgamma"]


@pytest.mark.parametrize("make", KERNELS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_values_and_gradients_agree_with_the_cpu(
    make: object, method: str, dtype: torch.dtype, tolerance: float
) -> None:
    x, y = torch.rand(200, 6, dtype=dtype), torch.rand(150, 6, dtype=dtype)
    results = []
    for device in ("cpu", "cuda"):
        kernel = make().to(device, dtype)  # type: ignore[operator]
        kernel.bandwidth = 0.3
        kernel.method = method
        leaves = [t.to(device).requires_grad_() for t in (x, y)]
        covariance = kernel(*leaves).to_dense()
        gradients = torch.autograd.grad(covariance.sum(), [*leaves, *kernel.parameters()])
        results.append([t.cpu() for t in (covariance.detach(), *gradients)])
    for on_cpu, on_gpu in zip(*results, strict=True):
        assert (on_cpu - on_gpu).abs().max() <= tolerance * on_cpu.abs().max()


@pytest.mark.parametrize("make", [beta_covariance, beta_matern_covariance])
def test_a_gp_fits_and_predicts_on_the_gpu(make: object) -> None:
    torch.manual_seed(0)
    x = torch.rand(60, 4, dtype=torch.float64).cuda()
    y = torch.sin(3 * x).sum(-1, keepdim=True)
    model = SingleTaskGP(x, y, covar_module=make(4))  # type: ignore[operator]
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    test = torch.rand(50, 4, dtype=torch.float64, device="cuda")
    error = model.posterior(test).mean - torch.sin(3 * test).sum(-1, keepdim=True)
    assert error.square().mean() < 0.1 * y.var()
