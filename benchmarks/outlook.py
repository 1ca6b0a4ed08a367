"""Whether the model's word on what is left, and on what lies beyond a bound, can be trusted, on functions of BoTorch.

    python benchmarks/outlook.py remaining --seeds 3 --out docs/results/remaining-gain.parquet
    python benchmarks/outlook.py beyond --seeds 4 --out docs/results/gain-beyond.csv

`remaining` asks the model during searches how likely it is that more than some shares of the spread of the values is
left to be gained, and writes down whether it was. `beyond` cuts boxes so that the optimum lies beyond a bound, or just
inside it, and compares the estimated gain with the true one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import botorch.test_functions.synthetic as functions
import numpy as np
import pandas as pd
import torch
from scipy.optimize import minimize

from betabo import Optimizer

SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)  # of the distance from the best value to the median

REMAINING = {
    "branin": functions.Branin(),
    "hartmann3": functions.Hartmann(3),
    "levy4": functions.Levy(4),
    "rosenbrock3": functions.Rosenbrock(3),
    "camel6": functions.SixHumpCamel(),
    "styblinski3": functions.StyblinskiTang(3),
    "ackley3": functions.Ackley(3),
    "griewank2": functions.Griewank(2),
    "michalewicz2": functions.Michalewicz(2),
    "cosine8": functions.Cosine8(),
    "beale": functions.Beale(),
    "hartmann6": functions.Hartmann(6),
    "dixonprice4": functions.DixonPrice(4),
    "bukin": functions.Bukin(),
    "dropwave": functions.DropWave(),
    "holder": functions.HolderTable(),
    "camel3": functions.ThreeHumpCamel(),
    "shekel": functions.Shekel(),
    "powell4": functions.Powell(4),
    "rastrigin2": functions.Rastrigin(2),
    "levy2": functions.Levy(2),
    "ackley5": functions.Ackley(5),
    "styblinski5": functions.StyblinskiTang(5),
    "rosenbrock5": functions.Rosenbrock(5),
}

BEYOND = {
    "branin": functions.Branin(),
    "hartmann3": functions.Hartmann(3),
    "hartmann6": functions.Hartmann(6),
    "levy4": functions.Levy(4),
    "camel6": functions.SixHumpCamel(),
    "styblinski3": functions.StyblinskiTang(3),
    "rosenbrock3": functions.Rosenbrock(3),
    "griewank2": functions.Griewank(2, bounds=[(-10, 10)] * 2),
    "ackley3": functions.Ackley(3, bounds=[(-5, 5)] * 3),
    "dixon4": functions.DixonPrice(4),
    "cosine8": functions.Cosine8(),
    "michal2": functions.Michalewicz(2),
    "powell4": functions.Powell(4),
    "rastrigin2": functions.Rastrigin(2, bounds=[(-2, 2)] * 2),
}


def value_of(function: Any, point: Any) -> float:
    """The value of a function at a point."""
    return float(function.evaluate_true(torch.tensor(np.asarray(point))[None])[0])


def remaining(name: str, function: Any, seed: int) -> Iterator[dict[str, Any]]:
    """What the model believed every fourth evaluation after the starting points, and whether it was so."""
    search = Optimizer(function.bounds.T.tolist(), seed=seed)
    design = search.config.design_size(function.dim)
    for count in range(1, (60 if function.dim > 2 else 45) + 1):
        point = search.ask()
        search.tell(point, value_of(function, point))
        if count - design < 3 or (count - design) % 4 != 3:
            continue
        left = search.remaining_gain()
        values = np.array([evaluation.value for evaluation in search.history])
        for share in SHARES:
            gain = share * max(float(np.median(values) - values.min()), 1e-12)
            yield {
                "problem": name,
                "dims": function.dim,
                "seed": seed,
                "evaluations": count,
                "share": share,
                "believed": left.raw_probability(gain),
                "exceeded": bool(left.best - function.optimal_value > gain),
            }


def beyond(name: str, function: Any, seed: int, optimum: str) -> Iterator[dict[str, Any]]:
    """A search in a box that is cut near the optimum, and what the model says of the cut."""
    full = np.array(function.bounds.T.tolist())
    function.bounds[0] -= 1e3  # beyond the usual box there are values too
    function.bounds[1] += 1e3
    best = np.array(function.optimizers[0].tolist())
    box, dims = full.copy(), function.dim
    index = int(np.random.default_rng([seed, dims]).integers(dims))
    side = "upper" if (seed + dims) % 2 else "lower"
    share = 0.15 if optimum == "beyond" else -0.05
    kept, cut = (0, 1) if side == "upper" else (1, 0)
    box[index, cut] = (best[index] + share * box[index, kept]) / (1 + share)
    width = box[index, 1] - box[index, 0]
    inside = (box[index, 0] >= full[index, 0] - 1e-9) and (box[index, 1] <= full[index, 1] + 1e-9)
    if not inside or width < 0.15 * (full[index, 1] - full[index, 0]):
        return
    search = Optimizer(box.tolist(), seed=seed)
    for _ in range(12 + 6 * dims if dims < 5 else 50):
        point = search.ask()
        search.tell(point, value_of(function, point))
    found = search.result()
    (gain,) = search.gains_beyond([(f"x{index}", side)])
    slab = box.copy()
    slab[index] = sorted((gain.bound, gain.until))
    rng = np.random.default_rng(1)
    starts = [np.clip(p, *slab.T) for p in (found.x, best)] + [rng.uniform(*slab.T) for _ in range(8)]
    lowest = min(
        minimize(lambda x: value_of(function, np.clip(x, *slab.T)), start, method="L-BFGS-B", bounds=slab).fun
        for start in starts
    )
    yield {
        "problem": name,
        "seed": seed,
        "optimum": optimum,
        "on_bound": search.space.faces(search.space.to_unit(found.x)).get(f"x{index}") == side,
        "gain": gain.gain,
        "low": gain.low,
        "high": gain.high,
        "true_gain": found.fun - lowest,
    }


def main() -> None:
    """Run what is asked for and write a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["remaining", "beyond"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for seed in range(given.seeds):
        if given.what == "remaining":
            for name, function in REMAINING.items():
                rows += remaining(name, function, seed)
                print(name, seed, flush=True)
        else:
            for name, function in BEYOND.items():
                for optimum in ("beyond", "inside"):
                    rows += beyond(name, deepcopy(function), seed, optimum)
                    print(name, seed, optimum, flush=True)
    table = pd.DataFrame(rows)
    if given.out.suffix == ".csv":
        table.to_csv(given.out, index=False, float_format="%.6g")
    else:
        table.to_parquet(given.out, index=False)


if __name__ == "__main__":
    main()
