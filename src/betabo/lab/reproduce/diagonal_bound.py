"""Proposition 1: the prior variance of the Beta kernel, its exact range, and where the printed bound fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from pandas import DataFrame

from betabo.lab.analysis import (
    log_diagonal,
    log_diagonal_infimum,
    log_diagonal_supremum,
    log_printed_bound,
    log_repaired_bound,
    printed_bound_threshold,
)
from betabo.lab.plots.style import BLUE, GREEN, GREY, VERMILION, new_figure, shades, style
from betabo.lab.reproduce.entry import Claim, Context, Summary
from betabo.lab.reproduce.files import markdown_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROFILES = (0.1, 0.25, 0.5, 1.0, 1.5)
BANDWIDTHS = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 5.0)
DIMS = 20  # of the paper's table of placements


def summarize(context: Context) -> Summary:
    """Compute the diagonal, its range and the bounds, and find where the printed one fails."""
    points = context.choose(smoke=51, standard=201, paper=201)
    profile_table, bound_table, rows = profiles(points), bounds(np.geomspace(0.03, 10, points)), bounds(BANDWIDTHS)
    threshold = printed_bound_threshold()
    context.save_table("diagonal", profile_table)
    context.save_table("bounds", bound_table)
    context.save_text("table.md", markdown(rows))
    context.save_figure("diagonal-bound", draw(profile_table, bound_table, threshold))
    failing = rows.loc[~rows["printed bound holds"], "h"].tolist()
    worst = rows.set_index("h").loc[0.1]
    claims = (
        Claim(
            "k(x, x) is at most the bound of Proposition 1, for every h",
            (bool(rows["printed bound holds"].all()),),
            f"it is below the exact supremum for h < {threshold:.4f}, in every dimension; at h = 0.1, d = 1 it is "
            f"{worst['printed bound']:.2g}, but k(x, x) is from {worst['infimum']:.3g} to {worst['supremum']:.4g}",
        ),
    )
    figures = {
        "threshold": round(threshold, 6),
        "bandwidths where it fails": failing,
        "h = 0.1": {name: float(f"{worst[name]:.6g}") for name in ("infimum", "supremum", "printed bound")},
    }
    return Summary(claims, figures)


def profiles(points: int) -> DataFrame:
    """Columns `h`, `x`, `variance`: the variance along one coordinate."""
    x = np.linspace(0, 1, points)
    tables = [pd.DataFrame({"h": h, "x": x, "variance": np.exp(log_diagonal(x[:, None], h))}) for h in PROFILES]
    return pd.concat(tables, ignore_index=True)


def bounds(bandwidths: np.typing.ArrayLike) -> DataFrame:
    """One row a bandwidth: the exact range of the variance in one dimension, both bounds, and whether each holds."""
    h = np.asarray(bandwidths, dtype=np.float64)
    table = pd.DataFrame(
        {
            "h": h,
            "infimum": np.exp(log_diagonal_infimum(h)),
            "supremum": np.exp(log_diagonal_supremum(h)),
            "printed bound": np.exp(log_printed_bound(h)),
            "repaired bound": np.exp(log_repaired_bound(h)),
        }
    )
    table["printed bound holds"] = table["printed bound"] >= table["supremum"]
    table["repaired bound holds"] = table["repaired bound"] >= table["supremum"]
    return table


def markdown(rows: DataFrame) -> str:
    """The table for people, with the ratio of vertex to centre in 20 dimensions."""
    header = ["h", "least k(x, x)", "largest k(x, x)", "printed bound", "holds", "repaired bound", f"ratio, d = {DIMS}"]
    cells = [
        [
            f"{row['h']:g}",
            f"{row['infimum']:.4g}",
            f"{row['supremum']:.4g}",
            f"{row['printed bound']:.3g}",
            "yes" if row["printed bound holds"] else "**no**",
            f"{row['repaired bound']:.4g}",
            f"{(row['supremum'] / row['infimum']) ** DIMS:.2g}",
        ]
        for _, row in rows.iterrows()
    ]
    return markdown_table(header, cells)


def draw(profile_table: DataFrame, bound_table: DataFrame, threshold: float) -> Figure:
    """The variance along one coordinate, and its exact range with both bounds by bandwidth."""
    with style():
        figure = new_figure(9.6, 3.9)
        left, right = figure.subplots(1, 2)
        for (h, table), colour in zip(profile_table.groupby("h"), shades(len(PROFILES)), strict=True):
            left.semilogy(table["x"], table["variance"], color=colour, label=f"$h$ = {h:g}")
            ends = table.iloc[[0, -1]]
            left.plot(ends["x"], ends["variance"], "o", color=colour, markersize=4, clip_on=False)
        left.set(title="Prior variance along one coordinate", xlabel="$x$", ylabel="$k(x, x)$", xlim=(0, 1))
        left.set_yticks([1, 2, 3, 4, 5, 6], ["1", "2", "3", "4", "5", "6"])
        left.minorticks_off()
        left.legend(loc="upper center", ncols=2)

        h = bound_table["h"]
        least, largest = bound_table["infimum"], bound_table["supremum"]
        right.axvspan(h.min(), threshold, color="#F6E8E0", linewidth=0)
        right.fill_between(h, least, largest, color=BLUE, alpha=0.25, linewidth=0, label="range of $k(x, x)$")
        right.loglog(h, largest, color=BLUE, label="exact supremum")
        right.loglog(h, bound_table["repaired bound"], "--", color=GREEN, label="bound, exponent put right")
        right.loglog(h, bound_table["printed bound"], color=VERMILION, label="printed bound")
        right.axvline(threshold, color=GREY, linewidth=0.8)
        right.text(1.07 * threshold, 100, f"$h$ = {threshold:.3f}", color="#4D4D4D")
        right.text(0.93 * threshold, 3e-6, "printed bound fails", ha="right", color=VERMILION)
        right.set(
            title="Bounds on it, one dimension", xlabel="bandwidth $h$", xlim=(h.min(), h.max()), ylim=(1e-6, 1e3)
        )
        right.legend(loc="lower right", fontsize=8.5)
        return figure
