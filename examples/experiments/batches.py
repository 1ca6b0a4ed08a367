"""What batches cost: searches that ask for several points at once, beside GPSampler with running trials and qLogEI.

Each search asks for `q` points, gets all their values, and asks again. Searches that are there already are skipped;
`docs/results/batches.csv` holds those of `docs/experiments.md`.

    python examples/experiments/batches.py run --methods betabo optuna-gp qlogei --batch 8 --out out/batches
    python examples/experiments/batches.py pack out/batches out/batches.csv
    python examples/experiments/batches.py table docs/results/batches.csv
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from itertools import product
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from betabo import Optimizer
from betabo.lab.problems import problem_by_name

if TYPE_CHECKING:
    import pandas as pd

PROBLEMS = (
    "hartmann-6-centre",
    "levy-6-face",
    "griewank-6-centre",
    *(f"sbox-f{function}-d5-i1" for function in (2, 3, 8, 10, 13, 15, 20, 21)),
)
_SOLVED = 1e-5  # of the regret of the first batch: less counts as solved

Points = np.ndarray
Ask = Callable[[int], Points]
Tell = Callable[[Points, Points], None]


def betabo(dims: int, seed: int) -> tuple[Ask, Tell]:
    """The default."""
    search = Optimizer([(0, 1)] * dims, seed=seed)

    def tell(points: Points, values: Points) -> None:
        for point, value in zip(points, values, strict=True):
            search.tell(point, float(value))

    return lambda q: np.array(search.ask(q)), tell


def optuna_gp(dims: int, seed: int) -> tuple[Ask, Tell]:
    """GPSampler for a deterministic objective, which knows of running trials."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=seed, deterministic_objective=True))
    space = {f"x{i}": optuna.distributions.FloatDistribution(0, 1) for i in range(dims)}
    running: list[optuna.Trial] = []

    def ask(q: int) -> Points:
        running[:] = [study.ask(space) for _ in range(q)]
        return np.array([[trial.params[name] for name in space] for trial in running])

    def tell(points: Points, values: Points) -> None:
        del points
        for trial, value in zip(running, values, strict=True):
            study.tell(trial, float(value))

    return ask, tell


