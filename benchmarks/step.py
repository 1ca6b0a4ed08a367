"""Time of one step of a search, fit and acquisition together, against BoTorch's default loop and Optuna's GPSampler.

Each optimizer is given the same `n` evaluations of Levy's function and asked for the next point, several times in a
row, each time with its last proposal evaluated and added, as in a search. The contenders take turns, so that whatever
else the machine does hits all of them alike. The first step is left out: it includes what warms up.

    python benchmarks/step.py --sizes 100 300 --dims 6 20 --kernels beta-matern beta
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
from statistics import median

import numpy as np
import numpy.typing as npt
import optuna
import torch
from botorch.test_functions import Levy
from botorch_default import next_point

from betabo.optimizer import Config, Data, propose

Points = npt.NDArray[np.float64]
Step = Callable[[Points, Points], Points]
"""One step: all points and values so far in, the next point of the unit cube out."""


def betabo_step(kernel: str) -> Step:
    """Our step, started from the last fit."""
    config, states = Config(kernel=kernel, starting_points=1), ()

    def step(x: Points, y: Points) -> Points:
        nonlocal states
        none = np.zeros((0, x.shape[1]))
        proposal = propose(Data(x, y, none, none), config, states=states)
        states = proposal.states
        return proposal.points[0]

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
    """Seconds of each step of each contender, the first left out."""
    contenders = {f"betabo {kernel}": betabo_step(kernel) for kernel in kernels}
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
    return {name: values[1:] for name, values in seconds.items()}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300], help="evaluations known (default: 100 300)")
    parser.add_argument("--dims", type=int, nargs="+", default=[6, 20], help="dimensions (default: 6 20)")
    parser.add_argument("--kernels", nargs="+", default=["beta-matern", "beta"], help="our kernels")
    parser.add_argument("--steps", type=int, default=6, help="steps timed (default: 6)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default: 1)")
    parser.add_argument("--out", type=Path, default=Path("out/bench/step.json"), help="where the raw times go")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")

    results = []
    names: list[str] = []
    for n in arguments.sizes:
        for dims in arguments.dims:
            seconds = measure(n, dims, arguments.kernels, arguments.steps)
            results.append({"n": n, "dims": dims, "seconds": seconds})
            if not names:
                names = list(seconds)
                print(f"| n | d | {' | '.join(names)} | first / BoTorch | first / GPSampler |")
                print("|" + "---:|" * (len(names) + 4))
            medians = [median(seconds[name]) for name in names]
            ratios = [medians[0] / medians[-2], medians[0] / medians[-1]]
            cells = [f"{m:.2f} s" for m in medians] + [f"{r:.2f}" for r in ratios]
            print(f"| {n} | {dims} | {' | '.join(cells)} |", flush=True)
            arguments.out.parent.mkdir(parents=True, exist_ok=True)
            record = {
                "results": results,
                "threads": arguments.threads,
                "versions": {name: version(name) for name in ("betabo", "torch", "botorch", "gpytorch", "optuna")},
                "python": platform.python_version(),
                "load": os.getloadavg(),
            }
            partial = arguments.out.with_suffix(".partial")
            partial.write_text(json.dumps(record, indent=1))
            partial.replace(arguments.out)


if __name__ == "__main__":
    main()
