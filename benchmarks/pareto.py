"""Several objectives: the hypervolume that samplers of Optuna reach.

    python benchmarks/pareto.py --seeds 5

Problems are BoTorch's: ZDT1 and ZDT2 in 5 dimensions, whose fronts lie on faces of the box, DTLZ2 in the
interior, C2-DTLZ2 with a constraint, and Branin-Currin. The hypervolume is relative to the largest known.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import optuna
import torch
from botorch.test_functions.base import ConstrainedBaseTestProblem, MultiObjectiveTestProblem
from botorch.test_functions.multi_objective import C2DTLZ2, DTLZ2, ZDT1, ZDT2, BraninCurrin
from botorch.utils.multi_objective.hypervolume import Hypervolume
from botorch.utils.multi_objective.pareto import is_non_dominated
from optuna.samplers import BaseSampler, GPSampler, NSGAIISampler, TPESampler

from betabo.optuna import BetaSampler

SAMPLERS: dict[str, Callable[[int], BaseSampler]] = {
    "betabo": lambda seed: BetaSampler(seed=seed, starting_points=10),
    "GPSampler": lambda seed: GPSampler(seed=seed, n_startup_trials=10, deterministic_objective=True),
    "TPE": lambda seed: TPESampler(seed=seed),
    "NSGA-II": lambda seed: NSGAIISampler(seed=seed),
}
PROBLEMS: dict[str, Callable[[], MultiObjectiveTestProblem]] = {
    "ZDT1, d = 5": lambda: ZDT1(5),
    "ZDT2, d = 5": lambda: ZDT2(5),
    "DTLZ2, d = 4": lambda: DTLZ2(4),
    "C2-DTLZ2, d = 4, 1 constraint": lambda: C2DTLZ2(4),
    "Branin-Currin, d = 2": lambda: BraninCurrin(),
}


def hypervolume(problem: MultiObjectiveTestProblem, sampler: BaseSampler, trials: int) -> float:
    """Hypervolume of the feasible front after a number of trials."""
    low, high = problem.bounds.double()
    reference = torch.as_tensor(problem.ref_point, dtype=torch.float64)
    constrained = isinstance(problem, ConstrainedBaseTestProblem)

    def objective(trial: optuna.Trial) -> list[float]:
        point = [
            trial.suggest_float(f"x{i}", float(a), float(b)) for i, (a, b) in enumerate(zip(low, high, strict=True))
        ]
        x = torch.tensor([point], dtype=torch.float64)
        if constrained:
            for i, slack in enumerate(problem.evaluate_slack_true(x)[0].tolist()):
                trial.set_constraint(str(i), -slack)
        return problem.evaluate_true(x)[0].tolist()

    study = optuna.create_study(directions=["minimize"] * problem.num_objectives, sampler=sampler)
    study.optimize(objective, n_trials=trials)
    feasible = [trial.values for trial in study.trials if all(c <= 0 for c in trial.constraints.values())]
    if not feasible:
        return 0.0
    values = -torch.tensor(feasible, dtype=torch.float64)
    return Hypervolume(-reference).compute(values[is_non_dominated(values)])


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=50)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    print(f"Share of the largest known hypervolume after {arguments.trials} trials, mean over {arguments.seeds} seeds")
    print(f"{'':32}" + "".join(f"{name:>18}" for name in SAMPLERS), flush=True)
    for name, make in PROBLEMS.items():
        problem = make()
        print(f"{name:32}", end="", flush=True)
        for sampler in SAMPLERS.values():
            began = time.perf_counter()
            volumes = [hypervolume(problem, sampler(seed), arguments.trials) for seed in range(arguments.seeds)]
            share, seconds = np.array(volumes) / problem.max_hv, (time.perf_counter() - began) / arguments.seeds
            error = share.std(ddof=1) / np.sqrt(len(share)) if len(share) > 1 else np.nan
            print(f"{share.mean():9.3f}±{error:.3f} {seconds:2.0f}s", end="", flush=True)
        print()


if __name__ == "__main__":
    main()
