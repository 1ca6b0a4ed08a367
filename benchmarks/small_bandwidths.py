"""Small bandwidths: the Beta kernel by log-gammas, and as its `method="auto"` has it.

    python benchmarks/small_bandwidths.py

Given are, for `beta-paper` in 20 dimensions, milliseconds of the kernel matrix, of the matrix with its gradient, of an
evaluation of the likelihood with its gradient, and of the posterior at 12 points with its gradient; and seconds of a
fit that starts at bandwidths near the given one, to values drawn with these. The two ways take turns; the threads are
those of `OMP_NUM_THREADS`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
import torch
from gpytorch.kernels import ScaleKernel
from torch import Tensor

from betabo.kernels.catalogue import make_kernel
from betabo.surrogate import FitState, fit_gp
from betabo.surrogate.gp import GaussianProcess, cholesky, covariance_matrix
from betabo.surrogate.lean import LeanPosterior
from betabo.surrogate.likelihood import Likelihood

DIMS = 20
METHODS = ("lgamma", "auto")
NOISE = 1e-2


def paper_kernel(method: str, bandwidth: Tensor) -> ScaleKernel:
    """The paper's form with these bandwidths."""
    kernel = make_kernel("beta-paper", DIMS).double()
    assert isinstance(kernel, ScaleKernel)
    kernel.base_kernel.method = method
    kernel.base_kernel.bandwidth = bandwidth
    return kernel


def data(count: int, bandwidth: Tensor) -> tuple[Tensor, Tensor]:
    """Points, many of them on faces as in a search, and standardized values drawn with the paper's form."""
    generator = torch.Generator().manual_seed(count)
    x = torch.rand(count, DIMS, generator=generator, dtype=torch.float64)
    x[::2] = (1.6 * x[::2] - 0.3).clamp(0, 1)
    kernel = paper_kernel("auto", bandwidth)
    kernel.base_kernel.boundary_weight = 0.0  # values of about the same size everywhere
    with torch.no_grad():
        factor = cholesky(covariance_matrix(kernel, x) + NOISE * torch.eye(count, dtype=torch.float64))
    y = factor @ torch.randn(count, generator=generator, dtype=torch.float64)
    return x, (y - y.mean()) / y.std(correction=0)


def seconds(functions: list[Callable[[], object]], repeats: int) -> list[float]:
    """Median seconds of each, after one call that does not count: of the processor, with one thread, else elapsed."""
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    rounds: list[list[float]] = []
    for _ in range(repeats + 1):
        times = []
        for function in functions:
            start = clock()
            function()
            times.append(clock() - start)
        rounds.append(times)
    return [median(times) for times in zip(*rounds[1:], strict=True)]


def evaluate(kernel: ScaleKernel, x: Tensor, backward: bool) -> None:
    """The covariance matrix, with or without its gradient by the kernel's parameters."""
    with torch.set_grad_enabled(backward):
        covariance = covariance_matrix(kernel, x)
        if backward:
            torch.autograd.grad(covariance, list(kernel.parameters()), covariance.detach())


def look(process: GaussianProcess, lean: LeanPosterior | None, points: Tensor) -> None:
    """Mean and standard deviation at points with their gradients, in closed form if there is one."""
    ones = torch.ones(len(points), dtype=torch.float64)
    if lean is not None:
        lean.predict(points).gradient(ones, ones)
        return
    leaves = points.unsqueeze(-2).requires_grad_()
    posterior = process.posterior(leaves)
    torch.autograd.grad((posterior.mean + posterior.variance.sqrt()).sum(), leaves)


def fit(x: Tensor, y: Tensor, kernel: ScaleKernel, state: FitState) -> None:
    """A fit from hyperparameters that are near."""
    fit_gp(x, y, kernel, warm_start=state, restarts=0)


def row(count: int, level: float, repeats: int) -> list[str]:
    """Times of both ways and their ratios."""
    generator = torch.Generator().manual_seed(0)
    spread = (0.3 * torch.randn(DIMS, generator=generator, dtype=torch.float64)).exp()
    bandwidth = (level * spread).clamp_min(1.3e-3)  # beta-paper allows no less
    x, y = data(count, bandwidth)
    kernels = [paper_kernel(method, bandwidth) for method in METHODS]
    state = FitState({n: p.detach().flatten().tolist() for n, p in kernels[0].named_parameters()}, NOISE)
    cells = [
        seconds([partial(evaluate, kernel, x, backward) for kernel in kernels], repeats) for backward in (False, True)
    ]
    likelihoods = [Likelihood(x, y, kernel, "unknown") for kernel in kernels]
    vector = np.clip(likelihoods[0].vector_of(state.parameters, NOISE), *likelihoods[0].bounds.T)
    cells.append(seconds([partial(likelihood, vector) for likelihood in likelihoods], repeats))
    processes = [GaussianProcess(x, y, kernel, NOISE) for kernel in kernels]
    points = torch.rand(12, DIMS, generator=generator, dtype=torch.float64)
    leans = [None, LeanPosterior.of(processes[1])]
    cells.append(seconds([partial(look, *pair, points) for pair in zip(processes, leans, strict=True)], repeats))
    fits = seconds([partial(fit, x, y, paper_kernel(m, bandwidth), state) for m in METHODS], max(1, repeats // 5))
    texts = [f"{1e3 * slow:.1f} / {1e3 * fast:.1f} = {slow / fast:.1f}" for slow, fast in cells]
    return [str(count), f"{level:g}", *texts, f"{fits[0]:.2f} / {fits[1]:.2f} = {fits[0] / fits[1]:.1f}"]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300])
    parser.add_argument("--bandwidths", type=float, nargs="+", default=[1e-3, 1e-2])
    parser.add_argument("--repeats", type=int, default=10)
    arguments = parser.parse_args()
    print(f"{torch.get_num_threads()} threads; log-gammas / automatic = ratio")
    columns = ["n", "h", "matrix, ms", "with gradient, ms", "likelihood, ms", "posterior, ms", "fit, s"]
    print(f"| {' | '.join(columns)} |\n|{'---:|' * len(columns)}")
    for count in arguments.sizes:
        for level in arguments.bandwidths:
            print(f"| {' | '.join(row(count, level, arguments.repeats))} |", flush=True)


if __name__ == "__main__":
    main()
