"""Table 3: eight kernels on five functions in 20 dimensions, the optimum at the centre, near a face, near a vertex.

For the settings, and what the paper leaves open, see `betabo.lab.reproduce.campaigns`. Three rows are ours: `beta`, the
Beta kernel with a learned boundary weight and all else as for the others; `beta-matern`, with log EI and the power
transform; and `matern-control`, the same with Matern. The printed numbers are in
`paper_placements.csv`; warped kernels were printed for the vertex only. Branin and Hartmann-6 are means over blocks of
coordinates, which is our reading of "repeated".
"""

from __future__ import annotations

from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import cast

import pandas as pd
from pandas import DataFrame

from betabo.lab.bench.results import read_results, values_at
from betabo.lab.bench.statistics import compare as compare_ranks
from betabo.lab.bench.statistics import summarize as means_of
from betabo.lab.bench.tables import format_comparison
from betabo.lab.plots.dots import draw_placements
from betabo.lab.plots.names import KERNEL_NAMES, PLACEMENT_NAMES, kernel_name
from betabo.lab.problems import PLACEMENTS
from betabo.lab.reproduce.campaigns import FUNCTIONS, PAPER_KERNELS
from betabo.lab.reproduce.entry import Claim, Context, Summary
from betabo.lab.reproduce.files import markdown_table

DIMS = 20
"""Dimensions of the paper's table."""

BASELINES = tuple(kernel for kernel in PAPER_KERNELS if kernel != "beta-paper")
EXCEPTION = ("face", "branin")
"""Where the paper's kernel does not have the lowest mean of those with the optimum near the boundary."""


def summarize(context: Context, folder: Path) -> Summary:
    """Draw the runs of a folder, finished or not, and compare with the printed table."""
    table, figures = draw_table(context, folder)
    return Summary(compare(table), figures)


def draw_table(context: Context, folder: Path) -> tuple[DataFrame, dict[str, object]]:
    """Write the table of a folder and its figure; the cells and the numbers for the record."""
    results = read_results(folder, columns=[])
    values = ends(results)
    iterations = values["evaluation"].unique() - results["starting_points"].iloc[0]
    return draw_values(context, values, " or ".join(map(str, sorted(iterations))))


def ends(results: DataFrame) -> DataFrame:
    """What each run had found after as many evaluations as all under the same settings have.

    Args:
        results: The table of `betabo.lab.bench.results.read_results`. Optimizers are called by their kernel, or
            KERNEL+SETTINGS.
    """
    settings = results["optimizer"].astype(str).str.partition("+")[2]
    parts = [values_at(part) for _, part in results.groupby(settings)]
    return pd.concat(parts).sort_values(["problem", "optimizer", "seed"], ignore_index=True)


def draw_values(context: Context, values: DataFrame, iterations: str) -> tuple[DataFrame, dict[str, object]]:
    """The same from what each run had found, see `cells`, after so many iterations."""
    table = cells(values)
    context.save_table("values", values)
    context.save_table("cells", table)
    context.save_text("table.md", markdown(table, values, iterations))
    context.save_figure("placements", draw_placements(table))
    return table, numbers(table, values, iterations)


def printed() -> DataFrame:
    """The paper's table: `placement`, `kernel`, `function`, `printed`, `printed_error`."""
    with (files("betabo.lab.reproduce") / "paper_placements.csv").open(encoding="utf-8") as file:
        table = pd.read_csv(file)
    return cast(DataFrame, table.rename(columns={"mean": "printed", "standard_error": "printed_error"}))


def cells(values: DataFrame) -> DataFrame:
    """Mean and standard error over the seeds beside the printed ones, which are for `DIMS` dimensions alone.

    Args:
        values: One row a run, see `betabo.lab.bench.results.values_at`. Optimizers are called by their kernel, or
            KERNEL+SETTINGS.

    Returns:
        Columns `placement`, `function`, `kernel`, `dim`, `mean`, `standard_error`, `seeds`, `printed`,
        `printed_error`, in the order of the paper's table; NaN where nothing was printed.
    """
    table = means_of(values).rename(columns={"optimizer": "kernel", "runs": "seeds"})
    table["kernel"] = table["kernel"].astype(str)
    table["family"] = table["kernel"].str.partition("+")[0]
    for column, order in (("placement", PLACEMENTS), ("function", FUNCTIONS), ("family", tuple(KERNEL_NAMES))):
        table[column] = pd.Categorical(table[column].astype(str), order)
    table = table.sort_values(["placement", "family", "kernel", "function"], ignore_index=True)
    table = table.astype(dict.fromkeys(("placement", "function", "family"), str))
    columns = ["placement", "function", "kernel", "family", "dim", "mean", "standard_error", "seeds"]
    theirs = printed().rename(columns={"kernel": "family"})
    merged = table[columns].merge(theirs, on=["placement", "function", "family"], how="left").drop(columns="family")
    merged.loc[merged["dim"] != DIMS, ["printed", "printed_error"]] = float("nan")
    return cast(DataFrame, merged)


