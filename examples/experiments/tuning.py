"""Compare recipes for the default optimizer on problems that no reported comparison uses.

Functions that can be moved: their optimum is put at a random interior point, on a face, on a third of the faces, at a
vertex, or outside the box, so that the best point is on bounds that are active. All recipes get the same starting
points with the same seed, and are compared seed by seed.

    python examples/experiments/tuning.py run --recipes default matern optuna-gp --seeds 10 --workers 2 --out out/tuning
    python examples/experiments/tuning.py table out/tuning --baseline default

A recipe is one of those below, several of them joined by `+`, or an optimizer of `betabo bench`. Runs are lines
of JSON in one file a recipe; the same command again does what is missing.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from classics import CLASSICS, Classic
from moved import NOISY, PLACEMENTS, PROBLEMS, Problem
from recipes import PATCHES, recipes

FLOOR = 1e-6  # of a regret relative to the range of the starting points
SETS: dict[str, list[Problem] | list[Classic]] = {"moved": PROBLEMS, "noisy": NOISY, "classic": CLASSICS}


def run_one(problem: Problem | Classic, recipe: str, seed: int) -> dict[str, Any]:
    """One search: 3 d Sobol points, then as many steps as 20 + 3 d."""
    import torch
    from torch.quasirandom import SobolEngine

    from betabo.lab.bench.optimizers import make_adapter

    torch.set_num_threads(1)
    count = 3 * problem.dim
    start = SobolEngine(problem.dim, scramble=True, seed=seed).draw(count, dtype=torch.float64).numpy()
    objective = problem.objective(seed)
    settings, parts = recipes(), recipe.split("+")
    ours = all(part in settings or part in PATCHES for part in parts)
    merged: dict[str, Any] = {}
    for part in parts:
        merged |= settings.get(part, {})
        PATCHES.get(part, lambda: None)()
    optimizer = make_adapter("betabo", merged) if ours else make_adapter(recipe, {})
    optimizer.start([(0.0, 1.0)] * problem.dim, start, seed)
    best = problem.best(seed)
    height = float(np.median([objective(x) for x in start]) - best)
    noise = problem.noise * height * np.random.default_rng(seed).standard_normal(1000)
    values, began = [], time.perf_counter()
    for number in range(count + 20 + 3 * problem.dim):
        x = optimizer.ask()
        values.append(objective(x))
        optimizer.tell(x, values[-1] + noise[number])
    regret = max((min(values) - best) / height, FLOOR)
    seconds = (time.perf_counter() - began) / (20 + 3 * problem.dim)
    return {"problem": problem.name, "seed": seed, "regret": regret, "seconds": seconds}


def _in_a_process_of_its_own(problem: Problem | Classic, recipe: str, seed: int) -> dict[str, Any]:
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        return pool.submit(run_one, problem, recipe, seed).result()


def done(path: Path) -> list[dict[str, Any]]:
    """The runs of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def work(arguments: argparse.Namespace) -> None:
    """Do every n-th run that is missing."""
    import torch

    from betabo.lab.bench.optimizers import make_adapter

    torch.set_num_threads(1)
    make_adapter("betabo", {}).start([(0.0, 1.0)], np.array([[0.5]]), 0)  # what is loaded now is there after a fork
    chosen = SETS[arguments.problems]
    problems = [p for p in chosen if any(text in p.name for text in arguments.only)]
    if not problems:
        raise SystemExit(f"no problem has any of {arguments.only} in its name; they are like {chosen[0].name}.")
    jobs = list(product(range(arguments.seeds), arguments.recipes, problems))
    for number, (seed, recipe, problem) in enumerate(jobs):
        if number % arguments.workers != arguments.worker:
            continue
        path = arguments.out / f"{recipe.replace('/', '_')}-{arguments.worker}.jsonl"
        if any(run["problem"] == problem.name and run["seed"] == seed for run in done(path)):
            continue
        patched = any(part in PATCHES for part in recipe.split("+"))
        run = _in_a_process_of_its_own(problem, recipe, seed) if patched else run_one(problem, recipe, seed)
        with path.open("a") as file:
            file.write(json.dumps({"recipe": recipe, **run}) + "\n")


def table(arguments: argparse.Namespace) -> None:
    """Geometric means of regret relative to a baseline, on runs that both have, with bootstrap intervals."""
    import pandas as pd

    runs = pd.DataFrame([run for path in sorted(arguments.out.glob("*.jsonl")) for run in done(path)])
    if runs.empty or arguments.baseline not in set(runs["recipe"]):
        raise SystemExit(f"{arguments.out} has no runs of {arguments.baseline}; `tuning.py run --out` makes some.")
    logs = runs.assign(log=np.log(runs["regret"].clip(lower=arguments.floor))).pivot_table(
        index=["problem", "seed"], columns="recipe", values="log"
    )
    difference = logs.sub(logs[arguments.baseline], axis=0)
    placement = pd.Series([name.split("-")[-1] for name, _ in logs.index], index=logs.index)
    seconds = runs.groupby("recipe")["seconds"].mean()
    for recipe in difference:
        found = difference[recipe].dropna()
        by_place = np.exp(found.groupby(placement[found.index]).mean())
        parts = [f"{part} {by_place[part]:.2f}" for part in PLACEMENTS if part in by_place]
        draws = _bootstrap(found)
        print(
            f"{recipe:18s} n={len(found):4d}  all {math.exp(found.mean()):.3f} [{draws[0]:.2f}, {draws[1]:.2f}]  "
            f"better in {(found < 0).mean():.0%}  {'  '.join(parts)}  {seconds[recipe]:.2f} s a step"
        )
    if arguments.each:
        print(np.exp(logs.groupby(level="problem").mean()).to_string(float_format="%.2g"))


def _bootstrap(found: Any, count: int = 2000) -> tuple[float, float]:
    """An interval for the geometric mean, over problems and seeds drawn anew."""
    generator = np.random.default_rng(0)
    by_problem = [group.to_numpy() for _, group in found.groupby(level="problem")]
    means = []
    for _ in range(count):
        chosen = [by_problem[i] for i in generator.integers(len(by_problem), size=len(by_problem))]
        means.append(np.mean([generator.choice(values, len(values)).mean() for values in chosen]))
    low, high = np.exp(np.quantile(means, [0.025, 0.975]))
    return float(low), float(high)


def main() -> None:
    """Run, or show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run", help="do what is missing")
    command.add_argument("--recipes", nargs="+", default=["default"], metavar="NAME")
    command.add_argument("--seeds", type=int, default=10)
    command.add_argument("--problems", default="moved", choices=SETS, help="which problems (default moved)")
    command.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="those with one of these in the name")
    command.add_argument("--workers", type=int, default=1)
    command.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    command.add_argument("--out", type=Path, required=True)
    command = commands.add_parser("table", help="compare what there is")
    command.add_argument("out", type=Path)
    command.add_argument("--baseline", default="default")
    command.add_argument("--each", action="store_true", help="also the mean regret on each problem")
    command.add_argument("--floor", type=float, default=1e-4, help="what is below counts as solved (default 1e-4)")
    arguments = parser.parse_args()
    if arguments.command == "table":
        table(arguments)
    elif arguments.worker is not None:
        work(arguments)
    else:
        arguments.out.mkdir(parents=True, exist_ok=True)
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        workers = [
            subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--worker", str(number)], env=environment)
            for number in range(arguments.workers)
        ]
        raise SystemExit(max(worker.wait() for worker in workers))


if __name__ == "__main__":
    main()
