"""Figure 8: five acquisition functions with Matern and Beta, here on synthetic functions.

The paper draws this figure of one task, the compression of DeBERTa-v3 on MNLI: 14 dimensions, 5 starting points and 30
iterations. Here these are the same, but the tasks are test functions with the optimum at the centre of the box or near
a vertex, so that the claims are tested on functions that they were not made about. Each run is measured by the share of
its starting regret (that of the best starting point) that is left. For the other settings see
`betabo.lab.reproduce.campaigns`.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from pandas import DataFrame

from betabo.lab.bench.results import read_results
from betabo.lab.plots.curves import draw_acquisitions
from betabo.lab.plots.names import ACQUISITION_NAMES, acquisition_names, kernel_name
from betabo.lab.reproduce.campaigns import ACQUISITIONS
from betabo.lab.reproduce.entry import Claim, Context, Summary
from betabo.lab.reproduce.files import markdown_table

KERNELS = ("matern", "beta-paper")
PLACED = ("centre", "vertex")


def summarize(context: Context, folder: Path) -> Summary:
    """Draw the runs of a folder, finished or not, and measure what the paper reads off its figure."""
    shares = read_shares(folder)
    keys = ["placement", "acquisition", "kernel", "iteration"]
    curves = shares.groupby(keys, sort=False)["share"].agg(mean="mean", standard_error="sem", runs="size").reset_index()
    ends = shares[shares["iteration"] == shares["iteration"].max()]
    final = curves[curves["iteration"] == curves["iteration"].max()].set_index(keys[:3])
    context.save_table("curves", curves)
    context.save_table("ends", ends)
    context.save_text("table.md", markdown(final, mean_ranks(ends)))
    context.save_figure("acquisitions", draw_acquisitions(curves))
    figures = {
        placement: {
            f"{kernel}, {acquisition}": {"share left": round(float(row["mean"]), 4), "runs": int(row["runs"])}
            for (acquisition, kernel), row in final.xs(placement).iterrows()
        }
        for placement in final.index.unique("placement")
    }
    return Summary(compare(final["mean"]), figures)


def read_shares(folder: Path) -> DataFrame:
    """What is left of the starting regret after each iteration of each run.

    Returns:
        Columns `problem`, `placement`, `acquisition`, `kernel`, `seed`, `iteration` from 0, `share`.
    """
    results = read_results(folder, columns=[])
    runs = ["problem", "optimizer", "seed"]
    starts = results[results["evaluation"] == results["starting_points"]].set_index(runs)["regret"]
    steps = results[results["evaluation"] >= results["starting_points"]].set_index(runs)
    share = (steps["regret"] / starts.reindex(steps.index)).to_numpy()
    steps = steps.reset_index()
    names = steps["optimizer"].astype(str).str.split("+", n=1, expand=True, regex=False)
    table = pd.DataFrame(
        {
            "problem": steps["problem"].astype(str),
            "placement": pd.Categorical(steps["placement"], PLACED),
            "acquisition": pd.Categorical(names[1], ACQUISITIONS),
            "kernel": pd.Categorical(names[0], KERNELS),
            "seed": steps["seed"],
            "iteration": steps["evaluation"] - steps["starting_points"],
            "share": share,
        }
    )
    order = ["placement", "acquisition", "kernel", "problem", "seed", "iteration"]
    table = table.sort_values(order, ignore_index=True)
    return table.astype(dict.fromkeys(("placement", "acquisition", "kernel"), str))


def mean_ranks(ends: DataFrame) -> pd.Series:
    """Mean rank by `placement`, `acquisition` and `kernel` over the problems and seeds that all ten have done."""
    wide = ends.pivot_table(index=["placement", "problem", "seed"], columns=["acquisition", "kernel"], values="share")
    ranks = wide.dropna().rank(axis=1).groupby("placement", sort=False).mean()
    return ranks.stack(["acquisition", "kernel"], future_stack=True)


def compare(left: pd.Series) -> tuple[Claim, ...]:
    """The paper's claims for each placement where all ten combinations have runs.

    Args:
        left: Mean share that is left by `placement`, `acquisition` and `kernel`.
    """
    wide = left.unstack("placement").reindex(columns=list(PLACED)).dropna(axis=1)
    complete = [p for p in wide.columns if len(wide) == len(ACQUISITIONS) * len(KERNELS)]
    if not complete:
        return ()
    by_kernel = {(p, kernel): wide[p].xs(kernel, level="kernel") for p in complete for kernel in KERNELS}
    ahead = {p: [a for a in ACQUISITIONS if wide[p][a, "beta-paper"] < wide[p][a, "matern"]] for p in complete}
    leaders = {key: list(values.sort_values().index) for key, values in by_kernel.items()}
    return (
        Claim(
            "Beta does better than Matern with each of the five acquisition functions",
            tuple(a in ahead[p] for p in complete for a in ACQUISITIONS),
            "; ".join(
                f"{p}: with {len(ahead[p])} of {len(ACQUISITIONS)} ({acquisition_names(ahead[p])})" for p in complete
            ),
        ),
        Claim(
            "Matern goes best with UCB and corrected EI",
            tuple(a in leaders[p, "matern"][:2] for p in complete for a in ("ucb", "corrected_ei")),
            "best two: " + "; ".join(f"{p}: {acquisition_names(leaders[p, 'matern'][:2])}" for p in complete),
        ),
        Claim(
            "Beta goes best with UCB",
            tuple(leaders[p, "beta-paper"][0] == "ucb" for p in complete),
            "in order: " + "; ".join(f"{p}: {acquisition_names(leaders[p, 'beta-paper'])}" for p in complete),
        ),
    )


def markdown(final: DataFrame, ranks: pd.Series) -> str:
    """Shares, ranks and numbers of runs for people."""
    parts = [
        "Share of the starting regret that is left, mean ± standard error over problems and seeds; their number.\n"
    ]
    for placement in final.index.unique("placement"):
        rows = []
        for acquisition in ACQUISITIONS:
            cells = []
            for kernel in KERNELS:
                key = (placement, acquisition, kernel)
                cells += list(_cells(final.loc[key], ranks.get(key))) if key in final.index else ["-", "-"]
            rows.append([ACQUISITION_NAMES[acquisition], *cells])
        header = [f"optimum: {placement}"]
        for kernel in KERNELS:
            header += [kernel_name(kernel), "mean rank of ten"]
        parts.append(markdown_table(header, rows))
    return "\n".join(parts)


def _cells(row: pd.Series, rank: float | None) -> tuple[str, str]:
    error = "" if pd.isna(row["standard_error"]) else f" ± {row['standard_error']:.3f}"
    return f"{row['mean']:.3f}{error}; {int(row['runs'])}", "-" if rank is None else f"{rank:.1f}"
