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
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from classics import CLASSICS, Classic

Array = np.ndarray
FLOOR = 1e-6  # of a regret relative to the range of the starting points


# Functions of z, zero at their optimum z = 0, for |z| up to about 5


def ellipsoid(z: Array) -> float:
    """A bowl with axes of very different lengths."""
    return float((100.0 ** np.linspace(0, 1, len(z)) * z**2).sum())


def rotated(z: Array) -> float:
    """The same in directions that are no coordinates."""
    return ellipsoid(_basis(len(z)) @ z)


def _basis(dim: int) -> Array:
    return np.linalg.qr(np.random.default_rng(dim).standard_normal((dim, dim)))[0]


def rastrigin(z: Array) -> float:
    """A bowl with a grid of local optima."""
    return float((0.3 * z**2 + 3 * (1 - np.cos(2 * math.pi * z * 0.4))).sum())


def rosenbrock(z: Array) -> float:
    """A bent valley."""
    x = 0.4 * z + 1
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


def styblinski(z: Array) -> float:
    """Two valleys in each coordinate."""
    x = z - 2.903534
    return float((x**4 - 16 * x**2 + 5 * x).sum() / 2 + 39.166166 * len(z))


def few(z: Array) -> float:
    """Only three coordinates matter, and they interact."""
    return float((z[0] - z[1]) ** 2 + 0.5 * abs(z[1] * z[2]) + z[2] ** 2 + 0.2 * abs(z[0]) ** 1.5)


def turned(z: Array) -> float:
    """A grid of local optima in directions that are no coordinates."""
    return rastrigin(_basis(len(z)) @ z)


def sharp(z: Array) -> float:
    """A funnel with a kink at the optimum."""
    return float(10 * np.sqrt(np.abs(z).mean()) + np.abs(z).sum())


FUNCTIONS: dict[str, Callable[[Array], float]] = {
    function.__name__: function
    for function in (ellipsoid, rotated, rastrigin, rosenbrock, styblinski, few, sharp, turned)
}
PLACEMENTS = ("interior", "face", "faces", "vertex", "outside")
DIMENSIONS = (4, 10, 16)


