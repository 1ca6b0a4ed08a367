"""Draw the stored searches of a folder and compare them with what the paper says."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pandas as pd
from pandas import DataFrame, Series

from betabo.lab.plots.compression import draw_acquisition_objectives, draw_objectives
from betabo.lab.plots.ratios import draw_ratio_densities, draw_ratio_maps
from betabo.lab.reproduce.compression.claims import judge
from betabo.lab.reproduce.compression.ratios import ITERATIONS, best_layers, densities, describe, visits
from betabo.lab.reproduce.compression.results import (
    SEARCH,
    StoredSearches,
    best_points,
    comparable,
    mean_progress,
    read_stored,
)
from betabo.lab.reproduce.compression.tables import (
    DEFAULT,
    FROM_LEVELS,
    KERNELS,
    MODELS,
    acquisition_means,
    differences,
    markdown,
    means_by_method,
    results,
    spread_of_repeats,
)
from betabo.lab.reproduce.entry import Context, Summary

MAIN = ("ucb", "")
"""Acquisition functions of the main comparison: that of the paper, and none for methods without a model."""


def summarize(context: Context) -> Summary:
    """Draw the searches that come with the package."""
    with as_file(files("betabo.lab.reproduce.compression")) as folder:
        return draw(context, folder)


def draw(context: Context, folder: str | Path) -> Summary:
    """Draw the searches of a folder, write all tables, and judge the claims.

    Args:
        context: Where the files go.
        folder: Stored searches, see `betabo.lab.reproduce.compression.results`.
    """
    stored = read_stored(folder)
    stored = replace(stored, searches=_name_own(stored.searches), finals=_name_own(stored.finals))
    searches = comparable(stored.searches)
    main = searches[searches["acquisition"].isin(MAIN)]
    all_ends, curves = best_points(searches), mean_progress(searches)
    ends = all_ends[all_ends["acquisition"].isin(MAIN)].reset_index(drop=True)
    metrics = {name: experiment.metric for name, experiment in stored.experiments.items()}
    summary, gaps = means_by_method(ends, stored.finals, metrics), differences(ends)
    acquisitions = acquisition_means(all_ends)
    layers = pd.concat([describe(part, stored.experiments[str(e)]) for e, part in ends.groupby("experiment")])
    visited = pd.concat([visits(part, stored.experiments[str(e)]) for e, part in main.groupby("experiment")])
    layers = layers.merge(visited, how="left", on=list(SEARCH))
    context.save_table("summary", summary)
    context.save_table("differences", gaps)
    context.save_table("curves", curves)
    context.save_table("acquisitions", acquisitions)
    context.save_table("strategies", layers)
    context.save_text("results.md", results(stored, summary))
    context.save_text("table.md", markdown(stored, summary, gaps, layers, acquisitions))
    _draw_objectives(context, stored, curves, summary)
    _draw_acquisitions(context, stored, curves, acquisitions)
    _draw_ratios(context, stored, main, ends)
    left_out = len(stored.searches[list(SEARCH)].drop_duplicates()) - len(searches[list(SEARCH)].drop_duplicates())
    repeats = {name: None if pd.isna(value) else value for name, value in spread_of_repeats(searches).items()}
    figures = _figures(summary) | {"unfinished searches": left_out, "spread of repeats": repeats}
    return Summary(judge(summary, gaps, layers, acquisitions), figures)


def _name_own(table: DataFrame) -> DataFrame:
    """The table with the kernels that are searched by log EI as methods of their own."""
    by_improvement = table["acquisition"] == "log_ei"
    for kernel, method in (("beta-matern", FROM_LEVELS), ("beta-additive", DEFAULT)):
        chosen = by_improvement & (table["method"] == kernel)
        table = table.assign(
            method=table["method"].mask(chosen, method), acquisition=table["acquisition"].mask(chosen, "")
        )
    return table


def _draw_objectives(context: Context, stored: StoredSearches, curves: DataFrame, summary: DataFrame) -> None:
    main = curves[curves["acquisition"].isin(MAIN)]
    uniform = summary[summary["method"] == "uniform"]
    levels = dict(zip(uniform["experiment"], uniform["objective"], strict=True))
    seeds = {str(name): _span(part["seeds"]) for name, part in main.groupby("experiment")}
    titles = {name: f"{e.title}, {seeds[name]} seeds" for name, e in stored.experiments.items() if name in seeds}
    context.save_figure("objectives", draw_objectives(main, levels, titles))
    for name, title in titles.items():
        context.save_figure(f"objective-{name}", draw_objectives(main, levels, {name: title}))


def _draw_acquisitions(context: Context, stored: StoredSearches, curves: DataFrame, acquisitions: DataFrame) -> None:
    compared = set(acquisitions["experiment"])
    if compared:
        titles = {name: e.title for name, e in stored.experiments.items() if name in compared}
        shown = curves[curves["experiment"].isin(compared) & curves["method"].isin(KERNELS)]
        several = shown.groupby(["experiment", "method"])["acquisition"].transform("nunique") > 1
        context.save_figure("acquisitions", draw_acquisition_objectives(shown[several], titles))


def _draw_ratios(context: Context, stored: StoredSearches, main: DataFrame, ends: DataFrame) -> None:
    models = ends[ends["method"].isin(MODELS)]
    curves, maps = [], []
    for name in context.track([e for e in stored.experiments if e in set(models["experiment"])], "ratios"):
        experiment = stored.experiments[name]
        steps, best = main[main["experiment"] == name], models[models["experiment"] == name]
        estimates = densities(steps, best, experiment, MODELS, ITERATIONS)
        seeds = _span(estimates["seeds"])
        title = f"{experiment.title}: ratios of {experiment.dims} coordinates, {seeds} seeds together"
        context.save_figure(f"densities-{name}", draw_ratio_densities(estimates, title))
        layers = best_layers(best, experiment, MODELS)
        title = f"{experiment.title}: ratio of each layer in hundredths, best seed"
        context.save_figure(f"ratios-{name}", draw_ratio_maps(layers, experiment.bounds, title))
        curves.append(estimates.assign(experiment=name))
        maps.append(layers)
    if curves:
        context.save_table("densities", pd.concat(curves, ignore_index=True).round({"ratio": 4, "density": 4}))
        context.save_table("ratios", pd.concat(maps, ignore_index=True))


def _span(counts: Series[int]) -> str:
    """The least and the largest of some numbers, such as "2-3"."""
    return "-".join(str(count) for count in sorted({int(counts.min()), int(counts.max())}))


def _figures(summary: DataFrame) -> dict[str, Any]:
    """The main numbers as JSON takes them."""
    names = ["objective", "objective_error", "objective_on_test", "size", "flops"]
    return {
        str(experiment): {
            row["method"]: {"seeds": int(row["seeds"])}
            | {name: None if pd.isna(row[name]) else round(float(row[name]), 4) for name in names}
            for _, row in part.iterrows()
        }
        for experiment, part in summary.groupby("experiment")
    }
