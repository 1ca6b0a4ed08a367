"""How local steps are best fitted, from the searches that are kept.

The recipes are those of `docs/experiments.md`; the searches are in `docs/results/local-fits.parquet`, in batches in
which every recipe searches the same problems. Given is the geometric mean of the regret relative to the base's on the
same problem and seed, with a 95 % bootstrap interval over the runs and their number, after several numbers of
evaluations a coordinate. A regret below 1e-8 counts as 1e-8.

    python examples/experiments/local_fits.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from local_models import cell

RUNS = Path(__file__).parents[2] / "docs" / "results" / "local-fits.parquet"
BASES = ("the default before", "likeliest of a few, lowest mean")
COLUMNS = {2: (5, 10, 15), 5: (5, 10, 15, 50)}
_FEWEST, _SOLVED = 5, 1e-8


def logarithms(dims: int, after: int) -> pd.DataFrame:
    """Logarithms of the regret after so many evaluations a coordinate: a row a run, a column a recipe."""
    runs = pd.read_parquet(RUNS)
    runs = runs[(runs["dims"] == dims) & (runs["budget"] >= after * dims)].copy()
    found = [
        regret[np.searchsorted(at, after * dims, side="right") - 1]
        for at, regret in zip(runs["evaluation"], runs["regret"], strict=True)
    ]
    runs["log"] = np.log(np.maximum(found, _SOLVED))
    return runs.pivot_table(index=["batch", "problem", "seed"], columns="recipe", values="log")


def rows(base: str) -> list[list[str]]:
    """The table of the recipes that were compared with a base, its head first."""
    tables = {(dims, after): logarithms(dims, after) for dims, all_after in COLUMNS.items() for after in all_after}
    recipes = sorted({name for table in tables.values() if base in table for name in table.columns} - {base})
    lines = [["recipe", *(f"sbox-{dims}, {after} d" for dims, after in tables)]]
    for recipe in recipes:
        cells = []
        for table in tables.values():
            both = table.columns.isin([recipe, base]).sum() == 2
            logs = (table[recipe] - table[base]).dropna().to_numpy() if both else np.empty(0)
            cells.append(cell(logs) if len(logs) >= _FEWEST else "")
        if any(cells) and not (base == BASES[1] and _is_compared_with_first(recipe)):
            lines.append([recipe, *cells])
    return lines


def _is_compared_with_first(recipe: str) -> bool:
    """Whether a recipe stands in the first table already; but the one that was taken stands in both."""
    return not recipe.startswith(BASES[1])


def main() -> None:
    """Print the tables."""
    for base in BASES:
        head, *lines = rows(base)
        print(f"Relative to {base}\n\n| {' | '.join(head)} |\n" + "|---" * len(head) + "|")
        for line in lines:
            print(f"| {' | '.join(line)} |")
        print()


if __name__ == "__main__":
    main()
