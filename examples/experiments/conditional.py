"""Searches in which some parameters exist only under a choice, beside TPE with groups and GPSampler.

Eight problems: the tree of Jenatton and others (2017), a choice between three functions of different size, a choice
between three with shared coordinates, nested choices, and four choices of a model of scikit-learn with its
hyperparameters, scored by cross-validation. Each is an objective of Optuna that is defined by running it, and no
sampler is told the space beforehand. All samplers have the same seeds, and each draws starting points of its own.
Every run is kept in `docs/results/conditional.csv`.

    python examples/experiments/conditional.py run --out out/conditional --seeds 10
    python examples/experiments/conditional.py pack out/conditional docs/results/conditional.csv
    python examples/experiments/conditional.py table
"""

from __future__ import annotations

import argparse
import csv
import functools
import json
import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import optuna

RUNS = Path(__file__).parents[2] / "docs" / "results" / "conditional.csv"
BUDGET = 50
OURS = "betabo"
_SOLVED = 1e-3  # of the range of a random search's values, below which regrets count as equal


def jenatton(trial: optuna.Trial) -> float:
    """The tree: three binary choices, four numbers of which one exists, two shared ones; its least value is 0.1."""
    if trial.suggest_categorical("x1", [0, 1]) == 0:
        second, shared = trial.suggest_categorical("x2", [0, 1]), trial.suggest_float("r8", 0, 1)
        name, base = (("x4", 0.1), ("x5", 0.2))[second]
    else:
        second, shared = trial.suggest_categorical("x3", [0, 1]), trial.suggest_float("r9", 0, 1)
        name, base = (("x6", 0.3), ("x7", 0.4))[second]
    return float(trial.suggest_float(name, -1, 1) ** 2 + base + shared)


def branin(x: float, y: float) -> float:
    """Three equal valleys; the least value is 0."""
    return (
        (y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2
        + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x)
        + 9.602113
    )


def apart(trial: optuna.Trial) -> float:
    """A choice between functions of two, three and four coordinates, whose least values differ."""
    kind = trial.suggest_categorical("kind", ["branin", "bowl", "ripples"])
    if kind == "branin":
        return branin(trial.suggest_float("b0", -5, 10), trial.suggest_float("b1", 0, 15)) / 50
    if kind == "bowl":
        u = np.array([trial.suggest_float(f"s{i}", 0, 1) for i in range(3)])
        return float(((u - [0.2, 0.7, 0.4]) ** 2 @ [3, 1, 2]) + 0.2)
    u = np.array([trial.suggest_float(f"r{i}", -2, 2) for i in range(4)])
    return float((u**2 + 0.5 * (1 - np.cos(3 * u))).mean() + 0.1)


def shared(trial: optuna.Trial) -> float:
    """Two coordinates that always exist, and one or two more under each of three choices."""
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    common = (x - 0.3) ** 2 + (y - 0.6) ** 2
    if kind == "a":
        return common + (trial.suggest_float("a", 0, 1) - 0.1 - x / 2) ** 2 + 0.05
    if kind == "b":
        return common + (trial.suggest_float("b", 0, 1) - 0.8) ** 2 + trial.suggest_float("b2", 0, 1) * y
    return common + 0.1 * trial.suggest_int("c", 1, 10) / 10 + 0.02


def nested(trial: optuna.Trial) -> float:
    """A choice under a choice: a number of layers decides which widths exist."""
    kind = trial.suggest_categorical("kind", ["line", "net"])
    if kind == "line":
        return 0.3 + (math.log10(trial.suggest_float("ridge", 1e-5, 1e2, log=True)) + 1) ** 2 / 20
    value = 0.1 + (math.log10(trial.suggest_float("rate", 1e-5, 1, log=True)) + 2.5) ** 2 / 5
    layers = trial.suggest_categorical("layers", [1, 2, 3])
    for layer in range(layers):
        width = trial.suggest_int(f"width{layer}", 4, 256, log=True)
        value += (math.log2(width) - 6 + layer) ** 2 / 30
    return value + 0.05 * (layers - 2) ** 2


