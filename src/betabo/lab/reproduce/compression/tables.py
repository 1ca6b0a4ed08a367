"""What the searches found: means over the seeds, and differences between methods seed by seed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas import DataFrame

from betabo.lab.plots.names import ACQUISITION_NAMES, METHODS, method_name
from betabo.lab.reproduce.compression.results import SEARCH, Experiment, StoredSearches
from betabo.lab.reproduce.files import markdown_table

KERNELS = ("rbf", "matern", "beta-paper", "beta-matern")
FROM_LEVELS = "from-levels"
"""Beta-Matern with log EI from levels, one ratio for all. All kernels are compared with UCB, from Sobol points."""
DEFAULT = "default"
"""The optimizer as it comes, from Sobol points: main effects beside Beta-Matern, log EI."""

MODELS = (*KERNELS, FROM_LEVELS, DEFAULT)
PAIRS = (
    *product(("beta-paper", "beta-matern", FROM_LEVELS, DEFAULT), ("matern", "rbf")),
    *product(("beta-matern", FROM_LEVELS, DEFAULT), ("beta-paper",)),
    *product((FROM_LEVELS, DEFAULT), ("beta-matern",)),
    *product(MODELS, ("random", "uniform")),
)
"""Methods that are compared, the first with the second."""

QUANTITIES = ("objective", "size", "error")
FEWEST = 3
"""Seeds below which a difference has no interval."""

LATENCIES = {
    "latency_cpu": "CPU latency, ms",
    "latency_gpu": "GPU latency, ms",
    "latency_gpu_one": "GPU latency of one example, ms",
}
"""Columns of times and their headings; those that were not measured are left out of the tables for people."""

_LEGEND = (
    "Means ± standard errors over seeds. Objective and error are on validation data, at the best point of a search. "
    "Objective on test is size and error on test data, as are the metrics after it. Size is that of the compressed "
    "layers; FLOPs are those of an example. Latencies are medians of 20 passes, of the best model of all seeds: of one "
    "example on a CPU, of 128 or of one on a GPU; a dash where that model was not timed.\n"
)
_RESAMPLES = 10_000  # so many that the ends of an interval are exact to a hundredth of its width


def means_by_method(ends: DataFrame, finals: DataFrame, metrics: Mapping[str, str]) -> DataFrame:
    """Means over the seeds.

    Args:
        ends: The best points of the searches, one search a method and seed.
        finals: The same, measured on the test data; rows of other searches are left out, those of the original not.
        metrics: The main metric by experiment.

    Returns:
        One row an experiment and method: `seeds`, and for each quantity its mean and, as `NAME_error`, its standard
        error: `objective`, `size`, `error`, `flops`, `objective_on_test` (size and error on the test data),
        `parameters`, the columns of `LATENCIES`, `test_*`.
    """
    tests = [column for column in finals.columns if column.startswith("test_")]
    metric = [row[f"test_{metrics[row['experiment']]}"] for _, row in finals.iterrows()]
    finals = finals.assign(objective_on_test=finals["size"] + 1 - np.array(metric, dtype=np.float64))
    finals = finals.assign(**{name: np.nan for name in LATENCIES if name not in finals.columns})
    measured = ["objective_on_test", "parameters", *LATENCIES, *tests]
    table = ends[[*SEARCH, *QUANTITIES, "flops"]].merge(finals[[*SEARCH, *measured]], how="left", on=list(SEARCH))
    original = finals.loc[finals["method"] == "original", [*SEARCH, "size", "flops", *measured]]
    if len(original):
        table = pd.concat([table, original], ignore_index=True)
    columns = [*QUANTITIES, "flops", *measured]
    groups = table.groupby(["experiment", "method"])
    errors = groups[columns].sem().add_suffix("_error")
    found = groups[columns].mean().join(errors).assign(seeds=groups.size()).reset_index()
    found = found[["experiment", "method", "seeds", *(name for c in columns for name in (c, f"{c}_error"))]]
    place = found["method"].map({method: place for place, method in enumerate(METHODS)})
    return found.assign(place=place).sort_values(["experiment", "place"], ignore_index=True).drop(columns="place")


def differences(ends: DataFrame) -> DataFrame:
    """Differences between methods, seed by seed.

    Of two methods the same seed has the same starting points, but for `FROM_LEVELS`, which starts from levels. A method
    with a single run is compared with every seed.

    Returns:
        One row an experiment, pair and quantity: `experiment`, `first`, `second`, `quantity`, `difference` (mean of
        first less second, so negative where the first is better), `low` and `high` (95 % bootstrap interval over seeds,
        NaN for fewer than three), `wins` (seeds where the first is lower), `seeds`.
    """
    rows: list[dict[str, Any]] = []
    for experiment, part in ends.groupby("experiment"):
        for (first, second), quantity in product(PAIRS, QUANTITIES):
            one, other = (part[part["method"] == m].set_index("seed")[quantity] for m in (first, second))
            if one.empty or other.empty:
                continue
            gaps = (one - (other.iloc[0] if len(other) == 1 else other)).dropna().to_numpy()
            if not len(gaps):
                continue
            low, high = bootstrap_interval(gaps)
            names = {"experiment": experiment, "first": first, "second": second, "quantity": quantity}
            found = {"difference": gaps.mean(), "low": low, "high": high, "wins": int((gaps < 0).sum())}
            rows.append(names | found | {"seeds": len(gaps)})
    columns = ["experiment", "first", "second", "quantity", "difference", "low", "high", "wins", "seeds"]
    return pd.DataFrame(rows, columns=columns)


def bootstrap_interval(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The middle 95 % of the means of resampled values; NaN for fewer than three.

    With so few seeds it is too narrow: of three, it is about their range.
    """
    if len(values) < FEWEST:
        return float("nan"), float("nan")
    chosen = np.random.default_rng(0).integers(len(values), size=(_RESAMPLES, len(values)))
    low, high = np.quantile(values[chosen].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def acquisition_means(ends: DataFrame) -> DataFrame:
    """Mean objective at the end of each kernel with each acquisition function.

    Returns:
        `experiment`, `method`, `acquisition`, `mean`, `standard_error`, `seeds`, of the experiments with at least two
        acquisition functions.
    """
    kernels = ends[ends["method"].isin(KERNELS)]
    several = kernels.groupby("experiment")["acquisition"].transform("nunique") > 1
    groups = kernels[several].groupby(["experiment", "method", "acquisition"])["objective"]
    return groups.agg(mean="mean", standard_error="sem", seeds="count").reset_index()


def spread_of_repeats(searches: DataFrame) -> dict[str, float]:
    """Standard deviation of the objective when the same point is evaluated again, by experiment.

    Starting points and levels are evaluated by several searches. An experiment where none was has NaN.
    """
    good = searches[~searches["failed"].astype(bool)]
    points = good.groupby(["experiment", good["x"].map(lambda x: np.asarray(x, dtype=np.float32).tobytes())])
    variances = points["objective"].var().dropna()
    means = variances.groupby("experiment").mean()
    return {str(name): float(np.sqrt(means.get(name, np.nan))) for name in searches["experiment"].unique()}


def results(stored: StoredSearches, summary: DataFrame) -> str:
    """The means alone, as the documentation shows them."""
    parts = [_LEGEND]
    for name, experiment in stored.experiments.items():
        here = summary[summary["experiment"] == name]
        if len(here):
            parts += [f"**{experiment.title}**, {experiment.dims} coordinates\n", _means(here, experiment.metric)]
    return "\n".join(parts)


def markdown(
    stored: StoredSearches, summary: DataFrame, gaps: DataFrame, layers: DataFrame, acquisitions: DataFrame
) -> str:
    """All tables for people, experiment by experiment."""
    repeats = spread_of_repeats(stored.searches)
    parts = [_LEGEND]
    for name, experiment in stored.experiments.items():
        here = [table[table["experiment"] == name] for table in (summary, gaps, layers, acquisitions)]
        if here[0].empty:
            continue
        parts += [f"## {experiment.title}\n", _facts(experiment), _means(here[0], experiment.metric)]
        if not pd.isna(repeats[name]):
            parts.append(f"The same point evaluated again: standard deviation of the objective {repeats[name]:.4f}.\n")
        if len(here[1]):
            about = (
                "Differences, seed by seed; in brackets 95 % bootstrap intervals, which of three seeds are the range:\n"
            )
            parts += [about, _gaps(here[1])]
        parts += ["Ratios at the best points; at the end of a row those of all iterations:\n", _layers(here[2])]
        if len(here[3]):
            parts += ["Objective by acquisition function:\n", _acquisitions(here[3])]
    return "\n".join(parts)


def show(value: float, error: float = float("nan"), digits: int = 3) -> str:
    """A number with its standard error, a dash for NaN."""
    if pd.isna(value):
        return "-"
    return f"{value:.{digits}f}" + ("" if pd.isna(error) else f" ± {error:.{digits}f}")


def _facts(experiment: Experiment) -> str:
    parts = [f"{experiment.dims} coordinates"]
    for key, value in experiment.facts.items():
        values = value if isinstance(value, dict) else {"": value}
        if key != "command" and values and all(isinstance(v, str | int | float) for v in values.values()):
            name = key.replace("_", " ")
            parts.append(f"{name}: " + ", ".join(f"{k} {_plain(v)}".strip().rstrip(".") for k, v in values.items()))
    command = experiment.facts.get("command")
    return "; ".join(parts) + "\n" + (f"\n`{command}`\n" if command else "")


def _plain(value: str | float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _means(summary: DataFrame, metric: str) -> str:
    tests = [c for c in summary.columns if c.startswith("test_") and not c.endswith("_error")]
    tests = [c for c in sorted(tests, key=lambda c: c != f"test_{metric}") if summary[c].notna().any()]
    latencies = [c for c in LATENCIES if summary[c].notna().any()]
    header = ["", "seeds", "objective", "size left", "error", "FLOPs saved, %", "objective on test"]
    header += [c.removeprefix("test_").replace("_", " ") for c in tests]
    header += [LATENCIES[c] for c in latencies]
    rows = []
    for _, row in summary.iterrows():
        cells = [method_name(row["method"]), str(row["seeds"])]
        cells += [show(row[name], row[f"{name}_error"]) for name in QUANTITIES]
        cells.append(show(100 * (1 - row["flops"]), digits=1))
        cells.append(show(row["objective_on_test"], row["objective_on_test_error"]))
        cells += [show(row[c], row[f"{c}_error"], 3 if abs(row[c]) < 10 else 1) for c in tests]
        cells += [show(1000 * row[c], digits=2) for c in latencies]
        rows.append(cells)
    return markdown_table(header, rows)


def _gaps(gaps: DataFrame) -> str:
    wide = {key: part.set_index("quantity") for key, part in gaps.groupby(["first", "second"], sort=False)}
    rows = []
    for (first, second), part in wide.items():
        cells = [f"{method_name(first)} less {method_name(second)}"]
        cells += [show_difference(part.loc[quantity]) for quantity in QUANTITIES]
        rows.append([*cells, f"{part.loc['objective', 'wins']} of {part.loc['objective', 'seeds']}"])
    return markdown_table(["", *QUANTITIES, "seeds where the objective is lower"], rows)


def show_difference(row: Mapping[str, float]) -> str:
    """A difference with its interval."""
    interval = "" if pd.isna(row["low"]) else f" [{row['low']:+.3f}, {row['high']:+.3f}]"
    return f"{row['difference']:+.3f}{interval}"


def _layers(layers: DataFrame) -> str:
    names = ["mean ratio", "near a bound", "near the lower bound", "above the middle", "visited near a bound"]
    means = layers.groupby("method")[names].mean()
    rows = []
    for method in METHODS:
        if method in means.index:
            mean, *shares = means.loc[method]
            cells = ["-" if pd.isna(share) else f"{share:.0%}" for share in shares]
            rows.append([method_name(method), f"{mean:.2f}", *cells])
    return markdown_table(["", *names], rows)


def _acquisitions(means: DataFrame) -> str:
    cells = means.set_index(["acquisition", "method"])
    kernels = [kernel for kernel in KERNELS if kernel in set(means["method"])]
    rows = []
    for acquisition, name in ACQUISITION_NAMES.items():
        keys = [(acquisition, kernel) for kernel in kernels]
        if any(key in cells.index for key in keys):
            found = [cells.loc[key] if key in cells.index else None for key in keys]
            rows.append([name, *("-" if c is None else show(c["mean"], c["standard_error"]) for c in found)])
    return markdown_table(["", *map(method_name, kernels)], rows)
