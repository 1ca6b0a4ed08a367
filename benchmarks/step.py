"""Time of one step of a search, fit and acquisition together, against BoTorch's default loop and Optuna's GPSampler.

Each optimizer is given the same `n` evaluations of Levy's function and asked for the next point, several times in a
row, each time with its last proposal evaluated and added, as in a search. The contenders take turns, so that whatever
else the machine does hits all of them alike. Threads are those that a user gets who sets nothing. The first step
includes what warms up, and is given by itself; the others as their mean, since steps of one search may be of two kinds.

    python benchmarks/step.py --cases 5x50 20x140
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt
import optuna
import torch
from botorch.test_functions import Levy
from botorch_default import next_point

from betabo import Optimizer
from betabo.files import write_text

Points = npt.NDArray[np.float64]
Step = Callable[[Points, Points], Points]
"""One step: all points and values so far in, the next point of the unit cube out."""


def betabo_step(dims: int, **settings: Any) -> Step:
    """Our step, as `Optimizer` takes it; what it knows is told on the first call."""
    search = Optimizer([(0, 1)] * dims, seed=0, **settings)
    told = 0

    def step(x: Points, y: Points) -> Points:
        nonlocal told
        for point, value in zip(x[told:], y[told:], strict=True):
            search.tell(point, float(value))
        told = len(y)
        return np.asarray(search.ask())

    return step


def botorch_step() -> Step:
    """BoTorch's default loop."""
    return lambda x, y: next_point(torch.from_numpy(x), torch.from_numpy(y)).numpy()


def optuna_step() -> Step:
    """Optuna's GPSampler for a deterministic objective; its study is filled on the first call."""
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=0, deterministic_objective=True))
    told = 0

    def step(x: Points, y: Points) -> Points:
        nonlocal told
        space = {f"x{i}": optuna.distributions.FloatDistribution(0, 1) for i in range(x.shape[1])}
        for point, value in zip(x[told:], y[told:], strict=True):
            parameters = {f"x{i}": float(v) for i, v in enumerate(point)}
            study.add_trial(optuna.create_trial(params=parameters, distributions=space, value=float(value)))
        told = len(y)
        trial = study.ask(space)
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return np.array([trial.params[f"x{i}"] for i in range(x.shape[1])])

    return step


def measure(n: int, dims: int, kernels: list[str], steps: int) -> dict[str, list[float]]:
    """Seconds of each step of each contender, the first one included."""
    contenders = {"betabo": betabo_step(dims), "betabo, global": betabo_step(dims, local_steps=False)}
    contenders |= {f"betabo {kernel}": betabo_step(dims, kernel=kernel) for kernel in kernels}
    contenders |= {"BoTorch default": botorch_step(), "Optuna GPSampler": optuna_step()}
    levy = Levy(dim=dims)

    def objective(points: Points) -> Points:
        return levy(torch.from_numpy(-10 + 20 * points)).numpy()

    start = np.random.default_rng(0).random((n, dims))
    data = {name: (start, objective(start)) for name in contenders}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(steps + 1):
        for name, step in contenders.items():
            x, y = data[name]
            began = time.perf_counter()
            point = step(x, y)
            seconds[name].append(time.perf_counter() - began)
            data[name] = (np.vstack([x, point]), np.append(y, objective(point[None])))
    return seconds


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--cases", nargs="+", default=["5x50", "20x140"], help="dimensions x evaluations known (default: 5x50 20x140)"
    )
    parser.add_argument("--kernels", nargs="*", default=[], help="our kernels, besides the default")
    parser.add_argument("--steps", type=int, default=10, help="steps timed after the first (default: 10)")
    parser.add_argument("--threads", type=int, help="torch's threads (default: what torch chooses)")
    parser.add_argument("--out", type=Path, default=Path("out/bench/step.json"), help="where the raw times go")
    arguments = parser.parse_args()
    if arguments.threads is not None:
        torch.set_num_threads(arguments.threads)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")

    results = []
    names: list[str] = []
    for case in arguments.cases:
        dims, n = map(int, case.split("x"))
        seconds = measure(n, dims, arguments.kernels, arguments.steps)
        results.append({"n": n, "dims": dims, "seconds": seconds})
        if not names:
            names = list(seconds)
            print(f"| d | n | step | {' | '.join(names)} | betabo / BoTorch | betabo / GPSampler |")
            print("|" + "---:|" * (len(names) + 5))
        for kind, some in (("first", slice(0, 1)), ("later", slice(1, None))):
            means = [fmean(seconds[name][some]) for name in names]
            cells = [f"{mean:.3f} s" for mean in means] + [f"{means[0] / means[i]:.2f}" for i in (-2, -1)]
            print(f"| {dims} | {n} | {kind} | {' | '.join(cells)} |", flush=True)
        record = {
            "results": results,
            "threads": torch.get_num_threads(),
            "versions": {name: version(name) for name in ("betabo", "torch", "botorch", "gpytorch", "optuna")},
            "python": platform.python_version(),
            "load": os.getloadavg(),
        }
        write_text(arguments.out, json.dumps(record, indent=1), parents=True)


if __name__ == "__main__":
    main()