@functools.cache
def _data(name: str) -> tuple[np.ndarray, np.ndarray]:
    from sklearn import datasets

    found = getattr(datasets, f"load_{name}")(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(found[1]))[:400]
    return found[0][rows], found[1][rows]


def model(name: str, trial: optuna.Trial) -> float:
    """A support vector machine, a forest or nearest neighbours: the error of five folds."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    is_regression = name == "diabetes"
    kind = trial.suggest_categorical("model", ["svm", "forest", "neighbours"])
    if kind == "svm":
        settings: dict[str, Any] = {
            "C": trial.suggest_float("C", 1e-3, 1e3, log=True),
            "gamma": trial.suggest_float("gamma", 1e-5, 1e1, log=True),
        }
        chosen = SVR(**settings) if is_regression else SVC(**settings)
    elif kind == "forest":
        settings = {
            "max_depth": trial.suggest_int("max_depth", 1, 16),
            "max_features": trial.suggest_float("max_features", 0.05, 1.0),
            "min_samples_leaf": trial.suggest_int("min_samples_leaf", 1, 20),
        }
        make = RandomForestRegressor if is_regression else RandomForestClassifier
        chosen = make(**settings, n_estimators=15, random_state=0)
    else:
        settings = {
            "n_neighbors": trial.suggest_int("n_neighbors", 1, 50),
            "p": trial.suggest_float("p", 1.0, 4.0),
            "weights": trial.suggest_categorical("weights", ["uniform", "distance"]),
        }
        chosen = (KNeighborsRegressor if is_regression else KNeighborsClassifier)(**settings)
    x, y = _data(name)
    return 1 - float(cross_val_score(make_pipeline(StandardScaler(), chosen), x, y, cv=5).mean())


PROBLEMS: dict[str, Callable[[Any], float]] = {
    "jenatton": jenatton,
    "apart": apart,
    "shared": shared,
    "nested": nested,
    **{f"models-{name}": functools.partial(model, name) for name in ("breast_cancer", "digits", "wine", "diabetes")},
}


def samplers(seed: int) -> dict[str, Callable[[], optuna.samplers.BaseSampler]]:
    """What makes each sampler."""
    import optuna

    from betabo.optuna import BetaSampler

    return {
        OURS: lambda: BetaSampler(seed=seed, warn_independent_sampling=False),
        "tpe-groups": lambda: optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True),
        "gp": lambda: optuna.samplers.GPSampler(seed=seed, warn_independent_sampling=False),
        "random": lambda: optuna.samplers.RandomSampler(seed=seed),
    }


def search(problem: str, method: str, seed: int) -> dict[str, Any]:
    """One search."""
    import optuna
    import torch

    torch.set_num_threads(1)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings(action="ignore"):
        study = optuna.create_study(sampler=samplers(seed)[method]())
        began = time.process_time()
        study.optimize(PROBLEMS[problem], n_trials=BUDGET)
    values = [trial.values[0] for trial in study.trials]
    return {
        "problem": problem,
        "method": method,
        "seed": seed,
        "best": np.minimum.accumulate(values).tolist(),
        "seconds": time.process_time() - began,
    }


def run(arguments: argparse.Namespace) -> None:
    """Make the searches that are missing, seed by seed; each is a file."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    for seed in range(arguments.seeds):
        for problem in arguments.problems or PROBLEMS:
            for method in arguments.methods or samplers(seed):
                path = arguments.out / f"{problem}-{method}-{seed}.json"
                if not path.exists():
                    found = search(problem, method, seed)
                    path.write_text(json.dumps(found))


