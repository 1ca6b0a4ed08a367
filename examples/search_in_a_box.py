"""Draw a search whose best point lies near a face of the box, beside the same search with a plain Matern kernel.

python examples/search_in_a_box.py                 # draw docs/images/search.png from the stored searches
python examples/search_in_a_box.py --again         # search again first, ten seeds with each kernel
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from betabo import minimize
from betabo.lab.problems import problem_by_name

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "docs" / "results" / "search-in-a-box.csv"
PICTURE = ROOT / "docs" / "images" / "search.png"
DRAWN, BESIDE = "branin near a face", "rosenbrock up to a face"
KERNELS = {"beta-additive": "betabo", "matern": "plain Matérn kernel"}
BUDGET, SEEDS, SNAPSHOTS = 30, 10, (10, 20, 30)
COLOURS = {"beta-additive": "#1f6feb", "matern": "#d97706"}


def functions() -> dict[str, tuple[Callable[[npt.NDArray[np.float64]], float], list[tuple[float, float]], float]]:
    """Each function with its box and its lowest value."""
    branin = problem_by_name("branin-2-face")

    def rosenbrock(x: npt.NDArray[np.float64]) -> float:
        return float(100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2)

    return {
        DRAWN: (branin.objective(0), branin.box, float(branin.optimal_value)),
        BESIDE: (rosenbrock, [(-2.0, 1.0), (-1.0, 3.0)], 0.0),
    }


def searches() -> pd.DataFrame:
    """Every evaluation of every search: function, kernel, seed, evaluation, point, and value above the lowest."""
    rows = []
    for name, (function, box, lowest) in functions().items():
        for kernel in KERNELS:
            for seed in range(SEEDS):
                result = minimize(function, bounds=box, budget=BUDGET, seed=seed, kernel=kernel)
                rows += [
                    (name, kernel, seed, number, row["x0"], row["x1"], row["value"] - lowest)
                    for number, row in enumerate(result.rows())
                ]
                print(f"{name}, {kernel}, seed {seed}: {result.fun - lowest:.2g}", flush=True)
    return pd.DataFrame(rows, columns=["function", "kernel", "seed", "evaluation", "x0", "x1", "regret"])


def best_so_far(runs: pd.DataFrame, kernel: str, function: str = DRAWN) -> pd.DataFrame:
    """The least regret after each evaluation, a column a seed."""
    chosen = runs[(runs.kernel == kernel) & (runs.function == function)]
    return chosen.pivot_table(index="evaluation", columns="seed", values="regret").cummin()


def medians(runs: pd.DataFrame) -> pd.DataFrame:
    """The median over seeds of the regret at the end, a row a function, a column a kernel."""
    ends = {
        kernel: {name: best_so_far(runs, kernel, name).iloc[-1].median() for name in (DRAWN, BESIDE)}
        for kernel in KERNELS
    }
    return pd.DataFrame(ends)


def typical_seed(runs: pd.DataFrame) -> int:
    """The seed with which betabo ends nearest to its median."""
    ends = best_so_far(runs, "beta-additive").iloc[-1]
    return int((np.log(ends) - np.log(ends.median())).abs().idxmin())


def draw(runs: pd.DataFrame) -> Figure:
    """Three moments of one search with each kernel, and how near all of them came."""
    figure = Figure(figsize=(12, 5.2), layout="constrained", facecolor="white")
    grid = figure.add_gridspec(2, 4, width_ratios=[1, 1, 1, 1.5])
    seed = typical_seed(runs)
    for row, (kernel, label) in enumerate(KERNELS.items()):
        chosen = (runs.function == DRAWN) & (runs.kernel == kernel) & (runs.seed == seed)
        search = runs[chosen].sort_values("evaluation")
        for column, count in enumerate(SNAPSHOTS):
            axes = figure.add_subplot(grid[row, column])
            _box(axes, search.head(count), COLOURS[kernel])
            best = search.head(count).regret.min()
            axes.set_title(f"after {count}: {best:.2g} above the lowest", fontsize=9.5, loc="left")
            if column == 0:
                axes.set_ylabel(label, fontsize=12, fontweight="bold", color=COLOURS[kernel])
    _ends(figure.add_subplot(grid[:, 3]), runs)
    return figure


def _box(axes: Axes, search: pd.DataFrame, colour: str) -> None:
    branin = problem_by_name("branin-2-face")
    (left, right), (bottom, top) = branin.box
    x, y = np.meshgrid(np.linspace(left, right, 150), np.linspace(bottom, top, 150))
    points = torch.from_numpy(np.stack([x, y], axis=-1))
    height = branin(points, noise=False).numpy() - float(branin.optimal_value)
    axes.contourf(x, y, np.log10(height + 0.1), levels=20, cmap="Greys_r", alpha=0.85)
    axes.scatter(search.x0, search.x1, s=24, color=colour, edgecolors="white", linewidths=0.7, clip_on=False, zorder=3)
    for best in branin.optimizers.tolist():
        axes.scatter(*best, marker="*", s=150, color="#e11d48", edgecolors="white", clip_on=False, zorder=2.5)
    axes.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[])


def _ends(axes: Axes, runs: pd.DataFrame) -> None:
    for kernel, label in KERNELS.items():
        best = best_so_far(runs, kernel)
        axes.plot(best.index + 1, best.median(axis=1), color=COLOURS[kernel], linewidth=2.4, label=label)
        low, high = best.quantile(0.25, axis=1), best.quantile(0.75, axis=1)
        axes.fill_between(best.index + 1, low, high, color=COLOURS[kernel], alpha=0.18, linewidth=0)
    axes.set(yscale="log", xlabel="evaluations", ylabel="above the lowest value")
    axes.set_title(f"best so far: median and half of {SEEDS} seeds", fontsize=9.5, loc="left")
    axes.legend(frameon=False, loc="lower left")
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
