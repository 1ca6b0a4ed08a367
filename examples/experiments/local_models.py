"""What other models and other rules for steps near the best point are worth, from the searches that are kept.

The recipes are those of `docs/experiments.md`; the searches are in `docs/results/local-models.parquet`. Given is the
geometric mean of the regret relative to the default's on the same problem and seed, with a 95 % bootstrap interval over
the runs, after 5 d and after 15 d evaluations. What takes local steps alone is compared with what does so as the
default does.

    python examples/experiments/local_models.py
"""

from __future__ import annotations

from math import exp
from pathlib import Path

import numpy as np
import pandas as pd

RUNS = Path(__file__).parents[2] / "docs" / "results" / "local-models.parquet"
GROUPS = ("sbox-2", "sbox-3", "sbox-5", "sbox-10", "moved-4")
BASES = {"all": "the default", "local alone": "local alone"}
AFTER = (5, 15)
_FEWEST = 6  # runs of a cell
_SOLVED, _SOLVED_MOVED = 1e-8, 1e-4  # regret that counts as solved; of moved problems, relative to the start's


def regrets(after: int) -> pd.DataFrame:
    """Logarithms of the regret after so many evaluations a coordinate: a row a run, a column a recipe."""
    runs = pd.read_parquet(RUNS)
    runs = runs[~runs["problem"].str.startswith("vertex")].copy()
    sbox = runs["problem"].str.startswith("sbox")
    runs["group"] = np.where(sbox, "sbox-", "moved-") + runs["dims"].astype(str)
    found = [
        regret[np.searchsorted(at, after * dims, side="right") - 1]
        for at, regret, dims in zip(runs["evaluation"], runs["regret"], runs["dims"], strict=True)
    ]
    runs["log"] = np.log(np.maximum(found, np.where(sbox, _SOLVED, _SOLVED_MOVED * runs["start"])))
    return runs.pivot_table(index=["group", "problem", "seed"], columns="recipe", values="log")


def rows(family: str) -> list[list[str]]:
    """The table of the recipes that are compared with the same base, without its head."""
    base = BASES[family]
    tables = {after: regrets(after) for after in AFTER}
    names = [name for name in tables[AFTER[0]].columns if name.startswith("local alone") == (base == "local alone")]
    lines = []
    for name in (name for name in names if name != base):
        cells = []
        for group in GROUPS:
            for table in tables.values():
                part = table[table.index.get_level_values("group") == group]
                logs = (part[name] - part[base]).dropna().to_numpy()
                cells.append(cell(logs) if len(logs) >= _FEWEST else "")
        if any(cells):
            lines.append([name, *cells])
    kept = [i for i in range(len(lines[0])) if any(line[i] for line in lines)]
    head = ["recipe", *(f"{group}, {after} d" for group in GROUPS for after in AFTER)]
    return [[line[i] for i in kept] for line in [head, *lines]]


def cell(logs: np.ndarray) -> str:
    """The geometric mean, its interval and the number of runs."""
    means = np.random.default_rng(0).choice(logs, (2000, len(logs))).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{exp(logs.mean()):.2f} [{exp(low):.2f}, {exp(high):.2f}] {len(logs)}"


def vertex() -> pd.DataFrame:
    """The lowest value on Rosenbrock's function in a box that ends at its optimum, by problem, recipe and seed."""
    runs = pd.read_parquet(RUNS)
    runs = runs[runs["problem"].str.startswith("vertex")]
    return runs.assign(lowest=[curve[-1] for curve in runs["regret"]])[["problem", "recipe", "seed", "lowest"]]


def main() -> None:
    """Print the tables."""
    for family in BASES:
        head, *lines = rows(family)
        print(f"| {' | '.join(head)} |")
        print("|---" * len(head) + "|")
        for line in lines:
            print(f"| {' | '.join(line)} |")
        print()
    print(vertex().to_string(index=False))


if __name__ == "__main__":
    main()
