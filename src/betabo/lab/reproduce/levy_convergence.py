"""Figure 5: Levy in 4 and 8 dimensions, Matern against Beta: best value and distance to the boundary by iteration.

The paper does not say its weight of the confidence bound, so that each of its claims is judged under several. For the
other settings see `betabo.lab.reproduce.campaigns`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from pandas import DataFrame

from betabo.lab.bench.results import read_results
from betabo.lab.plots.curves import draw_convergence_and_distance
from betabo.lab.plots.names import kernel_name
from betabo.lab.reproduce.entry import Claim, Context, Summary
from betabo.lab.reproduce.files import markdown_table

KERNELS = ("matern", "beta-paper")
_CASE = ["dim", "weight", "kernel"]
# The paper reads its figure by eye and gives no numbers: these are chosen here.
EARLY = 0.2
"""Share of the iterations that counts as early."""

NEAR = 0.1
"""Distance to the boundary below which a point is near it."""

SATURATED = 0.9
"""Share of the iterations near the boundary from which there is no room for more of them."""

WINDOW = 10
"""Iterations over which distances are averaged in the figure."""


def summarize(context: Context, folder: Path) -> Summary:
    """Draw the runs of a folder, finished or not, and measure what the paper reads off its figure."""
    steps = read_steps(folder)
    best = curves(steps, "best")
    runs = [*_CASE, "seed"]
    smooth = steps.groupby(runs, sort=False)["boundary distance"].rolling(WINDOW, min_periods=1).mean()
    distance = curves(steps.assign(smooth=smooth.reset_index(runs, drop=True)), "smooth")
    measures = pd.DataFrame(
        [dict(zip(runs, key, strict=True)) | measure(part) for key, part in steps.groupby(runs, sort=False)]
    )
    means = measures.drop(columns="seed").groupby(_CASE, sort=False).mean()
    counts = measures.groupby(_CASE, sort=False).size()
    context.save_table("best", best)
    context.save_table("distance", distance)
    context.save_table("measures", measures)
    context.save_text("table.md", markdown(means, counts))
    context.save_figure("levy-convergence", draw_convergence_and_distance(best, distance))
    figures = {
        f"d = {d}, weight {weight:g}, {kernel}": {"seeds": int(counts[d, weight, kernel])}
        | {str(k): float(f"{v:.4g}") for k, v in row.items()}
        for (d, weight, kernel), row in means.iterrows()
    }
    return Summary(compare(means), figures)


def read_steps(folder: Path) -> DataFrame:
    """All iterations: `dim`, `weight`, `kernel`, `seed`, `iteration` from 1, `best`, `boundary distance`."""
    results = read_results(folder, columns=["origin", "boundary_distance"])
    results = results[results["origin"] == "model"]
    names = results["optimizer"].astype(str).str.split("+", expand=True)
    table = pd.DataFrame(
        {
            "dim": results["dim"],
            "weight": names[1].astype(float),
            "kernel": pd.Categorical(names[0], KERNELS),
            "seed": results["seed"],
            "iteration": results["evaluation"] - results["starting_points"],
            "best": results["best"],
            "boundary distance": results["boundary_distance"],
        }
    )
    table = table.sort_values([*_CASE, "seed", "iteration"], ignore_index=True)
    return table.astype({"kernel": str})


def curves(steps: DataFrame, column: str) -> DataFrame:
    """Mean and standard error over the seeds by `dim`, `weight`, `kernel` and `iteration`."""
    groups = steps.groupby([*_CASE, "iteration"], sort=False)[column]
    return groups.agg(mean="mean", standard_error="sem", seeds="size").reset_index()


def measure(steps: DataFrame) -> dict[str, float]:
    """One run: best values early and at the end, how near the boundary its points lie, and how many of them do."""
    early = steps["iteration"] <= np.ceil(EARLY * steps["iteration"].max())
    return {
        "best early": float(steps.loc[early, "best"].mean()),
        "best at the end": float(steps["best"].iloc[-1]),
        "boundary distance": float(steps["boundary distance"].mean()),
        "iterations near the boundary": float((steps["boundary distance"] < NEAR).sum()),
        "iterations": float(len(steps)),
    }


def compare(means: DataFrame) -> tuple[Claim, ...]:
    """The paper's claims under each weight, measured where both kernels have runs."""
    return tuple(
        claim
        for weight in means.index.unique("weight").sort_values()
        for claim in compare_under(means.xs(weight, level="weight"), weight)
    )


def compare_under(means: DataFrame, weight: float) -> tuple[Claim, ...]:
    """The paper's claims under one weight.

    Args:
        means: Measures by `dim` and `kernel`.
        weight: Weight of the confidence bound.
    """
    dims = [d for d in means.index.unique("dim") if {(d, k) for k in KERNELS} <= set(means.index)]
    if not dims:
        return ()
    early, end = means["best early"], means["best at the end"]
    distance, near = means["boundary distance"], means["iterations near the boundary"]
    under = f"with weight {weight:g}, "
    claims = [
        Claim(
            under + "Matern is ahead in the early iterations",
            tuple(bool(early[d, "matern"] < early[d, "beta-paper"]) for d in dims),
            f"mean best value of the first {EARLY:.0%} of the iterations: " + _pairs(early, dims),
        ),
        Claim(
            under + "Beta catches up in the later stages",
            tuple(bool(end[d, "beta-paper"] <= end[d, "matern"]) for d in dims),
            "best value at the end: " + _pairs(end, dims),
        ),
        Claim(
            under + "Beta evaluates points nearer to the boundary",
            tuple(bool(distance[d, "beta-paper"] < distance[d, "matern"]) for d in dims),
            "mean normalized distance: " + _pairs(distance, dims),
        ),
    ]
    if len(dims) > 1:
        few, many = near[min(dims), "beta-paper"], near[max(dims), "beta-paper"]
        most = means["iterations"][min(dims), "beta-paper"]
        claims.append(
            Claim(
                under + "the more dimensions, the more iterations go into exploring the boundary",
                (bool(many > few), bool(many > few and few < SATURATED * most)),
                f"Beta has {few:.0f} of {most:.0f} points nearer than {NEAR} in {min(dims)} dimensions, {many:.0f} in "
                f"{max(dims)}; above {SATURATED:.0%} there is no room for more",
            )
        )
    return tuple(claims)


def markdown(means: DataFrame, counts: pd.Series) -> str:
    """The measures for people."""
    rows = [
        [f"{d}, {weight:g}, {kernel_name(kernel)}", str(counts[d, weight, kernel]), *(f"{value:.3g}" for value in row)]
        for (d, weight, kernel), row in means.iterrows()
    ]
    return markdown_table(["dimensions, weight, kernel", "seeds", *map(str, means.columns)], rows)


def _pairs(values: pd.Series, dims: list[int]) -> str:
    return "; ".join(
        f"d = {d}: " + ", ".join(f"{kernel_name(kernel)} {values[d, kernel]:.3g}" for kernel in KERNELS) for d in dims
    )
