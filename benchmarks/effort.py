"""What the effort of maximizing an acquisition function buys: other numbers of samples, starts and iterations.

    python benchmarks/effort.py --seeds 3

Each row changes one of the settings of `MaximizeOptions`. All maximize the same log EI of the same fitted models (Levy,
Ackley and Griewank, halfway through a search: random points, half of them around the best one). Given are the share of
cases in which the best value found falls short by more than 0.01, and by more than 0.1, of the highest that any setting
found in that case with any seed, and the median time.
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import numpy as np
import torch

from betabo.acquisition.lean import lean_form
from betabo.acquisition.maximize import MaximizeOptions, maximize
from betabo.lab.problems import problem_by_name
from betabo.optimizer.config import Config
from betabo.optimizer.data import Data
from betabo.optimizer.model import Surrogate

SETTINGS = {
    "default": MaximizeOptions(),
    "a quarter of the samples": MaximizeOptions(raw_samples=64, local_samples=32),
    "half the samples": MaximizeOptions(raw_samples=128, local_samples=64),
    "twice the samples": MaximizeOptions(raw_samples=512, local_samples=256),
    "1 start of each kind": MaximizeOptions(starts=1),
    "4 starts of each kind": MaximizeOptions(starts=4),
    "8 starts of each kind": MaximizeOptions(starts=8),
    "15 iterations": MaximizeOptions(max_iterations=15),
    "30 iterations": MaximizeOptions(max_iterations=30),
    "120 iterations": MaximizeOptions(max_iterations=120),
    "240 iterations": MaximizeOptions(max_iterations=240),
}


def data_of(problem: str, dims: int, seed: int) -> Data:
    """Evaluations halfway through a search."""
    function, generator = problem_by_name(f"{problem}-{dims}-vertex"), np.random.default_rng(seed)
    unit = generator.random((3 * dims, dims))
    values = function.evaluate_unit(torch.from_numpy(unit)).numpy().ravel()
    near = np.clip(unit[values.argmin()] + 0.1 * generator.standard_normal((3 * dims, dims)), 0, 1)
    unit = np.concatenate([unit, near])
    return Data(unit, function.evaluate_unit(torch.from_numpy(unit)).numpy(), failed=unit[:0], pending=unit[:0])


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=["levy", "ackley", "griewank"])
    parser.add_argument("--dims", type=int, nargs="+", default=[2, 6, 20])
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    short: dict[str, list[float]] = {name: [] for name in SETTINGS}
    seconds: dict[str, list[float]] = {name: [] for name in SETTINGS}
    for problem in arguments.problems:
        for dims in arguments.dims:
            for seed in range(arguments.seeds):
                data = data_of(problem, dims, seed)
                surrogate = Surrogate.fit(data, Config(), seed=0)
                function = lean_form(surrogate.acquisition(data, torch.zeros(0, dims).double(), Config(), seed=0))
                incumbents = surrogate.incumbents(data, 5)
                found: dict[str, list[float]] = {name: [] for name in SETTINGS}
                for repeat in range(3):
                    for name, options in SETTINGS.items():
                        start = time.process_time()
                        _, values = maximize(function, incumbents, seed=repeat, options=options)
                        seconds[name].append(time.process_time() - start)
                        found[name].append(float(values[0]))
                highest = max(max(values) for values in found.values())
                for name, values in found.items():
                    short[name] += [highest - value for value in values]
    print(f"{len(short['default'])} cases\n\n| | short by 0.01 | by 0.1 | time, ms |\n|---|---:|---:|---:|")
    for name, gaps in short.items():
        shares = [sum(gap > limit for gap in gaps) / len(gaps) for limit in (0.01, 0.1)]
        print(f"| {name} | {shares[0]:.0%} | {shares[1]:.0%} | {1e3 * median(seconds[name]):.0f} |")


if __name__ == "__main__":
    main()
