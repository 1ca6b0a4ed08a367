"""Searches with noise, scored by the true value of the answer that each library gives.

Ten functions of two to six coordinates, with normal noise whose standard deviation is 1 %, 10 % or 50 % of the range of
128 values all over the cube, or grows along the first coordinate; and, at the level `coco`, the 30 functions of COCO's
suite `bbob-noisy` with the noise that they have. All optimizers evaluate the same starting points, and the noise of
their evaluations is the same. Each search is kept in `docs/results/noisy.parquet`.

    python examples/experiments/noisy.py run --methods betabo optuna-gp qlognei --seeds 5 --out out/noisy
    python examples/experiments/noisy.py pack out/noisy out/noisy.parquet
    python examples/experiments/noisy.py table --runs docs/results/noisy.parquet

The answers are those of the libraries themselves: betabo's `recommend()`, Optuna's `study.best_params`, and for
BoTorch, which leaves it to the user, the evaluated point with the best posterior mean.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from moved import FUNCTIONS
from moved import Problem as Moved

from betabo.lab.bench.optimizers import OptimizerAdapter, make_adapter
from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.botorch_search import BotorchSearch, fitted_model

if TYPE_CHECKING:
    import pandas as pd

Array = np.ndarray
Function = Callable[[Array], float]

RUNS = Path(__file__).parents[2] / "docs" / "results" / "noisy.parquet"
BASE = "betabo"
PEERS = ("betabo", "optuna-gp", "qlognei")
_SOLVED = 1e-3  # regret that counts as solved, relative to the start's

LEVELS: dict[str, float] = {"none": 0.0, "1%": 0.01, "10%": 0.1, "50%": 0.5, "uneven": 0.1, "coco": math.nan}
"""Standard deviation of the noise as a share of the range; of the uneven one, its mean. COCO's problems have theirs."""


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
    """A function of the unit cube whose least value is 0, with its number of coordinates.

    Attributes:
        name: Its name.
        dim: Number of coordinates.
        true: The function without noise, given a seed.
        noisy: The function with noise of its own, given a seed; None where the noise is that of a level.
    """

    name: str
    dim: int
    true: Callable[[int], Function]
    noisy: Callable[[int], Function] | None = None

    @property
    def budget(self) -> int:
        """Evaluations of a search, the starting ones included."""
        return 20 + 7 * self.dim

    def measured(self, level: str, seed: int) -> Function:
        """What a search sees: with each value comes the next noise of the seed."""
        if self.noisy is not None:
            return self.noisy(seed)
        true, spread = self.true(seed), deviation(self, level, seed)
        noise = iter(np.random.default_rng([seed, 7]).standard_normal(self.budget))
        return lambda u: true(u) + spread(u) * next(noise)


def _moved(function: str, dim: int, placement: str) -> Problem:
    assert function in FUNCTIONS
    return Problem(f"{function}-{dim}-{placement}", dim, Moved(function, dim, placement).objective)


_DIMS = (2, 3, 5)  # of COCO's problems
_LOOKS = 25  # at a value with rare outliers, of which most are the same


