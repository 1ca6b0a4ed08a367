"""Searches with noise, scored by the true value of the answer that each library gives.

Ten functions of two to six coordinates, with normal noise whose standard deviation is 1 %, 10 % or 50 % of the range of
128 values all over the cube, or grows along the first coordinate. All optimizers evaluate the same starting points, and
the noise of their evaluations is the same. Each search is kept whole in `docs/results/noisy.parquet`, so that other
ways to choose the answer can be tried on it.

    python examples/experiments/noisy.py run --methods betabo optuna-gp --seeds 5 --out out/noisy
    python examples/experiments/noisy.py pack out/noisy out/noisy.parquet
    python examples/experiments/noisy.py table --runs docs/results/noisy.parquet
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
from moved import FUNCTIONS
from moved import Problem as Moved

Array = np.ndarray

RUNS = Path(__file__).parents[2] / "docs" / "results" / "noisy.parquet"
BASE = "before"
_SOLVED = 1e-3  # regret that counts as solved, relative to the start's

LEVELS: dict[str, float] = {"none": 0.0, "1%": 0.01, "10%": 0.1, "50%": 0.5, "uneven": 0.1}
"""Standard deviation of the noise as a share of the range; of the uneven one, its mean."""


def branin(u: Array) -> float:
    """Three equal valleys."""
    x, y = 15 * u[0] - 5, 15 * u[1]
    return float(
        (y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2
        + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x)
        + 9.602113
    )


_H3 = (
    np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]]),
    1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]),
)
_H6 = (
    np.array(
        [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
    ),
    1e-4
    * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    ),
)


def _hartmann(u: Array, steepness: Array, places: Array) -> float:
    return float(-np.exp(-(steepness * (u - places) ** 2).sum(axis=1)) @ [1.0, 1.2, 3.0, 3.2])


def hartmann3(u: Array) -> float:
    """Four holes in three coordinates."""
    return _hartmann(u, *_H3) + 3.862782


def hartmann6(u: Array) -> float:
    """Four holes in six coordinates."""
    return _hartmann(u, *_H6) + 3.322368


def ackley(u: Array) -> float:
    """A funnel in a plain with ripples."""
    x = 20 * u - 8
    return float(
        20 - 20 * math.exp(-0.2 * math.sqrt((x**2).mean())) + math.e - math.exp(np.cos(2 * math.pi * x).mean())
    )


def levy(u: Array) -> float:
    """Ripples over a bowl."""
    w = 1 + (20 * u - 10 - 1) / 4
    middle = ((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(math.pi * w[:-1] + 1) ** 2)).sum()
    return float(math.sin(math.pi * w[0]) ** 2 + middle + (w[-1] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[-1]) ** 2))


@dataclass(frozen=True)
class Problem:
    """A function of the unit cube whose least value is 0, with its number of coordinates."""

    name: str
    dim: int
    true: Callable[[int], Callable[[Array], float]]

    @property
    def budget(self) -> int:
        """Evaluations of a search, the starting ones included."""
        return 20 + 7 * self.dim


def _moved(function: str, dim: int, placement: str) -> Problem:
    assert function in FUNCTIONS
    return Problem(f"{function}-{dim}-{placement}", dim, Moved(function, dim, placement).objective)


PROBLEMS = [
    *(
        Problem(function.__name__, dim, lambda _, function=function: function)
        for function, dim in ((branin, 2), (hartmann3, 3), (hartmann6, 6), (ackley, 3), (levy, 4))
    ),
    _moved("rosenbrock", 2, "interior"),
    _moved("rotated", 4, "interior"),
    _moved("styblinski", 3, "face"),
    _moved("few", 5, "interior"),
    _moved("sharp", 4, "vertex"),
]


def deviation(problem: Problem, level: str, seed: int) -> Callable[[Array], float]:
    """The standard deviation of the noise at a point."""
    from torch.quasirandom import SobolEngine

    true = problem.true(seed)
    values = [true(u) for u in SobolEngine(problem.dim, scramble=True, seed=0).draw(128).double().numpy()]
    width = LEVELS[level] * (max(values) - min(values))
    return lambda u: width * (0.05 + 1.9 * u[0] if level == "uneven" else 1.0)


def search(problem: Problem, level: str, method: str, seed: int) -> dict[str, Any]:
    """One search: 2 d Sobol points, at least 5, and then as the method proposes."""
    import torch
    from torch.quasirandom import SobolEngine

    from betabo.lab.bench.optimizers import make_adapter

    torch.set_num_threads(1)
    true, spread = problem.true(seed), deviation(problem, level, seed)
    start = SobolEngine(problem.dim, scramble=True, seed=seed).draw(max(5, 2 * problem.dim)).double().numpy()
    noise = np.random.default_rng([seed, 7]).standard_normal(problem.budget)
    optimizer = make_adapter(method, {})
    optimizer.start([(0.0, 1.0)] * problem.dim, start, seed)
    points, values, truths, seconds, origins = [], [], [], [], []
    for number in range(problem.budget):
        began = time.perf_counter()
        u = optimizer.ask()
        seconds.append(time.perf_counter() - began)
        truths.append(true(u))
        values.append(truths[-1] + spread(u) * noise[number])
        points.append(u.tolist())
        optimizer.tell(u, values[-1])
        history = getattr(getattr(optimizer, "_optimizer", None), "history", None)
        origins.append(history[-1].origin if history else "")
    answer = optimizer.answer()
    answer = points[int(np.argmin(values))] if answer is None else answer
    optimizer.end()
    return {
        "problem": problem.name,
        "level": level,
        "seed": seed,
        "points": points,
        "values": values,
        "truths": truths,
        "origins": origins,
        "answer": true(np.asarray(answer)),
        "start": float(np.median(truths[: len(start)])),
        "seconds": float(np.median(seconds[len(start) :])),
    }


def done(path: Path) -> list[dict[str, Any]]:
    """The searches of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wanted(arguments: argparse.Namespace) -> Iterator[tuple[str, Problem, str, int]]:
    """The searches that are asked for, seed by seed."""
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        for level in arguments.levels:
            for problem in PROBLEMS:
                for method in arguments.methods:
                    if problem.name in (arguments.problems or problem.name):
                        yield method, problem, level, seed


