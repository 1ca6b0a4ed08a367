"""Figure 4: the bandwidths that are learned on 2-D Levy, and the boundary weight where that is learned too.

The paper shows one run of its kernel, whose boundary weight is 1. Here there are several, and the same with a learned
weight. For the settings see `betabo.lab.reproduce.campaigns`; hyperparameters have priors, of which the paper says
nothing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from pandas import DataFrame

from betabo.lab.bench.results import read_results
from betabo.lab.plots.curves import draw_bandwidths
from betabo.lab.plots.names import kernel_name
from betabo.lab.reproduce.entry import Claim, Context, Summary
from betabo.lab.reproduce.files import markdown_table

KERNELS = ("beta-paper", "beta")
SETTLED = 1.25
"""A parameter has converged if its largest value over the last quarter is less than this many times its least;
chosen here, as the paper shows one run and gives no measure."""


def summarize(context: Context, folder: Path) -> Summary:
    """Draw the runs of a folder, finished or not, and measure whether the bandwidths converge."""
    paths = read_paths(folder)
    columns = ["h1", "h2", "boundary weight"]
    medians = paths.groupby(["kernel", "iteration"], sort=False)[columns].median().reset_index()
    ends = pd.DataFrame(
        [
            {"kernel": kernel, "seed": seed} | describe(path)
            for (kernel, seed), path in paths.groupby(["kernel", "seed"], sort=False)
        ]
    )
    context.save_table("paths", paths)
    context.save_table("ends", ends)
    context.save_text("table.md", markdown(ends))
    context.save_figure("bandwidths", draw_bandwidths(paths, medians))
    figures = {
        str(kernel): {
            "seeds": len(part),
            **{f"median {name}": round(float(part[name].median()), 4) for name in columns},
            "seeds with distinct bandwidths": int(part["distinct"].sum()),
        }
        for kernel, part in ends.groupby("kernel", sort=False)
    }
    return Summary(compare(ends[ends["kernel"] == "beta-paper"]), figures)


def read_paths(folder: Path) -> DataFrame:
    """Parameters of every model: `kernel`, `seed`, `iteration` from 1, `h1`, `h2`, `boundary weight`."""
    results = read_results(folder, columns=["origin", "bandwidth", "boundary_weight"])
    results = results[results["origin"] == "model"]
    bandwidth = np.stack(results["bandwidth"].to_list())
    table = pd.DataFrame(
        {
            "kernel": results["optimizer"].astype(str),
            "seed": results["seed"],
            "iteration": results["evaluation"] - results["starting_points"],
            "h1": bandwidth[:, 0],
            "h2": bandwidth[:, 1],
            "boundary weight": results["boundary_weight"],
        }
    )
    return pd.concat([table[table["kernel"] == kernel] for kernel in KERNELS], ignore_index=True)


def describe(path: DataFrame) -> dict[str, float | bool]:
    """The last quarter of one run: medians, largest over least value, and whether the bandwidths keep apart."""
    last = path[path["iteration"] > 0.75 * path["iteration"].max()]
    low, high = last[["h1", "h2"]].min(), last[["h1", "h2"]].max()
    return {
        "h1": float(last["h1"].median()),
        "h2": float(last["h2"].median()),
        "boundary weight": float(last["boundary weight"].median()),
        "h1 range": float(high["h1"] / low["h1"]),
        "h2 range": float(high["h2"] / low["h2"]),
        "distinct": bool(high["h1"] < low["h2"] or high["h2"] < low["h1"]),
    }


def compare(ends: DataFrame) -> tuple[Claim, ...]:
    """The paper's claims, measured on its kernel."""
    if ends.empty:
        return ()
    h1, h2, range1, range2 = ends[["h1", "h2", "h1 range", "h2 range"]].median()
    return (
        Claim(
            "the bandwidths converge",
            (bool(range1 < SETTLED), bool(range2 < SETTLED)),
            f"over the last quarter of the iterations h1 varies by a factor {range1:.3g} and h2 by {range2:.3g}, "
            f"medians over {len(ends)} runs; less than {SETTLED} counts as converged",
        ),
        Claim(
            "they converge to distinct values",
            (bool(ends["distinct"].mean() > 0.5),),
            f"h1 = {h1:.3g} and h2 = {h2:.3g} in the median; their ranges do not overlap in "
            f"{int(ends['distinct'].sum())} of {len(ends)} runs",
        ),
    )


def markdown(ends: DataFrame) -> str:
    """The last quarter of the iterations for people."""
    header = ["kernel", "seeds", "h1", "h2", "boundary weight", "range of h1", "range of h2", "distinct"]
    rows = []
    for kernel, part in ends.groupby("kernel", sort=False):
        middle = part[["h1", "h2", "boundary weight", "h1 range", "h2 range"]].median()
        shown = f"{int(part['distinct'].sum())} of {len(part)}"
        rows.append([kernel_name(str(kernel)), str(len(part)), *(f"{value:.3g}" for value in middle), shown])
    return "Medians over the seeds, of the last quarter of the iterations:\n\n" + markdown_table(header, rows)