@dataclass(frozen=True)
class Coco:
    """A function of `bbob-noisy`, from -5 to 5 in each coordinate; a seed is an instance with its own random numbers.

    Three functions with normal, uniform and Cauchy noise have one function without noise. The last of them is mostly
    that function, higher by a constant, which tells the true value. The least value has no noise.
    """

    number: int

    @property
    def dim(self) -> int:
        """Number of coordinates: each kind of noise gets all of them, and each function too."""
        return _DIMS[(self.number + (self.number - 1) // 3) % 3]

    @property
    def _first(self) -> int:
        """The first of the three functions, with normal noise."""
        return self.number - (self.number - 1) % 3

    def _problem(self, number: int, seed: int) -> Any:
        import cocoex

        instance, function = f"instances: {seed + 1}", f"dimensions: {self.dim} function_indices: {number}"
        return cocoex.Suite("bbob-noisy", instance, function)[0]

    def least(self, seed: int) -> float:
        """The least value."""
        problem = self._problem(self._first, seed)
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            problem._best_parameter("print")
            (found,) = Path(folder).iterdir()
            return float(problem(np.loadtxt(found)))

    def true(self, seed: int) -> Function:
        """The function without noise, above its least value."""
        mostly = self._problem(self._first + 2, seed)
        lowest = self.least(seed) + (10 if self._first < 7 else 1000)
        return lambda u: float(Counter(mostly(_in_box(u)) for _ in range(_LOOKS)).most_common(1)[0][0] - lowest)

    def noisy(self, seed: int) -> Function:
        """The function with its noise, above its least value, from the same place among the suite's random numbers."""
        least = self.least(seed)
        problem = self._problem(self.number, seed)  # with which the random numbers begin anew
        for _ in range(1000 * seed):
            problem(np.zeros(self.dim))
        return lambda u: float(problem(_in_box(u)) - least)


def _in_box(u: Array) -> Array:
    return 10 * np.asarray(u) - 5


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
    *(
        Problem(f"f{100 + function.number}-{function.dim}", function.dim, function.true, function.noisy)
        for function in map(Coco, range(1, 31))
    ),
]


class NoisyBotorch(BotorchSearch):
    """BoTorch for noisy values: `SingleTaskGP` and `qLogNoisyExpectedImprovement`."""

    def propose(self) -> Point:
        """The maximum of the acquisition function."""
        import torch
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.optim.optimize import optimize_acqf

        x, y = self._observed.tensors()
        bounds = torch.stack([torch.zeros_like(x[0]), torch.ones_like(x[0])])
        acquisition = qLogNoisyExpectedImprovement(fitted_model(x, y), X_baseline=x, prune_baseline=True)
        found, _ = optimize_acqf(acquisition, bounds, 1, num_restarts=4, raw_samples=256)
        return self.from_unit(found[0].numpy())

    def answer(self) -> Point:
        """The evaluated point with the best posterior mean."""
        import torch

        x, y = self._observed.tensors()
        model = fitted_model(x, y)
        with torch.no_grad():
            best = model.posterior(x).mean.argmax()
        return self.from_unit(x[best].numpy())


def make_optimizer(method: str) -> OptimizerAdapter:
    """An optimizer of the catalogue, or BoTorch's for noise."""
    return NoisyBotorch() if method == "qlognei" else make_adapter(method, {})


def deviation(problem: Problem, level: str, seed: int) -> Function:
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

    torch.set_num_threads(1)
    measured = problem.measured(level, seed)
    start = SobolEngine(problem.dim, scramble=True, seed=seed).draw(max(5, 2 * problem.dim)).double().numpy()
    optimizer = make_optimizer(method)
    optimizer.start([(0.0, 1.0)] * problem.dim, start, seed)
    points, values, seconds, origins = [], [], [], []
    for _ in range(problem.budget):
        began = time.process_time()
        u = optimizer.ask()
        seconds.append(time.process_time() - began)
        values.append(measured(u))
        points.append(u.tolist())
        optimizer.tell(u, values[-1])
        history = getattr(getattr(optimizer, "_optimizer", None), "history", None)
        origins.append(history[-1].origin if history else "")
    answer = optimizer.answer()
    answer = points[int(np.argmin(values))] if answer is None else answer
    optimizer.end()
    true = problem.true(seed)
    truths = [true(np.array(u)) for u in points]
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
                    wants = problem.name in (arguments.problems or problem.name)
                    if wants and (level == "coco") == (problem.noisy is not None):
                        yield method, problem, level, seed


def run(arguments: argparse.Namespace) -> None:
    """Make the searches that are missing; each is a line of JSON in a file of its method, level and seed."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    for constant in arguments.replace:
        replace_constant(constant)
    for method, problem, level, seed in wanted(arguments):
        path = arguments.out / f"{arguments.label or method}-{level.rstrip('%')}-{seed}.jsonl"
        if any((r["problem"], r["level"], r["seed"]) == (problem.name, level, seed) for r in done(path)):
            continue
        found = search(problem, level, method, seed)
        with path.open("a") as file:
            file.write(json.dumps({"method": arguments.label or method, **found}) + "\n")


def pack(arguments: argparse.Namespace) -> None:
    """Put the searches of a folder into one file."""
    import pyarrow.parquet

    runs = [found for path in sorted(arguments.folder.glob("*.jsonl")) for found in done(path)]
    for found in runs:
        found["points"] = np.round(found["points"], 6).tolist()
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
    """Logarithms of a regret relative to that of betabo's answer, for each method and point of the search."""
    logs = regrets(runs[runs["level"] == level]).set_index(["method", "problem", "seed"])
    base = logs.loc[BASE]["answer"]
    return {
        (method, point): (logs.loc[method][point] - base).dropna().to_numpy()
        for method in sorted(set(logs.index.get_level_values("method")))
        for point in ("answer", "lowest value", "best visited")
    }


def ranks(level: str, runs: pd.DataFrame) -> pd.Series:
    """Mean rank of the answers of betabo and its peers where all have one, 1 being the best."""
    logs = regrets(runs[runs["level"] == level]).pivot_table(
        index=["problem", "seed"], columns="method", values="answer"
    )
    return logs[[method for method in PEERS if method in logs]].dropna().rank(axis=1).mean()


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
    """The geometric mean, its interval, and the number of pairs."""
    means = np.random.default_rng(0).choice(logs, (2000, len(logs))).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{math.exp(logs.mean()):.2f} [{math.exp(low):.2f}, {math.exp(high):.2f}], {len(logs)}"


COLUMNS = ("noise", "method", "answer", "better", "worse", "lowest value", "best visited", "rank")


def rows(level: str, runs: pd.DataFrame) -> list[str]:
    """The rows of the table for a level, one for each method."""
    if not ((runs["level"] == level) & (runs["method"] == BASE)).any():
        return []
    found, mean_ranks = ratios(level, runs), ranks(level, runs)
    lines = []
    for method in dict.fromkeys(method for method, _ in found):
        logs = found[method, "answer"]
        if not len(logs):
            continue
        cells = [cell(logs), str((logs < -1e-9).sum()), str((logs > 1e-9).sum())]
        cells += [cell(found[method, point]) for point in ("lowest value", "best visited")]
        cells.append(f"{mean_ranks[method]:.2f}" if method in mean_ranks else "")
        lines.append(f"| {level} | {method} | {' | '.join(cells)} |")
    return lines


def table(arguments: argparse.Namespace) -> None:
    """Print a row for each level and method."""
    import pandas as pd

    runs = pd.read_parquet(arguments.runs)
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for level in LEVELS:
        for row in rows(level, runs):
            print(row)
    print("noise seen without noise:", " ".join(f"{deviation:.3f}" for deviation in sorted(estimated(runs))))


def replace_constant(given: str) -> None:
    """Give a constant of betabo another value for the experiment, such as `betabo.optimizer.model._DRAWS=0`."""
    name, value = given.split("=")
    module, _, constant = name.rpartition(".")
    found = import_module(module)
    assert hasattr(found, constant), name
    setattr(found, constant, float(value) if "." in value else int(value))


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
    running.add_argument("--label", default="", help="name of the method in the file, for a version that was changed")
    running.add_argument("--out", type=Path, default=Path("out/noisy"))
    running.set_defaults(work=run)
    packing = commands.add_parser("pack")
    packing.add_argument("folder", type=Path)
    packing.add_argument("file", type=Path)
    packing.set_defaults(work=pack)
    showing = commands.add_parser("table")
    showing.add_argument("--runs", type=Path, default=RUNS)
    showing.set_defaults(work=table)
    running.add_argument("--replace", nargs="*", default=[], help="constants of betabo with other values")
    arguments = parser.parse_args()
    arguments.work(arguments)


if __name__ == "__main__":
    main()
