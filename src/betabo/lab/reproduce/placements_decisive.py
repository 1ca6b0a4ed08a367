"""Table 3: Beta, Matern and RBF near faces and vertices, under several settings, each judged by itself.

See `betabo.lab.reproduce.campaigns.placements_decisive` for the settings.
"""

from __future__ import annotations

from pathlib import Path

import torch
from pandas import DataFrame

from betabo.lab.plots.names import kernel_name
from betabo.lab.problems import problem_by_name
from betabo.lab.reproduce.entry import Claim, Context, Summary
from betabo.lab.reproduce.files import markdown_table
from betabo.lab.reproduce.placements import draw_table

KERNELS = ("beta-paper", "matern", "rbf")

SETTINGS = {
    "calibrated": "the settings nearest to the printed baselines, values as they are, weight 0.2, BoTorch's engine",
    "ours-0.1": "betabo's settings, weight 0.1",
    "ours-1": "betabo's settings, weight 1",
    "ours-4": "betabo's settings, weight 4",
    "tutorial": "BoTorch as its tutorials use it, weight 0.1",
    "no-vertex-starts": "betabo's settings, weight 4, BoTorch's engine, no starts at vertices",
}
"""What the second part of a label means."""


def summarize(context: Context, folder: Path) -> Summary:
    """Draw the runs of a folder, finished or not, and say for each setting whether Beta is ahead."""
    cells, figures = draw_table(context, folder)
    names = cells["kernel"].str.partition("+")
    table = cells.assign(kernel=names[0], settings=names[2])
    lowest = lower_vertices(table)
    context.save_text("vertices.md", markdown(table, lowest))
    return Summary(compare(table), figures | {"value at all lower bounds": lowest})


def compare(table: DataFrame) -> tuple[Claim, ...]:
    """For each setting, whether Beta has the lowest mean on the problems that all three kernels have done.

    Args:
        table: Columns `placement`, `function`, `kernel`, `settings`, `mean`.
    """
    claims = []
    for settings, meaning in SETTINGS.items():
        part = table[table["settings"] == settings]
        wide = part.pivot_table(index=["placement", "function"], columns="kernel", values="mean")
        wide = wide.reindex(columns=list(KERNELS)).dropna()
        if len(wide):
            best = wide.idxmin(axis=1)
            claims.append(
                Claim(
                    f"near faces and vertices Beta is ahead of Matern and RBF, under {meaning}",
                    tuple(bool(kernel == "beta-paper") for kernel in best),
                    f"lowest mean of {len(wide)} problems: "
                    + ", ".join(f"{kernel_name(str(k))} on {f}, {p}" for (p, f), k in best.items()),
                )
            )
    return tuple(claims)


def lower_vertices(table: DataFrame) -> dict[str, float]:
    """Value at the vertex of all lower bounds, where a search that starts at vertices may end, by function."""
    near = table[table["placement"] == "vertex"]
    problems = {
        str(function): problem_by_name(f"{function}-{dims}-vertex")
        for function, dims in near.groupby("function")["dim"].first().items()
    }
    zero = {name: torch.zeros(problem.dim, dtype=torch.float64) for name, problem in problems.items()}
    return {name: round(float(problem.evaluate_unit(zero[name])), 4) for name, problem in problems.items()}


def markdown(table: DataFrame, lowest: dict[str, float]) -> str:
    """The paper's kernel near a vertex beside the value at that vertex."""
    near = table[(table["placement"] == "vertex") & (table["kernel"] == "beta-paper")]
    rows = []
    for settings, part in near.groupby("settings", sort=False):
        means = dict(zip(part["function"], part["mean"], strict=True))
        rows.append([SETTINGS[str(settings)], *(f"{means[f]:.4g}" if f in means else "-" for f in lowest)])
    rows.append(["value at all lower bounds", *(f"{value:.4g}" for value in lowest.values())])
    return "Beta near a vertex, means at the end:\n\n" + markdown_table(["settings", *lowest], rows)
