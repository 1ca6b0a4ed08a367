"""Stored searches over compressed models as tables.

A folder of stored searches holds three files:

* `searches.parquet`, one row an evaluation: `SEARCH_COLUMNS`, and `metric_NAME` for each metric on the validation data.
* `finals.parquet`, one row a search, of its best point: `FINAL_COLUMNS`, and `test_NAME` for each metric on the test
  data. A row whose method is `"original"` is the model before compression.
* `experiments.json`, by name of an experiment what it is: `EXPERIMENT_KEYS`, and anything else that describes it.

A *method* is a kernel, `"random"` for random search, or `"uniform"` for one ratio for all layers, whose trials are the
levels that were tried. A *search* is an experiment, a method, an acquisition function and a seed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from betabo.extras import needs_extra

if TYPE_CHECKING:
    from pandas import DataFrame

SEARCHES_FILE = "searches.parquet"
FINALS_FILE = "finals.parquet"
EXPERIMENTS_FILE = "experiments.json"

SEARCH = ("experiment", "method", "acquisition", "seed")
"""The columns that name a search."""

SEARCH_COLUMNS = (*SEARCH, "trial", "x", "objective", "size", "error", "flops", "seconds", "failed")
"""Trials count from 0; `x` are ratios; `size` and `flops` are shares that are left; times are in seconds."""

FINAL_COLUMNS = (*SEARCH, "size", "flops", "parameters", "latency_cpu", "latency_gpu")
"""Latencies are in seconds, NaN where they were not measured."""

EXPERIMENT_KEYS = ("title", "metric", "dimension", "coordinates", "roles", "blocks")
"""What is known of every experiment."""

STARTING_POINTS = 5
"""Trials of a search before its first iteration."""

BASELINES = ("random", "uniform")
"""The methods without a model."""

_ROUNDING = 1e-6  # of ratios, which are stored in single precision


@dataclass(frozen=True)
class Experiment:
    """A model and a task whose compression was searched.

    Attributes:
        name: Its name in the tables.
        title: What figures call it.
        metric: Name of its main metric; the error is one minus this.
        coordinates: Names of the coordinates.
        roles: What the layer of each coordinate does in its block, such as `"Q"`.
        blocks: The block of each coordinate, None outside the blocks.
        bounds: Least and largest ratio.
        facts: What else is known of it.
    """

    name: str
    title: str
    metric: str
    coordinates: tuple[str, ...]
    roles: tuple[str, ...]
    blocks: tuple[int | None, ...]
    bounds: tuple[float, float]
    facts: dict[str, Any]

    @property
    def dims(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)


@dataclass(frozen=True)
class StoredSearches:
    """The searches of a folder.

    Attributes:
        experiments: What they are about, by name.
        searches: All evaluations.
        finals: The best point of each search, measured on the test data.
    """

    experiments: dict[str, Experiment]
    searches: DataFrame
    finals: DataFrame


def read_stored(folder: str | Path) -> StoredSearches:
    """Read and check the three files of a folder.

    Raises:
        ValueError: A file is missing or lacks a column, an experiment is not described or has points of another
            dimension or out of bounds, or an evaluation stands twice.
    """
    folder = Path(folder)
    experiments = _read_experiments(folder / EXPERIMENTS_FILE)
    searches = _read_table(folder / SEARCHES_FILE, SEARCH_COLUMNS)
    finals = _read_table(folder / FINALS_FILE, FINAL_COLUMNS)
    for table, name, keys in ((searches, SEARCHES_FILE, [*SEARCH, "trial"]), (finals, FINALS_FILE, [*SEARCH])):
        unknown = sorted(set(table["experiment"]) - set(experiments))
        if unknown:
            raise ValueError(f"{folder / name} has the experiment {unknown[0]!r}, which {EXPERIMENTS_FILE} lacks.")
        twice = table[table.duplicated(keys)]
        if len(twice):
            row = ", ".join(f"{key} {twice.iloc[0][key]!r}" for key in keys)
            raise ValueError(f"{folder / name} has two rows of {row}; expected one.")
    for name, part in searches.groupby("experiment"):
        _check_points(part, experiments[str(name)])
    order = [*SEARCH, "trial"]
    return StoredSearches(experiments, searches.sort_values(order, ignore_index=True), finals)


def comparable(searches: DataFrame) -> DataFrame:
    """The searches that have the same number of evaluations.

    In each experiment that is the number of the longest search of a model. Shorter searches are left out, longer random
    searches are cut; levels of one ratio for all stay as they are.
    """
    models = searches[~searches["method"].isin(BASELINES)]
    last = searches["experiment"].map(models.groupby("experiment")["trial"].max())
    reached = searches.groupby(list(SEARCH))["trial"].transform("max")
    uniform = searches["method"] == "uniform"
    return searches[uniform | ((reached >= last) & (searches["trial"] <= last))].reset_index(drop=True)


def progress(searches: DataFrame) -> DataFrame:
    """The best value after each iteration of each search but those of `"uniform"`.

    Returns:
        The columns of `SEARCH`, `iteration` (0 after the starting points), `best` (NaN while all have failed).
    """
    rows = searches.loc[searches["method"] != "uniform", [*SEARCH, "trial", "objective", "failed"]]
    rows = rows.sort_values([*SEARCH, "trial"], ignore_index=True)
    value = rows["objective"].mask(rows["failed"].astype(bool), np.inf).fillna(np.inf)
    lowest = value.groupby([rows[key] for key in SEARCH]).cummin()
    rows["best"] = lowest.replace(np.inf, np.nan)
    rows["iteration"] = rows["trial"] - STARTING_POINTS + 1
    return rows.loc[rows["iteration"] >= 0, [*SEARCH, "iteration", "best"]].reset_index(drop=True)


def mean_progress(searches: DataFrame) -> DataFrame:
    """The best value by iteration over the seeds.

    Returns:
        `experiment`, `method`, `acquisition`, `iteration`, `mean`, `standard_error` (NaN for one seed), `seeds`.
    """
    keys = ["experiment", "method", "acquisition", "iteration"]
    groups = progress(searches).groupby(keys)["best"]
    return groups.agg(mean="mean", standard_error="sem", seeds="count").reset_index()


def best_points(searches: DataFrame) -> DataFrame:
    """The evaluation with the lowest objective of each search; the first of several.

    A search whose evaluations have all failed has none.
    """
    good = searches[~searches["failed"].astype(bool) & searches["objective"].notna()]
    return good.loc[good.groupby(list(SEARCH))["objective"].idxmin()].reset_index(drop=True)


def ratios_of(rows: DataFrame) -> npt.NDArray[np.float64]:
    """The points of some rows of one experiment, `rows x d`."""
    return np.stack(rows["x"].to_list()).astype(np.float64)


def _read_experiments(path: Path) -> dict[str, Experiment]:
    if not path.is_file():
        raise ValueError(f"{path} is missing; expected a folder of stored searches.")
    found = {}
    for name, facts in json.loads(path.read_text(encoding="utf-8")).items():
        missing = [key for key in EXPERIMENT_KEYS if key not in facts]
        if missing:
            raise ValueError(f"{path}: {name!r} has no {missing[0]!r}; expected {', '.join(EXPERIMENT_KEYS)}.")
        for key in ("coordinates", "roles", "blocks"):
            if len(facts[key]) != facts["dimension"]:
                raise ValueError(
                    f"{path}: {name!r} has {len(facts[key])} {key}, expected {facts['dimension']}, one a coordinate."
                )
        found[name] = Experiment(
            name=name,
            title=facts["title"],
            metric=facts["metric"],
            coordinates=tuple(facts["coordinates"]),
            roles=tuple(facts["roles"]),
            blocks=tuple(facts["blocks"]),
            bounds=tuple(facts.get("bounds", (0.05, 0.95))),
            facts={key: value for key, value in facts.items() if key not in (*EXPERIMENT_KEYS, "bounds")},
        )
    return found


def _read_table(path: Path, columns: tuple[str, ...]) -> DataFrame:
    for package in ("pandas", "pyarrow"):  # pandas reads Parquet with pyarrow
        with needs_extra("tables", f"stored searches need {package}"):
            import_module(package)
    import pandas

    if not path.is_file():
        raise ValueError(f"{path} is missing; expected a folder of stored searches.")
    table = pandas.read_parquet(path)
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise ValueError(f"{path} has no column {missing[0]!r}; expected {', '.join(columns)}.")
    names = {name: table[name].astype(object).fillna("").astype(str) for name in SEARCH[:3]}
    return table.assign(**names)


def _check_points(rows: DataFrame, experiment: Experiment) -> None:
    lengths = rows["x"].map(len)
    if (lengths != experiment.dims).any():
        wrong = lengths[lengths != experiment.dims].iloc[0]
        raise ValueError(f"{experiment.name} has a point of {wrong} ratios, expected {experiment.dims}.")
    points = ratios_of(rows)
    low, high = experiment.bounds
    outside = ~((points >= low - _ROUNDING) & (points <= high + _ROUNDING))
    if outside.any():
        raise ValueError(f"{experiment.name} has the ratio {points[outside][0]:.6g}, expected one in [{low}, {high}].")
