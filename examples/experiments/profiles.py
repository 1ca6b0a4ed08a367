"""Searches for a profile, whose coordinates have an order: does a kernel pay that knows that neighbours act alike?

Three control problems: a pendulum that is swung up by a small force in 20 segments, whose best profile jumps between
its bounds; a reactor with 24 temperatures one after the other, whose best profile is smooth; and a bar that is heated
at one end for 30 moments, so that it follows a temperature at the other. The kernel under test is the default one plus
a Matern kernel of the first few cosine modes of the profile, or of its sums from the start.

    python examples/experiments/profiles.py run --methods betabo modes-5 optuna-gp --seeds 5 --out out/profiles
    python examples/experiments/profiles.py pack out/profiles out/profiles.csv
    python examples/experiments/profiles.py table out/profiles.csv
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch.priors import LogNormalPrior
from scipy.optimize import minimize
from torch import Tensor
from torch.quasirandom import SobolEngine

from betabo.kernels.factory import SHORTEST_LENGTHSCALE, SumKernel, beta_additive_covariance, dimension_scaled_prior
from betabo.kernels.projected import ProjectedKernel, cosine_modes
from betabo.lab.bench.optimizers import OptimizerAdapter, make_adapter

if TYPE_CHECKING:
    import pandas as pd

Array = np.ndarray

_SOLVED = 1e-4  # regret that counts as solved, relative to that of the middle of the starting points


def pendulum(u: Array) -> float:
    """Energy that is missing to the top after ten seconds of pushing with at most a tenth of the weight."""
    angle, speed, dt = 0.0, 0.0, 0.05
    for push in np.repeat(0.2 * (2 * u - 1), 200 // len(u)):
        speed += dt * (push - math.sin(angle))
        angle += dt * speed
    return 2 - (speed**2 / 2 + 1 - math.cos(angle))


def reactor(u: Array) -> float:
    """What is missing of the product in the middle of two reactions in a row, whose speeds rise with temperature."""
    first, middle, steps = 1.0, 0.0, 4
    for temperature in 298 + 100 * u:
        fast, slow = 4000 * exp(-2500 / temperature), 620_000 * exp(-5000 / temperature)
        for _ in range(steps):
            dt = 1 / (steps * len(u))
            gone = first - first / (1 + dt * fast * first)
            first, middle = first - gone, (middle + gone) / (1 + dt * slow)
    return 1 - middle


def bar(u: Array) -> float:
    """Mean squared distance of the cold end's temperature from a hump, in a bar that is heated at the other end."""
    wanted = np.sin(np.linspace(0, math.pi, len(u))) ** 2
    return float(10 * np.square(_responses(len(u)) @ u - wanted).mean())


@cache
def _responses(count: int, cells: int = 8) -> Array:
    """The cold end's temperature after each moment by the heat in each of them, which it is linear in."""
    flow = 0.25 * (np.diag(np.ones(cells - 1), 1) + np.diag(np.ones(cells - 1), -1) - 2 * np.eye(cells))
    flow[-1, -1] = -0.27  # it loses a little there
    temperatures, found = np.zeros((cells, count)), []
    for heat in np.eye(count):
        for _ in range(6):
            temperatures = temperatures + flow @ temperatures
            temperatures[0] += 0.5 * heat
        found.append(temperatures[-1])
    return np.array(found)


PROBLEMS: dict[str, tuple[Callable[[Array], float], int]] = {
    "pendulum": (pendulum, 20),
    "reactor": (reactor, 24),
    "bar": (bar, 30),
}


def least(name: str) -> float:
    """The lowest value found by local searches from 20 points."""
    function, dims = PROBLEMS[name]
    starts = np.random.default_rng(0).random((20, dims))
    starts[0] = 0.5
    return min(minimize(function, start, bounds=[(0, 1)] * dims, method="L-BFGS-B").fun for start in starts)


def modes(dims: int, count: int) -> Tensor:
    """The first cosine modes of one profile."""
    return cosine_modes(dims, [range(dims)], count)


def sums(dims: int) -> Tensor:
    """The sums from the start, so that the last one has norm 1."""
    return torch.ones(dims, dims, dtype=torch.float64).tril() / math.sqrt(dims)


def ordered(dims: int, matrix: Callable[[int], Tensor], shared: bool = False) -> Kernel:
    """The default kernel and one of linear functions of the profile."""
    rows = matrix(dims)
    prior = dimension_scaled_prior(1 if shared else len(rows))
    constraint = GreaterThan(SHORTEST_LENGTHSCALE, transform=None, initial_value=1.0)
    smooth = ScaleKernel(
        ProjectedKernel(rows, shared, lengthscale_prior=prior, lengthscale_constraint=constraint),
        outputscale_prior=LogNormalPrior(0.0, 1.5),
        outputscale_constraint=GreaterThan(1e-4, transform=None, initial_value=0.5),
    )
    return SumKernel(*beta_additive_covariance(dims).kernels, smooth).double()


