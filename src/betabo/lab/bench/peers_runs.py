"""The runs of betabo and its peers in one compact table: what each had found, evaluation by evaluation.

Regret is the lowest value without noise that a run has seen, less the optimum, or the best value known.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from betabo.files import write_bytes
from betabo.lab.bench.extras import require
from betabo.lab.bench.results import run_files
from betabo.lab.bench.storage import read_metadata

if TYPE_CHECKING:
    import pandas

RUN = ("suite", "problem", "seed")
"""What the runs that are compared with one another have in common."""


def read_peer_runs(folder: str | Path) -> pandas.DataFrame:
    """Read all runs of a folder, with a folder of runs for each suite in it.

    Returns:
        One row a run: `suite`, `problem`, `dims`, `group`, `near_face`, `seed`, `optimizer`, `budget`, `own_start`
        (whether the optimizer started as it does by itself), median `seconds` of a step, and the lists `evaluation`
        and `regret`: the evaluations, from 1, at which a lower value was found, and the regret from then on.

    Raises:
        ValueError: There are no runs.
    """
    pandas, parquet = require("pandas"), require("pyarrow.parquet")
    rows = []
    for path in (path for part in sorted(Path(folder).glob("*/")) for path in run_files(part)):
        metadata = read_metadata(path)
        columns = ["best", "origin", "ask_seconds", "tell_seconds"]
        steps = parquet.ParquetFile(path).read(columns=columns).to_pandas(ignore_metadata=True)
        rows.append(_row(path.parents[2].name, metadata, steps))
    if not rows:
        raise ValueError(f"{folder} holds no runs; `betabo bench peers --out {folder}` makes some.")
    return pandas.DataFrame(rows).sort_values([*RUN, "optimizer"], ignore_index=True)


def _row(suite: str, metadata: dict[str, Any], steps: pandas.DataFrame) -> dict[str, Any]:
    configuration, problem = metadata["configuration"], metadata["problem"]
    best = steps["best"].to_numpy()
    better = np.flatnonzero(np.diff(best, prepend=np.inf) < 0)
    model = steps[steps["origin"] == "model"]
    return {
        "suite": suite,
        "problem": configuration["problem"],
        "dims": problem["dim"],
        "group": problem.get("group", problem["placement"]),
        "near_face": problem.get("near_face", problem["placement"] in ("face", "vertex")),
        "seed": configuration["seed"],
        "optimizer": configuration["optimizer"],
        "budget": len(best),
        "own_start": configuration["starting_points"] == 0,
        "seconds": float((model["ask_seconds"] + model["tell_seconds"]).median()),
        "evaluation": (better + 1).astype(np.int32),
        "regret": best[better] - problem["optimal_value"],
    }


def regret_after(runs: pandas.DataFrame, evaluations: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """What each run had found after a number of its evaluations, `n` numbers for `n` runs."""
    found = np.empty(len(runs))
    pairs = zip(runs["evaluation"], runs["regret"], evaluations, strict=True)
    for row, (at, regret, limit) in enumerate(pairs):
        found[row] = regret[np.searchsorted(at, limit, side="right") - 1]
    return found


def first_below(runs: pandas.DataFrame, targets: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The evaluation at which each run reached each target, `n x k`; infinite where it did not.

    Args:
        runs: The table of `read_peer_runs`.
        targets: Regrets, `k` numbers.
    """
    reached = np.full((len(runs), len(targets)), np.inf)
    for row, (at, regret) in enumerate(zip(runs["evaluation"], runs["regret"], strict=True)):
        place = np.searchsorted(-np.asarray(regret), -targets)  # the regrets go down
        inside = place < len(regret)
        reached[row, inside] = np.asarray(at)[place[inside]]
    return reached


def write_packed(runs: pandas.DataFrame, path: str | Path) -> None:
    """Write the table of `read_peer_runs` as one Parquet file."""
    contents = io.BytesIO()
    runs.to_parquet(contents, index=False, compression="zstd")
    write_bytes(path, contents.getvalue(), parents=True)


def read_packed(path: str | Path) -> pandas.DataFrame:
    """The table that `write_packed` wrote."""
    table: pandas.DataFrame = require("pandas").read_parquet(path)
    return table
