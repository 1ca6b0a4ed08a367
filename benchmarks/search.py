"""Best value found in a fixed budget, beside random search and BoTorch's default loop.

Branin (2-D), Hartmann (6-D) and Levy (8-D), each with its optimum where the usual box has it ("centre"), near a face,
and near a vertex, by cropping the lower bounds so that the optimum lies at 5% of the side. All optimizers are given the
same scrambled Sobol starting points. Runs are independent processes; finished ones are kept in the output file, and a
second call does only what is missing.

    python benchmarks/search.py --seeds 5 --workers 2
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import torch
from botorch.test_functions import Branin, Hartmann, Levy, SyntheticTestFunction
from botorch_default import next_point
from torch.quasirandom import SobolEngine

from betabo.optimizer import minimize

FUNCTIONS: dict[str, tuple[SyntheticTestFunction, int]] = {
    "branin": (Branin(), 40),
    "hartmann": (Hartmann(dim=6), 60),
    "levy": (Levy(dim=8), 80),
}
PLACEMENTS = ("centre", "face", "vertex")
OPTIMIZERS = ("betabo", "botorch", "random")


class Problem:
    """A function on a box that puts its first optimum at the centre, near a face, or near a vertex."""

    def __init__(self, name: str, placement: str) -> None:
        self.function, self.budget = FUNCTIONS[name]
        lower, upper = self.function.bounds.double().clone()
        optimum = self.function.optimizers[0].double()
        cropped = (optimum - 0.05 * upper) / 0.95
        columns = {"centre": 0, "face": 1, "vertex": len(lower)}[placement]
        lower[:columns] = cropped[:columns]
        self.lower, self.upper = lower, upper
        self.starts = 2 * len(lower)

    def __call__(self, x: Any) -> float:
        """Value at a point in the function's own units."""
        return float(self.function(torch.as_tensor(np.asarray(x), dtype=torch.float64)))

    def design(self, seed: int, count: int) -> torch.Tensor:
        """Scrambled Sobol points in the function's own units."""
        unit = SobolEngine(len(self.lower), scramble=True, seed=seed).draw(count, dtype=torch.float64)
        return self.lower + (self.upper - self.lower) * unit


def run(optimizer: str, name: str, placement: str, seed: int) -> dict[str, Any]:
    """Best value after each evaluation of one run."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    torch.manual_seed(seed)
    problem = Problem(name, placement)
    began = time.perf_counter()
    if optimizer == "random":
        values = [problem(x) for x in problem.design(seed + 1000, problem.budget)]
    elif optimizer == "betabo":
        bounds = list(zip(problem.lower.tolist(), problem.upper.tolist(), strict=True))
        starts = problem.design(seed, problem.starts).clamp(problem.lower, problem.upper).numpy()
        result = minimize(
            problem, bounds, budget=problem.budget, seed=seed, initial_points=starts, starting_points=problem.starts
        )
        values = [e.value for e in result.history]
    else:
        values = botorch_loop(problem, seed)
    best = np.minimum.accumulate(values).tolist()
    seconds = time.perf_counter() - began
    return {
        "optimizer": optimizer,
        "problem": name,
        "placement": placement,
        "seed": seed,
        "best": best,
        "seconds": seconds,
    }


def botorch_loop(problem: Problem, seed: int) -> list[float]:
    """Values found by BoTorch's default loop."""
    side = problem.upper - problem.lower
    x = (problem.design(seed, problem.starts) - problem.lower) / side
    y = torch.tensor([problem(problem.lower + side * u) for u in x], dtype=torch.float64)
    while len(y) < problem.budget:
        point = next_point(x, y)
        x = torch.cat([x, point.unsqueeze(0)])
        y = torch.cat([y, y.new_tensor([problem(problem.lower + side * point)])])
    return y.tolist()


def table(runs: list[dict[str, Any]]) -> str:
    """Mean and standard error of the regret, one row a problem."""
    lines = [f"| problem | budget | {' | '.join(OPTIMIZERS)} |", "|---|---:|" + "---:|" * len(OPTIMIZERS)]
    for name, (function, budget) in FUNCTIONS.items():
        for placement in PLACEMENTS:
            cells = []
            for optimizer in OPTIMIZERS:
                key = (optimizer, name, placement)
                regrets = [
                    r["best"][-1] - float(function.optimal_value)
                    for r in runs
                    if (r["optimizer"], r["problem"], r["placement"]) == key
                ]
                error = stdev(regrets) / len(regrets) ** 0.5 if len(regrets) > 1 else float("nan")
                cells.append(f"{mean(regrets):.3g} ± {error:.2g}" if regrets else "-")
            lines.append(f"| {name}, {placement} | {budget} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="runs of each optimizer on each problem (default: 5)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--out", type=Path, default=Path("out/bench/search.json"), help="where the runs are kept")
    arguments = parser.parse_args()

    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    runs: list[dict[str, Any]] = json.loads(arguments.out.read_text()) if arguments.out.exists() else []
    done = {(r["optimizer"], r["problem"], r["placement"], r["seed"]) for r in runs}
    jobs = [
        (optimizer, name, placement, seed)
        for seed in range(arguments.seeds)
        for name in reversed(FUNCTIONS)
        for placement in PLACEMENTS
        for optimizer in OPTIMIZERS
        if (optimizer, name, placement, seed) not in done
    ]
    with ProcessPoolExecutor(arguments.workers) as pool:
        futures = [pool.submit(run, *job) for job in jobs]
        for number, future in enumerate(as_completed(futures), start=1):
            runs.append(future.result())
            partial = arguments.out.with_suffix(".partial")
            partial.write_text(json.dumps(runs))
            partial.replace(arguments.out)
            last = runs[-1]
            name = f"{last['optimizer']} on {last['problem']}, {last['placement']}, seed {last['seed']}"
            print(f"{number}/{len(jobs)} {name}: {last['best'][-1]:.4g} in {last['seconds']:.0f} s", flush=True)
    print("\nRegret (best value found less the optimum), mean and standard error over the seeds\n")
    print(table(runs))


if __name__ == "__main__":
    main()
