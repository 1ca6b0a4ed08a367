"""An optimizer for campaigns: hyperparameters by plain maximum likelihood, without priors on any of the kernel's."""

from __future__ import annotations

from collections.abc import Callable

from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel

from betabo.kernels import BetaKernel
from betabo.lab.bench import OptimizerEntry, register_optimizer
from betabo.lab.bench.optimizers.adapter import OptimizerAdapter
from betabo.lab.bench.optimizers.betabo_search import BetaboSearch
from betabo.optimizer import Config

KERNELS: dict[str, Callable[[int], Kernel]] = {
    "rbf": lambda dims: ScaleKernel(RBFKernel(ard_num_dims=dims)),
    "matern": lambda dims: ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=dims)),
    "beta-paper": lambda dims: ScaleKernel(BetaKernel(ard_num_dims=dims, boundary_weight=1.0)),
}


def make(kernel: str, beta: float = 4.0) -> OptimizerAdapter:
    """GP-UCB with a kernel as GPyTorch starts it."""
    return BetaboSearch(Config(kernel=KERNELS[kernel], acquisition="ucb", beta=beta, power_transform=False))


register_optimizer(
    OptimizerEntry("plain-likelihood", "GP-UCB, hyperparameters by plain maximum likelihood.", make, ("kernel", "beta"))
)
