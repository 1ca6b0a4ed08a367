"""Time to maximize log EI: BoTorch's function with autograd, and the same in closed form.

    python benchmarks/acquisition.py --points 60 100 140 --dims 20

Both maximize the same function of the same fitted model from the same starts. Given are seconds, their ratio, and by
how much the best value differs.
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import torch

from betabo.acquisition.lean import lean_form
from betabo.acquisition.maximize import maximize
from betabo.lab.problems import problem_by_name
from betabo.optimizer.config import Config
from betabo.optimizer.data import Data
from betabo.optimizer.model import Surrogate


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dims", type=int, default=20)
    parser.add_argument("--points", type=int, nargs="+", default=[60, 100, 140])
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    problem = problem_by_name(f"levy-{arguments.dims}-vertex")
    print("| points | autograd, s | closed form, s | ratio | difference of the best value |\n|---|---|---|---|---|")
    for count in arguments.points:
        unit = torch.quasirandom.SobolEngine(arguments.dims, scramble=True, seed=0).draw(count, dtype=torch.float64)
        nothing = unit[:0].numpy()
        data = Data(unit.numpy(), problem.evaluate_unit(unit).numpy(), failed=nothing, pending=nothing)
        surrogate = Surrogate.fit(data, Config(), seed=0)
        plain = surrogate.acquisition(data, unit[:0], Config(), seed=0)
        lean = lean_form(plain)
        incumbents = surrogate.incumbents(data, 3)
        times: dict[str, list[float]] = {"plain": [], "lean": []}
        best = {}
        for seed in range(arguments.repeats):
            for name, function in (("plain", plain), ("lean", lean)):
                start = time.perf_counter()
                _, values = maximize(function, incumbents, seed=seed)
                times[name].append(time.perf_counter() - start)
                best[name, seed] = float(values[0])
        seconds = {name: median(found) for name, found in times.items()}
        apart = max(abs(best["plain", seed] - best["lean", seed]) for seed in range(arguments.repeats))
        print(
            f"| {count} | {seconds['plain']:.3f} | {seconds['lean']:.3f} | "
            f"{seconds['lean'] / seconds['plain']:.2f} | {apart:.0e} |"
        )


if __name__ == "__main__":
    main()