@dataclass(frozen=True)
class Problem:
    """A function on the unit cube with its optimum somewhere."""

    function: str
    dim: int
    placement: str
    noise: float = 0.0  # standard deviation, as a share of the height of the middle of the starting values

    @property
    def name(self) -> str:
        """Function, dimension and placement."""
        return f"{self.function}{self.noise or ''}-{self.dim}-{self.placement}"

    def optimum(self, seed: int) -> Array:
        """Where z is zero, which may be outside the cube."""
        generator = np.random.default_rng([seed, self.dim, PLACEMENTS.index(self.placement), len(self.function)])
        point = generator.uniform(0.15, 0.85, self.dim)
        chosen = generator.permutation(self.dim)
        side = generator.integers(2, size=self.dim).astype(float)
        count = {"interior": 0, "face": 1, "faces": max(2, self.dim // 3), "vertex": self.dim, "outside": self.dim // 2}
        bounds = chosen[: count[self.placement]]
        beyond = 0.1 if self.placement == "outside" else 0.0
        point[bounds] = side[bounds] + beyond * (2 * side[bounds] - 1)
        return point

    def objective(self, seed: int) -> Callable[[Array], float]:
        """The function of a point of the cube."""
        optimum, function = self.optimum(seed), FUNCTIONS[self.function]
        return lambda u: function(6 * (np.asarray(u) - optimum))

    def best(self, seed: int) -> float:
        """The least value in the cube, by local searches where the optimum is outside."""
        optimum, objective = self.optimum(seed), self.objective(seed)
        if self.placement != "outside":
            return objective(optimum)
        from scipy.optimize import minimize

        generator = np.random.default_rng(0)
        starts = [np.clip(optimum, 0, 1), *generator.random((20, self.dim))]
        found = [minimize(objective, start, bounds=[(0, 1)] * self.dim, method="L-BFGS-B").fun for start in starts]
        return float(min(found))


PROBLEMS = [
    Problem(function, DIMENSIONS[(i + j) % 3], placement)
    for i, function in enumerate(FUNCTIONS)
    for j, placement in enumerate(PLACEMENTS)
]


NOISY = [
    Problem(function, dim, placement, noise)
    for (function, dim, placement), noise in product(
        (("rotated", 4, "faces"), ("few", 10, "interior"), ("styblinski", 4, "face"), ("sharp", 10, "vertex")),
        (0.02, 0.2),
    )
]


SETS: dict[str, list[Problem] | list[Classic]] = {"moved": PROBLEMS, "noisy": NOISY, "classic": CLASSICS}


def recipes() -> dict[str, dict[str, Any]]:
    """Settings of `betabo.Config` by name of a recipe."""
    from gpytorch.constraints import GreaterThan
    from gpytorch.kernels import ScaleKernel
    from gpytorch.priors import LogNormalPrior

    from betabo.kernels.effects import MainEffectsKernel
    from betabo.kernels.factory import SumKernel, beta_additive_covariance, beta_matern_covariance

    def beta_matern(dims: int, prior: tuple[float, float] | None = None, **settings: Any) -> Any:
        kernel = beta_matern_covariance(dims, **settings)
        if prior is not None:
            kernel.base_kernel.bandwidth_prior = LogNormalPrior(*prior)
        return kernel

    def two_scales(dims: int) -> Any:
        """Also short effects, as long in all coordinates."""
        main, rest = beta_additive_covariance(dims).kernels
        short = MainEffectsKernel(
            lengthscale_prior=LogNormalPrior(math.log(0.15), 0.7),
            lengthscale_constraint=GreaterThan(0.025, transform=None, initial_value=0.15),
        )
        prior, constraint = LogNormalPrior(-2.0, 1.5), GreaterThan(1e-4, transform=None, initial_value=0.1)
        return SumKernel(main, ScaleKernel(short, outputscale_prior=prior, outputscale_constraint=constraint), rest)

    return {
        "default": {},
        "two-scales": {"kernel": two_scales},
        "bend-0.97": {"kernel": partial(beta_additive_covariance, bend=0.97)},
        "matern": {"kernel": "matern"},
        "rbf": {"kernel": "rbf"},
        "beta-correlation": {"kernel": "beta-correlation"},
        "beta-rbf": {"kernel": partial(beta_matern, nu=math.inf)},
        "beta-matern-3/2": {"kernel": partial(beta_matern, nu=1.5)},
        "weight-learned": {"kernel": partial(beta_matern, boundary_weight="learned")},
        "bandwidth-0.3": {"kernel": partial(beta_matern, prior=(math.log(0.3), 1.0))},
        "bandwidth-3": {"kernel": partial(beta_matern, prior=(math.log(3.0), 1.0))},
        "no-power": {"power_transform": False},
        "no-noise": {"noise": "none"},
        "ucb": {"acquisition": "ucb"},
        "beta-matern": {"kernel": "beta-matern"},
        "rough": {"kernel": partial(beta_additive_covariance, nu=1.5)},
        "smooth": {"kernel": partial(beta_additive_covariance, nu=math.inf)},
        "straight": {"kernel": partial(beta_additive_covariance, bend=0.0)},
    }


def again_from_the_start(every: int) -> None:
    """Fit anew from the kernel's initial values every so many steps, and take the better fit."""
    from betabo.optimizer import model

    fit = model.fit_gp

    def patched(x: Any, y: Any, kernel: Any, **settings: Any) -> Any:
        found = fit(x, y, kernel, **settings)
        if settings.get("warm_start") is not None and len(x) % every == 0:
            fresh = fit(x, y, deepcopy(kernel), **{**settings, "warm_start": None, "restarts": 1})
            if fresh[2].objective < found[2].objective:
                return fresh
        return found

    model.fit_gp = patched


def by_evidence(*kernels: str) -> None:
    """Fit several kernels and take the one with the higher posterior density."""
    from betabo.kernels.catalogue import make_kernel
    from betabo.optimizer import model

    fit = model.fit_gp
    states: dict[str, Any] = {}

    def patched(x: Any, y: Any, kernel: Any, **settings: Any) -> Any:
        del kernel
        found = []
        for name in kernels:
            warm = states.get(name)
            own = {**settings, "warm_start": warm, "restarts": 1 if warm is None else 0}
            result = fit(x, y, make_kernel(name, x.shape[-1]).double(), **own)
            states[name] = result[1]
            found.append(result)
        return min(found, key=lambda result: result[2].objective)

    model.fit_gp = patched


def take_turns(make: Callable[[int], Any], every: int = 2) -> None:
    """Model with another kernel in some of the steps."""
    from betabo.optimizer import model

    fit = model.fit_gp
    known: dict[str, Any] = {"ours": None, "other": None}

    def patched(x: Any, y: Any, kernel: Any, **settings: Any) -> Any:
        name, chosen = ("other", make(x.shape[-1]).double()) if len(x) % every == 1 else ("ours", kernel)
        warm = known[name]
        found = fit(x, y, chosen, **{**settings, "warm_start": warm, "restarts": 1 if warm is None else 0})
        known[name] = found[1]
        return found[0], known["ours"] or found[1], found[2]

    model.fit_gp = patched


def other_kernel(name: str) -> Callable[[int], Any]:
    """A kernel of the catalogue or of a recipe."""
    from betabo.kernels.catalogue import make_kernel

    return lambda dims: make_kernel(recipes().get(name, {"kernel": name})["kernel"], dims)


def harder_search(starts: int, samples: int) -> None:
    """Maximize the acquisition function from more points."""
    from betabo.acquisition import maximize

    maximize.MaximizeOptions.__init__.__defaults__ = (2 * samples, samples, starts, 100)  # type: ignore[misc]


def believe_noise(location: float, scale: float, lowest: float = 1e-6) -> None:
    """Another log-normal prior of the noise variance, and another lower bound."""
    from betabo.surrogate import likelihood

    likelihood._NOISE_PRIOR, likelihood.LOWEST_NOISE = (location, scale), lowest


def fit_less_often(growth: float) -> None:
    """Keep the hyperparameters until the number of points has grown by a share."""
    from betabo.optimizer import model

    fit = model.fit_gp
    last = 0

    def patched(x: Any, y: Any, kernel: Any, **settings: Any) -> Any:
        nonlocal last
        if settings.get("warm_start") is not None and len(x) < last * (1 + growth):
            return fit(x, y, kernel, **{**settings, "restarts": 0, "max_iterations": 0})
        last = len(x)
        return fit(x, y, kernel, **settings)

    model.fit_gp = patched


def scan_lines(levels: int) -> None:
    """Start the maximization also where coordinates of the best point are at the lowest mean along their lines."""
    import torch

    from betabo.acquisition import maximize
    from betabo.optimizer import core

    points_before, maximize_before = maximize.starting_points, core.maximize
    grid = (1 - torch.cos(torch.linspace(0, math.pi, levels, dtype=torch.float64))) / 2

    def lines(acquisition: Any, incumbents: Any, seed: int) -> Any:
        generator = np.random.default_rng(seed)
        found = []
        for base in incumbents[:2]:
            dims = len(base)
            moved = base.expand(dims, levels, dims).clone()
            moved[torch.arange(dims), :, torch.arange(dims)] = grid
            points = torch.cat([moved.reshape(-1, dims), base[None]])
            with torch.no_grad():
                mean = acquisition.model.posterior(points.unsqueeze(-2)).mean.flatten()
            lowest = mean[:-1].view(dims, levels).min(dim=1)
            gain, target = (mean[-1] - lowest.values).clamp_min(0), grid[lowest.indices]
            order = gain.argsort(descending=True)
            for count in {1, 2, 4, 8, 16, 32, int((gain > 0).sum())}:
                point = base.clone()
                point[order[:count]] = torch.where(gain > 0, target, base)[order[:count]]
                found.append(point)
            for _ in range(16):
                chosen = torch.from_numpy(generator.random(dims) < generator.random()) & (gain > 0)
                found.append(torch.where(chosen, target, base))
        return torch.stack(found)

    def patched(acquisition: Any, incumbents: Any, **settings: Any) -> Any:
        maximize.starting_points = lambda *given: [*points_before(*given), lines(acquisition, incumbents, given[-1])]
        return maximize_before(acquisition, incumbents, **settings)

    core.maximize = patched


def look_farther(every: int, margin: float) -> None:
    """Ask for an improvement by a margin, in standard deviations of the values, in some of the steps."""
    from dataclasses import replace

    from betabo.optimizer import model

    make = model.make_acquisition

    def patched(acquisition: Any, context: Any) -> Any:
        if context.step % every == 0:
            context = replace(context, best_f=context.best_f - margin)
        return make(acquisition, context)

    model.make_acquisition = patched


def look_elsewhere(least: float, margin: float, every: int = 2) -> None:
    """Where little improvement is expected, ask for one by a margin in some of the steps."""
    from botorch.acquisition.analytic import LogExpectedImprovement

    from betabo.acquisition.lean import lean_form
    from betabo.optimizer import core

    maximize = core.maximize

    def patched(acquisition: Any, incumbents: Any, **settings: Any) -> Any:
        found = maximize(acquisition, incumbents, **settings)
        y = acquisition.model.y
        if float(found[1][0]) < math.log(least) and len(y) % every == 0:
            farther = LogExpectedImprovement(acquisition.model, best_f=y.min() - margin, maximize=False)
            found = maximize(lean_form(farther), incumbents, **settings)
        return found

    core.maximize = patched


def improve_on_the_mean() -> None:
    """Compare with the lowest mean at the points evaluated instead of the lowest value."""
    from dataclasses import replace

    import torch

    from betabo.optimizer import model

    make = model.make_acquisition

    def patched(acquisition: Any, context: Any) -> Any:
        with torch.no_grad():
            mean = context.model.posterior(context.X_observed.unsqueeze(-2)).mean
        return make(acquisition, replace(context, best_f=mean.min()))

    model.make_acquisition = patched


def take_values_for_independent() -> None:
    """Choose the power transform as if the values did not depend on each other."""
    from betabo.optimizer import model

    model.covariance_factor = lambda *_: None


PATCHES: dict[str, Callable[[], None]] = {
    "mean": improve_on_the_mean,
    "independent": take_values_for_independent,
    "elsewhere": partial(look_elsewhere, 1e-3, 0.1),
    "elsewhere-early": partial(look_elsewhere, 1e-2, 0.1),
    "elsewhere-far": partial(look_elsewhere, 1e-3, 0.5),
    "turns-beta-rbf": lambda: take_turns(other_kernel("beta-rbf")),
    "turns-rbf": lambda: take_turns(other_kernel("rbf")),
    "turns-matern": lambda: take_turns(other_kernel("matern")),
    "again-4": partial(again_from_the_start, 4),
    "evidence-beta": partial(by_evidence, "beta-matern", "beta"),
    "evidence-matern": partial(by_evidence, "beta-matern", "matern"),
    "evidence-three": partial(by_evidence, "beta-matern", "beta", "matern"),
    "search-4": partial(harder_search, 4, 256),
    "loud": partial(believe_noise, -4.0, 1.0),
    "middle": partial(believe_noise, -6.0, 2.0),
    "quieter": partial(believe_noise, -12.0, 4.0, 1e-8),
    "margin": partial(look_farther, 3, 0.1),
    "scan": partial(scan_lines, 17),
    "lazy": partial(fit_less_often, 0.04),
}
"""What is changed in the optimizer itself for a recipe; each run is a process of its own."""


def run_one(problem: Problem | Classic, recipe: str, seed: int) -> dict[str, Any]:
    """One search: 3 d Sobol points, then as many steps as 20 + 3 d."""
    import torch
    from torch.quasirandom import SobolEngine

    from betabo.bench.optimizers import make_adapter

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
    noise = getattr(problem, "noise", 0.0) * height * np.random.default_rng(seed).standard_normal(1000)
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

    from betabo.bench.optimizers import make_adapter

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
