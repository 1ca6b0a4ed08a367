"""What is lost where a model holds a choice of very many evaluations: the last steps of a search of 2,000.

The first 1,900 evaluations are the same for both: half of them all over the cube, half around the best point so far,
closer and closer. Then the model of the whole cube takes 60 steps, once with the choice that it makes by default
(1,000 evaluations, and those next to where it wants to go) and once with all.

    python examples/experiments/many.py run --model choice --seeds 2 --out out/many
    python examples/experiments/many.py pack out/many out/many.csv
    python examples/experiments/many.py table out/many.csv
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import product
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from moved import Problem
from torch.quasirandom import SobolEngine

from betabo import Optimizer
from betabo.optimizer import many

if TYPE_CHECKING:
    import pandas as pd

Array = np.ndarray

PROBLEMS = [
    Problem(function, 6, placement)
    for function, placement in (
        ("rotated", "interior"),
        ("rosenbrock", "face"),
        ("rastrigin", "interior"),
        ("styblinski", "faces"),
        ("few", "interior"),
        ("sharp", "vertex"),
    )
]
MODELS = ("choice", "all")
_TOLD, _STEPS, _ROUNDS = 1900, 60, 19


def record(problem: Problem, seed: int, told: int) -> tuple[Array, Array]:
    """The evaluations that both are told."""
    objective, generator = problem.objective(seed), np.random.default_rng([seed, 3])
    design = SobolEngine(problem.dim, scramble=True, seed=seed)
    points, values = np.empty((0, problem.dim)), np.empty(0)
    for width in np.geomspace(0.3, 0.03, _ROUNDS):
        spread = design.draw(told // _ROUNDS // 2).double().numpy()
        centre = points[values.argmin()] if len(values) else np.full(problem.dim, 0.5)
        steps = width * generator.standard_normal((told // _ROUNDS - len(spread), problem.dim))
        new = np.concatenate([spread, np.clip(centre + steps, 0, 1)])
        points, values = np.concatenate([points, new]), np.append(values, [objective(u) for u in new])
    return points, values


def search(problem: Problem, model: str, seed: int, told: int, steps: int) -> dict[str, Any]:
    """The regret after the evaluations that are told, and after the steps."""
    torch.set_num_threads(1)
    if model == "all":
        many._MOST = many._LEAST = told + steps
    points, values = record(problem, seed, told)
    objective, best = problem.objective(seed), problem.best(seed)
    optimizer = Optimizer([(0, 1)] * problem.dim, seed=seed, local_steps=False)
    for point, value in zip(points, values, strict=True):
        optimizer.tell(point, value)
    began, lowest = time.process_time(), float(values.min())
    curve = [lowest]
    for step in range(steps):
        point = optimizer.ask()
        value = objective(np.asarray(point))
        optimizer.tell(point, value)
        lowest = min(lowest, value)
        if step % 10 == 9:
            curve.append(lowest)
    seconds = (time.process_time() - began) / steps
    return {"seconds": round(seconds, 3), "curve": " ".join(f"{value - best:.6g}" for value in curve)}


def done(path: Path) -> list[dict[str, Any]]:
    """The searches of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(arguments: argparse.Namespace) -> None:
    """Make the searches that are missing, all with one model; each is a line of JSON."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    for seed, problem in product(seeds, PROBLEMS):
        path = arguments.out / f"{arguments.model}-{seed}.jsonl"
        if any(found["problem"] == problem.name for found in done(path)):
            continue
        if problem.name not in (arguments.problems or problem.name):
            continue
        found = search(problem, arguments.model, seed, arguments.told, arguments.steps)
        with path.open("a") as file:
            file.write(json.dumps({"problem": problem.name, "model": arguments.model, "seed": seed, **found}) + "\n")


def pack(arguments: argparse.Namespace) -> None:
    """Put the searches of a folder into one file."""
    import pandas as pd

    runs = [found for path in sorted(arguments.folder.glob("*.jsonl")) for found in done(path)]
    pd.DataFrame(runs).to_csv(arguments.file, index=False)


def ratios(runs: pd.DataFrame) -> Array:
    """Logarithms of the last regret with the choice relative to that with all; what is solved counts as 1e-9."""
    last = np.log(np.maximum(runs["curve"].str.split().str[-1].astype(float), 1e-9))
    found = runs.assign(last=last).pivot_table(index=["problem", "seed"], columns="model", values="last").dropna()
    return (found["choice"] - found["all"]).to_numpy()


def cell(logs: Array) -> str:
    """The geometric mean and its 95 % bootstrap interval over the runs."""
    means = np.random.default_rng(0).choice(logs, (2000, len(logs))).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{exp(logs.mean()):.2f} [{exp(low):.2f}, {exp(high):.2f}], {len(logs)}"


def table(arguments: argparse.Namespace) -> None:
    """Print the ratio, and the seconds of a step."""
    import pandas as pd

    runs = pd.read_csv(arguments.runs)
    print("regret with the choice / with all:", cell(ratios(runs)))
    print(runs.groupby("model")["seconds"].mean().round(2).to_string())


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help="do the searches that are missing")
    running.add_argument("--model", choices=MODELS, default="choice")
    running.add_argument("--problems", nargs="*", default=[])
    running.add_argument("--seeds", type=int, default=2)
    running.add_argument("--first-seed", type=int, default=0)
    running.add_argument("--told", type=int, default=_TOLD)
    running.add_argument("--steps", type=int, default=_STEPS)
    running.add_argument("--out", type=Path, default=Path("out/many"))
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