def compare(table: DataFrame) -> tuple[Claim, ...]:
    """The paper's claims, on the kernels of its table that have runs. To be best is to be strictly so."""
    shown = table[table["kernel"].isin(PAPER_KERNELS)]
    means = {
        key: part.set_index("kernel")["mean"]
        for key, part in shown.groupby(["placement", "function"], sort=False)
        if {"matern", "beta-paper"} <= set(part["kernel"])
    }
    best = {key: _lowest(values) for key, values in means.items()}
    centre = [key for key in means if key[0] == "centre"]
    boundary = [key for key in means if key[0] != "centre"]
    claims = []
    if centre:
        second = sum(means[key].rank()["beta-paper"] <= 2 for key in centre)
        claims += [
            Claim(
                "at the centre Matern is best on Griewank, Ackley, Branin and Hartmann, Beta on Levy",
                tuple(best[key] == ["beta-paper" if key[1] == "levy" else "matern"] for key in centre),
                "lowest mean: " + ", ".join(f"{_names(best[key])} on {key[1]}" for key in centre),
            ),
            Claim(
                "at the centre Beta is among the best two in most cases",
                (bool(second > len(centre) / 2),),
                f"it is on {second} of {len(centre)} functions",
            ),
        ]
    if boundary:
        others = [key for key in boundary if best[key] != ["beta-paper"]]
        claims.append(
            Claim(
                "near a face or a vertex Beta beats all baselines on nine of ten problems, all but Branin near a face",
                tuple(best[key] == ["beta-paper"] for key in boundary if key != EXCEPTION),
                f"it has the lowest mean on {len(boundary) - len(others)} of {len(boundary)}"
                + ("; else " if others else "")
                + ", ".join(f"{_names(best[key])} on {key[1]}, {key[0]}" for key in others),
            )
        )
    baselines = shown[shown["kernel"].isin(BASELINES)]
    if baselines["kernel"].nunique() > 1:
        ranks = baselines.assign(rank=baselines.groupby(["placement", "function"])["mean"].rank())
        order = ranks.groupby(["placement", "kernel"], sort=False)["rank"].mean()
        leaders = {str(placement): _lowest(order[placement]) for placement in order.index.unique("placement")}
        claims.append(
            Claim(
                "Matern is the most competitive baseline in all settings",
                tuple(leader == ["matern"] for leader in leaders.values()),
                "best mean rank of the baselines: "
                + ", ".join(f"{placement} {_names(leader)}" for placement, leader in leaders.items()),
            )
        )
    return tuple(claim for claim in claims if claim.checks)


def numbers(table: DataFrame, values: DataFrame, iterations: str) -> dict[str, object]:
    """Numbers for the record: how much was done, ranks, and how the means compare with the printed ones."""
    ranks = table.assign(rank=table.groupby(["placement", "function"])["mean"].rank())
    mean_ranks = ranks.groupby(["placement", "kernel"], sort=False)["rank"].mean()
    both = table.dropna(subset=["printed"])
    return {
        "iterations": iterations,
        "runs": len(values),
        "seeds of a cell, least and most": [int(table["seeds"].min()), int(table["seeds"].max())],
        "mean rank": {
            placement: {str(kernel): round(float(rank), 2) for kernel, rank in mean_ranks[placement].items()}
            for placement in mean_ranks.index.unique("placement")
        },
        "means not above the printed one": {
            str(kernel): f"{int((part['mean'] <= part['printed']).sum())} of {len(part)}"
            for kernel, part in both.groupby("kernel", sort=False)
        },
    }


def markdown(table: DataFrame, values: DataFrame, iterations: str) -> str:
    """The table for people, then ranks and tests over the kernels that did every problem."""
    dims = int(table["dim"].iloc[0])
    parts = [
        f"Best value after {iterations} iterations in {dims} dimensions: mean ± standard error over the seeds, "
        f"their number after the comma, and in brackets what was printed after 300 iterations in {DIMS} dimensions. "
        "The lowest mean is bold.\n"
    ]
    for placement, section in table.groupby("placement", sort=False):
        functions = list(dict.fromkeys(section["function"]))
        lowest = section.groupby("function")["mean"].min()
        rows = []
        for kernel, row in section.groupby("kernel", sort=False):
            found = {str(cell["function"]): _cell(cell, lowest) for _, cell in row.iterrows()}
            rows.append([kernel_name(str(kernel)), *(found.get(function, "-") for function in functions)])
        parts.append(
            f"**{PLACEMENT_NAMES[str(placement)].capitalize()}**\n\n" + markdown_table(["kernel", *functions], rows)
        )
    problems = values.groupby("optimizer", observed=True)["problem"].nunique()
    everywhere = problems.index[problems == values["problem"].nunique()]
    if len(everywhere) > 1:
        chosen = values[values["optimizer"].isin(everywhere)]
        with suppress(ValueError):  # they may have no seed in common yet
            parts.append(format_comparison(compare_ranks(chosen), "problems") + "\n")
    return "\n".join(parts)


def _lowest(values: pd.Series) -> list[str]:
    """The kernels with the lowest value, several if they tie."""
    return [str(kernel) for kernel in values.index[values == values.min()]]


def _names(kernels: list[str]) -> str:
    return " and ".join(map(kernel_name, kernels))


def _cell(cell: pd.Series, lowest: pd.Series) -> str:
    digits = 1 if abs(cell["mean"]) >= 10 else 2
    error = "" if pd.isna(cell["standard_error"]) else f"±{cell['standard_error']:.{digits}f}"
    text = f"{cell['mean']:.{digits}f}{error}"
    if cell["mean"] == lowest[cell["function"]]:
        text = f"**{text}**"
    was = "" if pd.isna(cell["printed"]) else f" ({cell['printed']:.1f}±{cell['printed_error']:.1f})"
    return f"{text}, {cell['seeds']}{was}"
