"""How the searches divide what is left among the layers.

Ratios within 0.05 of a bound count as near it. Of uniform random ratios in [0.05, 0.95] 11 % are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas import DataFrame

from betabo.lab.analysis.density import BetaDensity
from betabo.lab.reproduce.compression.results import SEARCH, STARTING_POINTS, Experiment, ratios_of

NEAR = 0.05
"""Distance to a bound, in ratios, within which a ratio is near it; chosen here."""

ITERATIONS = (1, 10, 20, 30)
"""Iterations whose densities are drawn, as in the paper."""

_PLACES = 181  # points of a curve, so many that it looks smooth
_LEAST_BANDWIDTH = 0.04  # that of about 100 ratios of which most lie on a bound, so that all on it do not look steeper
_ROUNDING = 1e-6  # of ratios, which are stored in single precision

Array = npt.NDArray[np.float64]


def describe(ends: DataFrame, experiment: Experiment) -> DataFrame:
    """Where the ratios of each search's best point lie.

    Args:
        ends: The best points of an experiment.
        experiment: What it is.

    Returns:
        One row a search: `experiment`, `method`, `acquisition`, `seed`, `mean ratio`, and of its coordinates the shares
        `near a bound`, `near the lower bound` and `above the middle`.
    """
    points = ratios_of(ends)
    below, above = _near(points, experiment)
    return ends[["experiment", "method", "acquisition", "seed"]].assign(
        **{
            "mean ratio": points.mean(axis=1),
            "near a bound": (below | above).mean(axis=1),
            "near the lower bound": below.mean(axis=1),
            "above the middle": (points > sum(experiment.bounds) / 2).mean(axis=1),
        }
    )


def visits(searches: DataFrame, experiment: Experiment) -> DataFrame:
    """Where the ratios of all iterations lie, not only of the best.

    Args:
        searches: The evaluations of an experiment; levels of one ratio for all are left out.
        experiment: What it is.

    Returns:
        One row a search: `experiment`, `method`, `acquisition`, `seed`, and the share of its ratios after the starting
        points that are near a bound, `visited near a bound`.
    """
    rows = searches[(searches["method"] != "uniform") & (searches["trial"] >= STARTING_POINTS)]
    below, above = _near(ratios_of(rows), experiment)
    shares = rows.assign(**{"visited near a bound": (below | above).mean(axis=1)})
    return shares.groupby(list(SEARCH))["visited near a bound"].mean().reset_index()


def _near(points: Array, experiment: Experiment) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which ratios are near the lower and which near the upper bound."""
    low, high = experiment.bounds
    return points - low <= NEAR + _ROUNDING, high - points <= NEAR + _ROUNDING


def densities(
    searches: DataFrame, ends: DataFrame, experiment: Experiment, methods: Sequence[str], iterations: Sequence[int]
) -> DataFrame:
    """Densities of the ratios of all coordinates, all seeds together, at some iterations and at the best points.

    Args:
        searches: The evaluations of an experiment, one search a method and seed.
        ends: The best points of these.
        experiment: What it is.
        methods: Those wanted; those without searches are left out.
        iterations: From 1; those that no search has reached are left out.

    Returns:
        `method`, `iteration` (NaN for the best points), `ratio`, `density` (of ratios, of integral one), `seeds`.
    """
    tables = []
    for method in methods:
        steps = searches[searches["method"] == method]
        chosen: list[tuple[float, DataFrame]] = [
            (iteration, steps[steps["trial"] == STARTING_POINTS - 1 + iteration]) for iteration in iterations
        ]
        chosen.append((np.nan, ends[ends["method"] == method]))
        for iteration, rows in chosen:
            if len(rows):
                places, values = density(ratios_of(rows).ravel(), experiment.bounds)
                names = {"method": method, "iteration": iteration, "seeds": len(rows)}
                tables.append(pd.DataFrame({"ratio": places, "density": values}).assign(**names))
    return pd.concat(tables, ignore_index=True)


def density(ratios: Array, bounds: tuple[float, float]) -> tuple[Array, Array]:
    """Chen's first estimate of a density on an interval: places, and values there.

    An observation on an end would count only at that very place. So those nearer to an end than half a bandwidth are
    taken as half a bandwidth away, which is less than the estimate resolves, and from where their weight still falls
    monotonically from the end.
    """
    low, high = bounds
    unit = np.clip((ratios - low) / (high - low), 0, 1)
    spread = float(unit.std(ddof=1)) if unit.size > 1 else 0.0
    bandwidth = max(spread * unit.size**-0.4, _LEAST_BANDWIDTH)
    estimate = BetaDensity(np.clip(unit, bandwidth / 2, 1 - bandwidth / 2), bandwidth)
    places = np.linspace(0, 1, _PLACES)
    return low + (high - low) * places, estimate(places) / (high - low)


def best_layers(ends: DataFrame, experiment: Experiment, methods: Sequence[str]) -> DataFrame:
    """The ratio of each coordinate at the best point of all seeds of each method.

    Returns:
        `experiment`, `method`, `seed`, `coordinate`, `column` and `row` (where it stands in a map: its block and its
        place in the block), `ratio`; coordinates in their order.
    """
    columns, rows = _places(experiment)
    tables = []
    for method in methods:
        part = ends[ends["method"] == method]
        if len(part):
            best = part.loc[part["objective"].idxmin()]
            found = {"coordinate": experiment.coordinates, "column": columns, "row": rows, "ratio": best["x"]}
            names = {"experiment": experiment.name, "method": method, "seed": best["seed"]}
            tables.append(pd.DataFrame(names | found))
    return pd.concat(tables, ignore_index=True)


def _places(experiment: Experiment) -> tuple[list[str], list[str]]:
    """Column and row of each coordinate: its block and role, or all in one row if no block has two."""
    ends = [".".join(name.split(".")[-2:]) for name in experiment.coordinates]
    columns = [end if block is None else str(block) for block, end in zip(experiment.blocks, ends, strict=True)]
    if len(set(columns)) == len(columns):
        return columns, ["all layers"] * len(columns)
    seen: dict[tuple[str, str], int] = {}
    rows = []
    for place in zip(columns, experiment.roles, strict=True):
        seen[place] = seen.get(place, 0) + 1
        rows.append(place[1] if seen[place] == 1 else f"{place[1]} ({seen[place]})")
    return columns, rows