def pack(arguments: argparse.Namespace) -> None:
    """Put the searches of a folder into one file: the best value so far after every fifth evaluation."""
    runs = [json.loads(path.read_text()) for path in sorted(arguments.folder.glob("*.json"))]
    with arguments.file.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["problem", "method", "seed", "seconds", *(f"best{n}" for n in range(5, BUDGET + 1, 5))])
        for found in runs:
            best = [f"{value:.8g}" for value in found["best"][4::5]]
            writer.writerow([found["problem"], found["method"], found["seed"], f"{found['seconds']:.2f}", *best])


def read(path: Path = RUNS) -> dict[tuple[str, str, int], list[float]]:
    """The best value so far after 5, 10, ... evaluations, by problem, method and seed."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        (row["problem"], row["method"], int(row["seed"])): [float(row[f"best{n}"]) for n in range(5, BUDGET + 1, 5)]
        for row in rows
    }


def pairs(runs: dict[tuple[str, str, int], list[float]], method: str, evaluations: int) -> dict[str, list[float]]:
    """Logarithms of our regret relative to a method's, for each problem and seed that both have.

    Regret is measured from the best value that any method found in any run of the problem. It counts as no less than a
    thousandth of the median regret of random search after five evaluations, so that runs that have arrived are equal.
    """
    place = evaluations // 5 - 1
    found: dict[str, list[float]] = {}
    for problem in dict.fromkeys(problem for problem, _, _ in runs):
        least = min(best[-1] for (name, _, _), best in runs.items() if name == problem)
        first = [best[0] - least for (name, of, _), best in runs.items() if (name, of) == (problem, "random")]
        floor = _SOLVED * float(np.median(first))
        for (name, of, seed), best in runs.items():
            if (name, of) == (problem, OURS) and (problem, method, seed) in runs:
                ours, theirs = (max(b[place] - least, floor) for b in (best, runs[problem, method, seed]))
                found.setdefault(problem, []).append(math.log(ours / theirs))
    return found


def interval(by_problem: dict[str, list[float]]) -> tuple[float, float, float]:
    """The geometric mean of all ratios, and a 95 % interval that draws problems, and seeds within them, anew."""
    rng = np.random.default_rng(0)
    lists = [np.array(logs) for logs in by_problem.values()]
    means = []
    for _ in range(2000):
        drawn = [lists[i] for i in rng.integers(len(lists), size=len(lists))]
        means.append(np.concatenate([rng.choice(logs, len(logs)) for logs in drawn]).mean())
    low, high = np.quantile(means, (0.025, 0.975))
    return math.exp(np.concatenate(lists).mean()), math.exp(low), math.exp(high)


def cell(by_problem: dict[str, list[float]]) -> str:
    """The ratio with its interval, and in how many pairs we were better, equal and worse."""
    logs = np.concatenate(list(by_problem.values()))
    mean, low, high = interval(by_problem)
    won, lost = int((logs < 0).sum()), int((logs > 0).sum())
    return f"{mean:.2g} [{low:.2g}, {high:.2g}], {won}/{len(logs) - won - lost}/{lost}"


def table(arguments: argparse.Namespace) -> None:
    """Print a row for each peer, and one for each problem beside TPE with groups."""
    runs = read(arguments.runs)
    print("| our regret relative to | after 25 evaluations | after 50 |\n|---|---|---|")
    for method in ("tpe-groups", "random"):
        print(f"| {method} | {' | '.join(cell(pairs(runs, method, count)) for count in (25, 50))} |")
    print("\n| conditional problem | relative to tpe-groups, after 50 |\n|---|---|")
    for problem, logs in sorted(pairs(runs, "tpe-groups", 50).items(), key=lambda entry: -np.mean(entry[1])):
        print(f"| {problem} | {cell({problem: logs})} |")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("--seeds", type=int, default=10)
    running.add_argument("--problems", nargs="*", choices=list(PROBLEMS))
    running.add_argument("--methods", nargs="*", choices=list(samplers(0)))
    running.add_argument("--out", type=Path, default=Path("out/conditional"))
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
