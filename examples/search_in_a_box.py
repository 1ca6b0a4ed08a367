"""Draw a search whose best point lies on a face of the box, beside the same search with a plain Matern kernel.

python examples/search_in_a_box.py                 # draw docs/images/search.png from the stored searches
python examples/search_in_a_box.py --again         # search again first, ten seeds with each kernel
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from betabo import minimize

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "docs" / "results" / "search-in-a-box.csv"
PICTURE = ROOT / "docs" / "images" / "search.png"
BOUNDS = [(-2.0, 1.0), (-1.0, 3.0)]
BEST = (1.0, 1.0)  # on the upper bound of the first coordinate
KERNELS = {"beta-additive": "betabo", "matern": "the same with a Matérn kernel"}
BUDGET, SEEDS, SNAPSHOTS = 40, 10, (10, 20, 40)
COLOURS = {"beta-additive": "#1f6feb", "matern": "#d97706"}


def valley(x: tuple[float, float]) -> float:
    """Rosenbrock's function: a bent valley, whose lowest point is where the box ends."""
    return float(100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2)


def searches() -> pd.DataFrame:
    """Every evaluation of every search: kernel, seed, evaluation, point, value."""
    rows = []
    for kernel in KERNELS:
        for seed in range(SEEDS):
            result = minimize(valley, bounds=BOUNDS, budget=BUDGET, seed=seed, kernel=kernel)
            for number, row in enumerate(result.rows()):
                rows.append((kernel, seed, number, row["x0"], row["x1"], row["value"]))
            print(f"{kernel}, seed {seed}: {result.fun:.2g}", flush=True)
    return pd.DataFrame(rows, columns=["kernel", "seed", "evaluation", "x0", "x1", "value"])


def best_so_far(runs: pd.DataFrame, kernel: str) -> pd.DataFrame:
    """The best value after each evaluation, a column a seed."""
    table = runs[runs.kernel == kernel].pivot_table(index="evaluation", columns="seed", values="value")
    return table.cummin()


def typical_seed(runs: pd.DataFrame) -> int:
    """The seed with which betabo ends nearest to its own median."""
    ends = best_so_far(runs, "beta-additive").iloc[-1]
    return int((np.log(ends) - np.log(ends.median())).abs().idxmin())


def draw(runs: pd.DataFrame) -> Figure:
    """Three moments of one search with each kernel, and the best values of all."""
    figure = Figure(figsize=(12, 5.4), layout="constrained")
    grid = figure.add_gridspec(2, 4, width_ratios=[1, 1, 1, 1.45])
    seed = typical_seed(runs)
    for row, (kernel, label) in enumerate(KERNELS.items()):
        search = runs[(runs.kernel == kernel) & (runs.seed == seed)].sort_values("evaluation")
        for column, count in enumerate(SNAPSHOTS):
            axes = figure.add_subplot(grid[row, column])
            _box(axes, search.head(count), COLOURS[kernel])
            axes.set_title(f"{label}\n" if column == 0 else f"after {count}\n", fontsize=11, loc="left")
            axes.set_title(f"{label}, after {count}" if column == 0 else f"after {count}", fontsize=10, loc="left")
    _ends(figure.add_subplot(grid[:, 3]), runs)
    return figure


def _box(axes: Axes, search: pd.DataFrame, colour: str) -> None:
    x, y = np.meshgrid(np.linspace(*BOUNDS[0], 200), np.linspace(*BOUNDS[1], 200))
    axes.contourf(x, y, np.log10(100 * (y - x**2) ** 2 + (1 - x) ** 2 + 1e-3), levels=18, cmap="Greys_r", alpha=0.85)
    axes.scatter(search.x0, search.x1, s=22, color=colour, edgecolors="white", linewidths=0.7, clip_on=False, zorder=3)
    axes.scatter(*BEST, marker="*", s=130, color="#e11d48", edgecolors="white", linewidths=0.8, clip_on=False, zorder=4)
    axes.set(xlim=BOUNDS[0], ylim=BOUNDS[1], xticks=[], yticks=[])


def _ends(axes: Axes, runs: pd.DataFrame) -> None:
    for kernel, label in KERNELS.items():
        best = best_so_far(runs, kernel)
        axes.plot(best.index + 1, best.median(axis=1), color=COLOURS[kernel], linewidth=2.2, label=label)
        low, high = best.quantile(0.25, axis=1), best.quantile(0.75, axis=1)
        axes.fill_between(best.index + 1, low, high, color=COLOURS[kernel], alpha=0.18, linewidth=0)
    axes.set(yscale="log", xlabel="evaluations", title=f"best value so far, {SEEDS} seeds")
    axes.legend(frameon=False, fontsize=9, loc="lower left")
    axes.grid(alpha=0.25)


def main() -> None:
    """Draw the picture, from new searches if asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--again", action="store_true", help="search again, and replace the stored searches")
    parser.add_argument("--out", type=Path, default=PICTURE, help="where the picture goes")
    arguments = parser.parse_args()
    if arguments.again:
        searches().to_csv(RUNS, index=False, float_format="%.10g")
    draw(pd.read_csv(RUNS)).savefig(arguments.out, dpi=110)


if __name__ == "__main__":
    main()
