"""The runs of a campaign as one table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from betabo.lab.bench.extras import require
from betabo.lab.bench.runner import CAMPAIGN_FILE
from betabo.lab.bench.storage import read_metadata

if TYPE_CHECKING:
    import pandas

RUN_COLUMNS = ("optimizer", "problem", "function", "dim", "placement", "seed")
"""What names a run, in every table."""


def read_results(folder: str | Path, columns: Sequence[str] | None = None) -> pandas.DataFrame:
    """Read all runs of a folder.

    Args:
        folder: The folder that a campaign wrote to.
        columns: Columns of the runs to read, see `betabo.lab.bench.run.perform`; None reads all. `evaluation` and
            `best` are always there.

    Returns:
        One row an evaluation. Before the runs' own columns come `optimizer` and `problem` (categories in the order of
        the campaign), `function`, `dim`, `placement` and `seed`; after them `starting_points`, their number,
        `optimal_value`, and `regret`, which is `best` less the optimal value.

    Raises:
        ValueError: The folder holds no runs, or a file that is none.
    """
    pandas, parquet = require("pandas"), require("pyarrow.parquet")
    folder = Path(folder)
    wanted = None if columns is None else list(dict.fromkeys(["evaluation", *columns, "best"]))
    tables = []
    for path in run_files(folder):
        metadata = read_metadata(path)
        configuration, problem = metadata["configuration"], metadata["problem"]
        rows = parquet.ParquetFile(path).read(columns=wanted).to_pandas(ignore_metadata=True)
        names = {
            "optimizer": configuration["optimizer"],
            "problem": configuration["problem"],
            "function": problem["function"],
            "dim": problem["dim"],
            "placement": problem["placement"],
            "seed": configuration["seed"],
        }
        for position, (name, value) in enumerate(names.items()):
            rows.insert(position, name, value)
        rows["starting_points"] = configuration["starting_points"]
        rows["optimal_value"] = problem["optimal_value"]
        rows["regret"] = rows["best"] - problem["optimal_value"]
        tables.append(rows)
    if not tables:
        raise ValueError(f"{folder} holds no runs; `betabo bench run FILE.toml --out {folder}` makes some.")
    table = pandas.concat(tables, ignore_index=True)
    campaign = _campaign(folder)
    for column, known in (("optimizer", campaign.get("optimizers", {})), ("problem", campaign.get("problems", []))):
        found = table[column].unique().tolist()
        order = [name for name in known if name in found]
        table[column] = pandas.Categorical(table[column], [*order, *sorted(set(found) - set(order))], ordered=True)
    return table


def read_runs(folder: str | Path) -> list[dict[str, Any]]:
    """The metadata of all runs of a folder: configuration, problem, versions, time."""
    return [read_metadata(path) for path in run_files(Path(folder))]


def run_files(folder: Path) -> list[Path]:
    """The files of the runs of a folder, in the order of their names.

    Other workers write at the same time: what vanishes meanwhile, such as a hidden folder of theirs, is passed over.
    """
    return sorted(folder / path for path in glob("*/*/*.parquet", root_dir=folder))


def values_at(results: pandas.DataFrame, at: int | None = None) -> pandas.DataFrame:
    """What each run had found after a number of evaluations.

    Args:
        results: The table of `read_results`.
        at: Number of evaluations; None is that of the shortest run.

    Returns:
        One row a run: `RUN_COLUMNS`, `evaluation`, `best`, `regret`.

    Raises:
        ValueError: A run has fewer evaluations.
    """
    budgets = results.groupby(["optimizer", "problem", "seed"], observed=True)["evaluation"].max()
    shortest = int(budgets.min())
    at = shortest if at is None else at
    if not 1 <= at <= shortest:
        raise ValueError(f"at is {at}, expected a number of evaluations from 1 to {shortest}, those of every run.")
    rows = results.loc[results["evaluation"] == at, [*RUN_COLUMNS, "evaluation", "best", "regret"]]
    return rows.sort_values(["problem", "optimizer", "seed"], ignore_index=True)


def _campaign(folder: Path) -> dict[str, Any]:
    path = folder / CAMPAIGN_FILE
    campaign: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return campaign