def qlogei(dims: int, seed: int) -> tuple[Ask, Tell]:
    """BoTorch: `SingleTaskGP` and `qLogExpectedImprovement`, a whole batch at once, after at least 2 d Sobol points."""
    from botorch.acquisition.logei import qLogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim.optimize import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from torch.quasirandom import SobolEngine

    torch.manual_seed(seed)
    design = SobolEngine(dims, scramble=True, seed=seed)
    known: list[tuple[Points, Points]] = []

    def ask(q: int) -> Points:
        count = sum(len(values) for _, values in known)
        starts = design.draw(min(max(2 * dims - count, 0), q) if known else q, dtype=torch.float64)
        if len(starts) == q:
            return starts.numpy()
        x = torch.from_numpy(np.concatenate([points for points, _ in known]))
        y = -torch.from_numpy(np.concatenate([values for _, values in known])).unsqueeze(-1)
        model = SingleTaskGP(x, y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = qLogExpectedImprovement(model, best_f=y.max(), X_pending=starts if len(starts) else None)
        bounds = torch.stack([torch.zeros(dims), torch.ones(dims)]).double()
        points, _ = optimize_acqf(acquisition, bounds, q - len(starts), num_restarts=4, raw_samples=256)
        return torch.cat([starts, points]).numpy()

    return ask, lambda points, values: known.append((points, values))


METHODS = {"betabo": betabo, "optuna-gp": optuna_gp, "qlogei": qlogei}


def search(
    problem_name: str, method: Callable[[int, int], tuple[Ask, Tell]], q: int, batches: int, seed: int
) -> list[float]:
    """The best regret after each batch."""
    problem = problem_by_name(problem_name)
    low, high = problem.bounds.double().numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ask, tell = method(problem.dim, seed)
    best, curve = np.inf, []
    for _ in range(batches):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            points = ask(q)
        values = problem(torch.from_numpy(low + (high - low) * points)).numpy()
        tell(points, values)
        best = min(best, float(values.min()) - problem.optimal_value)
        curve.append(best)
    return curve


def done(path: Path) -> list[dict[str, Any]]:
    """The searches of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(arguments: argparse.Namespace) -> None:
    """Do the searches that are missing; each is a line of JSON in a file of its method, size of batches and seed."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    for constant in arguments.replace:
        replace_constant(constant)
    q, seeds = arguments.batch, range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    for method, seed in product(arguments.methods, seeds):
        label = arguments.label or method
        path = arguments.out / f"{label}-{q}-{seed}.jsonl"
        for problem in arguments.problems:
            if any(found["problem"] == problem for found in done(path)):
                continue
            began = time.process_time()
            curve = search(problem, METHODS[method], q, arguments.batches, seed)
            row = {"problem": problem, "method": label, "q": q, "seed": seed}
            row |= {"seconds": round(time.process_time() - began, 2)}
            row |= {"curve": " ".join(f"{regret:.6g}" for regret in curve)}
            with path.open("a") as file:
                file.write(json.dumps(row) + "\n")


def pack(arguments: argparse.Namespace) -> None:
    """Put the searches of a folder into one file."""
    import pandas as pd

    runs = [found for path in sorted(arguments.folder.glob("*.jsonl")) for found in done(path)]
    pd.DataFrame(runs).to_csv(arguments.file, index=False)


def ratios(runs: pd.DataFrame, q: int, base: str = "betabo") -> dict[str, np.ndarray]:
    """Logarithms of the last regret relative to that of `base`, on the same problem with the same seed, by method."""
    some = runs[runs["q"] == q].copy()
    curves = [np.array(curve.split(), dtype=float) for curve in some["curve"]]
    some["last"] = [curve[-1] for curve in curves]
    some["first"] = [curve[0] for curve in curves]
    floor = _SOLVED * some.groupby("problem")["first"].transform("median")
    some["log"] = np.log(np.maximum(some["last"], floor))
    table = some.pivot_table(index=["problem", "seed"], columns="method", values="log")
    return {method: (table[method] - table[base]).dropna().to_numpy() for method in table if method != base}


def cell(logs: np.ndarray) -> str:
    """The geometric mean and its 95 % bootstrap interval over the runs."""
    means = np.random.default_rng(0).choice(logs, (2000, len(logs))).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{exp(logs.mean()):.2f} [{exp(low):.2f}, {exp(high):.2f}]"


def table(arguments: argparse.Namespace) -> None:
    """Print the table."""
    import pandas as pd

    runs = pd.read_csv(arguments.runs)
    print("| q | method | regret / betabo's | better | worse | runs | s a point |\n|---|---|---|---|---|---|---|")
    for q in sorted(runs["q"].unique()):
        some = runs[runs["q"] == q]
        points = q * some["curve"].str.split().str.len()
        seconds = (some["seconds"] / points).groupby(some["method"]).mean()
        for method, logs in ratios(runs, q, arguments.base).items():
            wins = f"{(logs < -1e-9).sum()} | {(logs > 1e-9).sum()} | {len(logs)}"
            print(f"| {q} | {method} | {cell(logs)} | {wins} | {seconds[method]:.2f} |")


def replace_constant(given: str) -> None:
    """Give a constant of betabo another value for the experiment, such as `betabo.optimizer.model._DRAWS=0`."""
    name, value = given.split("=")
    module, _, constant = name.rpartition(".")
    found = import_module(module)
    assert hasattr(found, constant), name
    setattr(found, constant, float(value) if "." in value else int(value))


def main() -> None:
    """Run or show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    runner = commands.add_parser("run", help="do the searches that are missing")
    runner.add_argument("--methods", nargs="+", choices=METHODS, default=["betabo", "optuna-gp"])
    runner.add_argument("--problems", nargs="+", default=PROBLEMS)
    runner.add_argument("--batch", type=int, default=8, help="points of a batch")
    runner.add_argument("--batches", type=int, default=10, help="that are asked for")
    runner.add_argument("--seeds", type=int, default=3)
    runner.add_argument("--first-seed", type=int, default=0)
    runner.add_argument("--label", default="", help="name of the method in the file, for a version that was changed")
    runner.add_argument("--replace", nargs="*", default=[], help="constants of betabo with other values")
    runner.add_argument("--out", type=Path, default=Path("out/batches"))
    runner.set_defaults(do=run)
    packer = commands.add_parser("pack", help="put the searches of a folder into one file")
    packer.add_argument("folder", type=Path)
    packer.add_argument("file", type=Path)
    packer.set_defaults(do=pack)
    shown = commands.add_parser("table", help="compare what is there")
    shown.add_argument("runs", type=Path)
    shown.add_argument("--base", default="betabo", help="what the others are compared with")
    shown.set_defaults(do=table)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.do(arguments)


if __name__ == "__main__":
    main()