def run(arguments: argparse.Namespace) -> None:
    """Make the searches that are missing; each is a line of JSON in the file of its method."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    for method, problem, level, seed in wanted(arguments):
        path = arguments.out / f"{method}.jsonl"
        if any((r["problem"], r["level"], r["seed"]) == (problem.name, level, seed) for r in done(path)):
            continue
        found = search(problem, level, method, seed)
        with path.open("a") as file:
            file.write(json.dumps({"method": method, **found}) + "\n")


def pack(arguments: argparse.Namespace) -> None:
    """Put the searches of a folder into one file."""
    runs = [found for path in sorted(arguments.folder.glob("*.jsonl")) for found in done(path)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(runs), arguments.file, compression="zstd")


def regrets(runs: pd.DataFrame) -> pd.DataFrame:
    """Logarithms of the regret of the answer, of the lowest value, and of the best point visited, of each run."""
    lowest = [truths[int(np.argmin(values))] for truths, values in zip(runs["truths"], runs["values"], strict=True)]
    best = [min(truths) for truths in runs["truths"]]
    floor = _SOLVED * runs["start"]
    logs = {"answer": runs["answer"], "lowest value": lowest, "best visited": best}
    found = {name: np.log(np.maximum(column, floor)) for name, column in logs.items()}
    return runs[["method", "level", "problem", "seed"]].assign(**found)


def ratios(level: str, runs: pd.DataFrame) -> dict[tuple[str, str], Array]:
    """Logarithms of a regret relative to that of the answer before, for each method and point of the search."""
    logs = regrets(runs[runs["level"] == level]).set_index(["method", "problem", "seed"])
    base = logs.loc[BASE]["answer"]
    return {
        (method, point): (logs.loc[method][point] - base).dropna().to_numpy()
        for method in sorted(set(logs.index.get_level_values("method")))
        for point in ("answer", "lowest value", "best visited")
    }


def estimated(runs: pd.DataFrame) -> Array:
    """The noise that a fit to each search without noise sees, in standard deviations of the transformed values."""
    from betabo.optimizer import Config, Data
    from betabo.optimizer.model import Surrogate

    found = []
    for points, values in runs.loc[runs["level"] == "none", ["points", "values"]].itertuples(index=False):
        x = np.stack(points)
        none = np.empty((0, x.shape[1]))
        found.append(Surrogate.fit(Data(x, np.asarray(values), none, none), Config(), 0).states[0].noise ** 0.5)
    return np.array(found)


def cell(logs: Array) -> str:
    """The geometric mean and its interval."""
    means = np.random.default_rng(0).choice(logs, (2000, len(logs))).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{math.exp(logs.mean()):.2f} [{math.exp(low):.2f}, {math.exp(high):.2f}], {len(logs)}"


def table(arguments: argparse.Namespace) -> None:
    """Print a row for each level and method."""
    runs = pd.read_parquet(arguments.runs)
    print("| noise | method | answer | lowest value | best visited |\n|---|---|---|---|---|")
    for level in LEVELS:
        found = ratios(level, runs) if level in set(runs["level"]) else {}
        for method in dict.fromkeys(method for method, _ in found):
            cells = [cell(found[method, point]) for point in ("answer", "lowest value", "best visited")]
            print(f"| {level} | {method} | {' | '.join(cells)} |")
    print("noise seen without noise:", " ".join(f"{deviation:.3f}" for deviation in sorted(estimated(runs))))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("--methods", nargs="+", default=["betabo"])
    running.add_argument("--levels", nargs="+", default=list(LEVELS), choices=list(LEVELS))
    running.add_argument("--problems", nargs="*", default=[])
    running.add_argument("--seeds", type=int, default=5)
    running.add_argument("--first-seed", type=int, default=0)
    running.add_argument("--out", type=Path, default=Path("out/noisy"))
    running.set_defaults(work=run)
    packing = commands.add_parser("pack")
    packing.add_argument("folder", type=Path)
    packing.add_argument("file", type=Path)
    packing.set_defaults(work=pack)
    showing = commands.add_parser("table")
    showing.add_argument("--runs", type=Path, default=RUNS)
    showing.set_defaults(work=table)
    arguments = parser.parse_args()
    arguments.work(arguments)


if __name__ == "__main__":
    main()
