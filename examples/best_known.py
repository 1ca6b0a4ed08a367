"""The long search behind the best-known values of problems that have no formula.

    python examples/best_known.py svm_cancer-2-centre --evaluations 6000 --seed 0

Differential evolution over the whole box, then Nelder and Mead's simplex from its best point, with a sixth of the
evaluations. It prints the point and the value that `betabo.lab.problems` states, the lowest of several seeds.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.optimize import differential_evolution, minimize

from betabo.lab.problems import problem_by_name

POPULATION = 8  # members for each coordinate


def search(name: str, evaluations: int, seed: int) -> tuple[list[float], float]:
    """The best point, in the problem's own units, and its value."""
    problem = problem_by_name(name)
    objective = problem.objective()
    members = POPULATION * problem.dim
    evolved = differential_evolution(
        objective,
        problem.box,
        popsize=POPULATION,
        maxiter=max(1, 5 * evaluations // 6 // members - 1),
        init="sobol",
        tol=0,
        polish=False,
        rng=np.random.default_rng(seed),
    )
    refined = minimize(
        objective, evolved.x, bounds=problem.box, method="Nelder-Mead", options={"maxfev": evaluations // 6}
    )
    best = refined if refined.fun < evolved.fun else evolved
    return best.x.tolist(), float(best.fun)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem", help="name of the problem, such as svm_cancer-2-centre")
    parser.add_argument("--evaluations", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    point, value = search(arguments.problem, arguments.evaluations, arguments.seed)
    print(f"{value!r} at {point}")
