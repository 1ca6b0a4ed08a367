"""What steps near the best point are worth, from the searches that are kept in `docs/results/local-steps.parquet`.

The recipes are ways to choose between a step of the global model and one near the best point; `docs/experiments.md`
says what they are. Given is the geometric mean of the regret relative to the global model alone, on the same problem
and seed, with a 95 % bootstrap interval over the runs.

    python examples/experiments/turns.py
"""

from __future__ import annotations

from math import exp
from pathlib import Path

import numpy as np
import pandas as pd

RUNS = Path(__file__).parents[2] / "docs" / "results" / "local-steps.parquet"
GROUPS = ("sbox-2", "sbox-3", "sbox-5", "sbox-10", "moved")
BASE = "global"
_SOLVED = {"sbox": 1e-3, "moved": 1e-5}  # regret that counts as solved; of moved problems, relative to the start's


def ratios(batch: int) -> dict[str, dict[str, np.ndarray]]:
    """Logarithms of the regret relative to the global model's, by recipe and group of problems.

    Args:
        batch: Which of the two batches of searches; each has its own runs of the global model.
    """
    runs = pd.read_parquet(RUNS)
    runs = runs[runs["batch"] == batch].copy()
    sbox = runs["problem"].str.startswith("sbox")
    runs["group"] = np.where(sbox, "sbox-" + runs["dims"].astype(str), "moved")
    floor = np.where(sbox, _SOLVED["sbox"], _SOLVED["moved"] * runs["start"])
    runs["regret"] = np.log(np.maximum([curve[-1] for curve in runs["curve"]], floor))
    table = runs.pivot_table(index=["group", "problem", "seed"], columns="recipe", values="regret")
    found: dict[str, dict[str, np.ndarray]] = {}
    for recipe in table.columns:
        by_group = (table[recipe] - table[BASE]).dropna().groupby("group")
        found[recipe] = {str(group): some.to_numpy() for group, some in by_group}
    return found


def cell(logs: np.ndarray) -> str:
    """The geometric mean and its interval."""
    means = np.random.default_rng(0).choice(logs, (2000, len(logs))).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{exp(logs.mean()):.2f} [{exp(low):.2f}, {exp(high):.2f}]"


def main() -> None:
    """Print both tables."""
    for batch in (1, 2):
        found = ratios(batch)
        groups = [group for group in GROUPS if any(group in by_group for by_group in found.values())]
        print(f"| {batch} | {' | '.join(groups)} |")
        print("|---" * (len(groups) + 1) + "|")
        for recipe, by_group in found.items():
            cells = [cell(by_group[group]) if group in by_group else "" for group in groups]
            print(f"| {recipe} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
