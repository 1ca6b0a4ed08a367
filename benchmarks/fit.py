"""Time to fit hyperparameters: the likelihood by autograd through the kernel, and the same in closed form.

    python benchmarks/fit.py --kernel beta-additive

Given are milliseconds of processor time of one evaluation of the likelihood with its gradient, at vectors around those
of a fit, and of a whole warm fit: from the hyperparameters that fit all points but the last, to the process of all. The
two take turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
import torch
from torch import Tensor

from betabo.kernels.catalogue import make_kernel
from betabo.lab.problems import problem_by_name
from betabo.surrogate import FitState, OutputTransform, fit_gp
from betabo.surrogate.likelihood import Likelihood

SIZES = ((20, 2), (40, 6), (60, 6), (100, 20), (140, 20), (300, 20))


def data(count: int, dims: int) -> tuple[Tensor, Tensor]:
    """Points and standardized values of Levy's function."""
    problem = problem_by_name(f"levy-{dims}-vertex")
    x = torch.quasirandom.SobolEngine(dims, scramble=True, seed=0).draw(count, dtype=torch.float64)
    values = problem.evaluate_unit(x).numpy().ravel()
    return x, torch.from_numpy(OutputTransform.learn(values)(values))


def processor_time(*functions: Callable[[], object]) -> list[float]:
    """Milliseconds of processor time of each."""
    times = []
    for function in functions:
        start = time.process_time()
        function()
        times.append(1e3 * (time.process_time() - start))
    return times


def evaluations(x: Tensor, y: Tensor, kernel: str, state: FitState, repeats: int) -> list[float]:
    """Milliseconds of an evaluation, by autograd and in closed form."""
    plain, lean = (
        Likelihood(x, y, make_kernel(kernel, x.shape[1]).double(), "unknown", lean=lean) for lean in (False, True)
    )
    centre = plain.vector_of(state.parameters, state.noise)
    generator = np.random.default_rng(0)
    rounds = []
    for _ in range(repeats):
        vector = np.clip(centre + 0.1 * generator.standard_normal(len(centre)), *plain.bounds.T)
        rounds.append(processor_time(partial(plain, vector), partial(lean, vector)))
    return [median(times) for times in zip(*rounds[1:], strict=True)]


def warm_fits(x: Tensor, y: Tensor, kernel: str, state: FitState, repeats: int) -> list[float]:
    """Milliseconds of a fit, by autograd and in closed form."""

    def fit(lean: bool) -> None:
        fit_gp(x, y, make_kernel(kernel, x.shape[1]).double(), warm_start=state, restarts=0, lean=lean)

    rounds = [processor_time(lambda: fit(False), lambda: fit(True)) for _ in range(repeats)]
    return [median(times) for times in zip(*rounds[1:], strict=True)]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="beta-additive")
    parser.add_argument("--repeats", type=int, default=10)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    kinds = [
        f"{what}: {how}" for what in ("evaluation, ms", "warm fit, ms") for how in ("autograd", "closed form", "ratio")
    ]
    print(f"| points | dimensions | {' | '.join(kinds)} |")
    print("|---|---|---|---|---|---|---|---|")
    for count, dims in SIZES:
        x, y = data(count, dims)
        _, state, _ = fit_gp(x[:-1], y[:-1], make_kernel(arguments.kernel, dims).double(), restarts=0)
        cells = []
        for measure in (evaluations, warm_fits):
            plain, lean = measure(x, y, arguments.kernel, state, arguments.repeats)
            cells += [f"{plain:.2f}", f"{lean:.2f}", f"{lean / plain:.2f}"]
        print(f"| {count} | {dims} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