KERNELS: dict[str, Callable[[int], Kernel]] = {
    "modes-5": partial(ordered, matrix=partial(modes, count=5)),
    "modes-8": partial(ordered, matrix=partial(modes, count=8)),
    "sums": partial(ordered, matrix=sums, shared=True),
}


def make_optimizer(method: str) -> OptimizerAdapter:
    """An optimizer of the catalogue, or betabo with one of the kernels."""
    if method in KERNELS:
        return make_adapter("betabo", {"kernel": KERNELS[method], "local_steps": True})
    return make_adapter(method, {"deterministic": True} if method == "optuna-gp" else {})


def search(name: str, method: str, budget: int, seed: int) -> dict[str, Any]:
    """One search: `d` Sobol points, and then as the method proposes."""
    torch.set_num_threads(1)
    function, dims = PROBLEMS[name]
    start = SobolEngine(dims, scramble=True, seed=seed).draw(dims).double().numpy()
    optimizer = make_optimizer(method)
    optimizer.start([(0.0, 1.0)] * dims, start, seed)
    values, began = [], time.process_time()
    for _ in range(budget):
        u = optimizer.ask()
        values.append(function(u))
        optimizer.tell(u, values[-1])
    optimizer.end()
    curve = np.minimum.accumulate(values)[19::20]
    return {
        "problem": name,
        "seed": seed,
        "start": float(np.median(values[:dims])),
        "curve": " ".join(f"{value:.8g}" for value in curve),
        "seconds": round(time.process_time() - began, 1),
    }


def done(path: Path) -> list[dict[str, Any]]:
    """The searches of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(arguments: argparse.Namespace) -> None:
    """Make the searches that are missing; each is a line of JSON in a file of its method and seed."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    for seed, method, problem in product(seeds, arguments.methods, arguments.problems):
        path = arguments.out / f"{method}-{seed}.jsonl"
        if any(found["problem"] == problem for found in done(path)):
            continue
        found = search(problem, method, arguments.budget, seed)
        with path.open("a") as file:
            file.write(json.dumps({"method": method, **found}) + "\n")


def pack(arguments: argparse.Namespace) -> None:
    """Put the searches of a folder into one file."""
    import pandas as pd

    runs = [found for path in sorted(arguments.folder.glob("*.jsonl")) for found in done(path)]
    pd.DataFrame(runs).to_csv(arguments.file, index=False)


def ratios(runs: pd.DataFrame) -> pd.DataFrame:
    """Logarithms of the last regret relative to the default's: a row a problem and seed, a column a method."""
    lowest = {name: least(name) for name in sorted(set(runs["problem"]))}
    last = runs["curve"].str.split().str[-1].astype(float)
    below = runs["problem"].map(lowest)
    floor = _SOLVED * (runs["start"] - below)
    logs = runs.assign(log=np.log(np.maximum(last - below, floor)))
    found = logs.pivot_table(index=["problem", "seed"], columns="method", values="log")
    return found.drop(columns="betabo").sub(found["betabo"], axis=0)


def cell(logs: Array) -> str:
    """The geometric mean and its 95 % bootstrap interval over the runs."""
    means = np.random.default_rng(0).choice(logs, (2000, len(logs))).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{exp(logs.mean()):.2f} [{exp(low):.2f}, {exp(high):.2f}], {len(logs)}"


def table(arguments: argparse.Namespace) -> None:
    """Print a row for each method."""
    import pandas as pd

    runs = pd.read_csv(arguments.runs)
    found = ratios(runs)
    print(f"| method | {' | '.join(PROBLEMS)} | all | s |\n|---|{'---|' * (len(PROBLEMS) + 2)}")
    seconds = runs.groupby("method")["seconds"].mean()
    for method in found:
        logs = found[method].dropna()
        cells = [cell(logs.loc[name].to_numpy()) if name in logs.index else "" for name in PROBLEMS]
        print(f"| {method} | {' | '.join(cells)} | {cell(logs.to_numpy())} | {seconds[method]:.0f} |")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help="do the searches that are missing")
    running.add_argument("--methods", nargs="+", default=["betabo", *KERNELS])
    running.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    running.add_argument("--budget", type=int, default=120, help="evaluations, a multiple of 20")
    running.add_argument("--seeds", type=int, default=5)
    running.add_argument("--first-seed", type=int, default=0)
    running.add_argument("--out", type=Path, default=Path("out/profiles"))
    running.set_defaults(work=run)
    packing = commands.add_parser("pack", help="put the searches of a folder into one file")
    packing.add_argument("folder", type=Path)
    packing.add_argument("file", type=Path)
    packing.set_defaults(work=pack)
    showing = commands.add_parser("table", help="compare what is there")
    showing.add_argument("runs", type=Path)
    showing.set_defaults(work=table)
    arguments = parser.parse_args()
    arguments.work(arguments)


if __name__ == "__main__":
    main()
