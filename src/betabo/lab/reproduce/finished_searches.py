"""Finished searches in one small file, which is committed beside the figures drawn from it.

Of each search it keeps the curve of best values, the distances of the points to the boundary, and the best point. That
is what tables and curves are made of, and a campaign goes on from it; the other points and the models are not kept. The
description of the campaign, which gives tables their order, is kept with them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from betabo.files import whole_file, write_bytes
from betabo.lab.bench.extras import require
from betabo.lab.bench.results import run_files
from betabo.lab.bench.run import Record, Run
from betabo.lab.bench.runner import CAMPAIGN_FILE
from betabo.lab.bench.storage import encode, read_metadata
from betabo.lab.reproduce.files import markdown_table

_LEVEL = 19  # of compression: the file is written seldom and kept for long


def pack(folder: Path, file: Path) -> int:
    """Write all finished searches of a folder to one Parquet file.

    Args:
        folder: The folder that a campaign wrote to.
        file: The file, which is replaced.

    Returns:
        Number of searches. Where there is none, no file is written.
    """
    arrow, parquet = require("pyarrow"), require("pyarrow.parquet")
    rows = [_packed(path) for path in run_files(folder)]
    if rows:
        short = arrow.list_(arrow.float32())
        types = {"best": arrow.list_(arrow.float64()), "boundary_distance": short, "best_point": short}
        campaign = folder / CAMPAIGN_FILE
        metadata = {CAMPAIGN_FILE: campaign.read_bytes()} if campaign.exists() else {}
        schema = arrow.schema([(name, types.get(name, arrow.string())) for name in rows[0]], metadata=metadata)
        with whole_file(file, parents=True) as path:
            parquet.write_table(
                arrow.Table.from_pylist(rows, schema=schema), path, compression="zstd", compression_level=_LEVEL
            )
    return len(rows)


def unpack(file: Path, folder: Path) -> int:
    """Write the searches of a packed file to a folder as a campaign does; those that it has are left alone.

    Returns:
        Number of searches that were written.
    """
    count = 0
    table = require("pyarrow.parquet").read_table(file)
    campaign = (table.schema.metadata or {}).get(CAMPAIGN_FILE.encode())
    if campaign is not None and not (folder / CAMPAIGN_FILE).exists():
        write_bytes(folder / CAMPAIGN_FILE, campaign, parents=True)
    for row in table.to_pylist():
        target = folder / f"{row['search']}.parquet"
        if not target.exists():
            metadata = json.loads(row["metadata"]) | {"best_point": row["best_point"]}
            starts = metadata["configuration"]["starting_points"]
            rows = [
                {
                    "evaluation": number + 1,
                    "origin": "start" if number < starts else "model",
                    "boundary_distance": distance,
                    "best": best,
                }
                for number, (best, distance) in enumerate(zip(row["best"], row["boundary_distance"], strict=True))
            ]
            write_bytes(target, encode(Record(rows, metadata)), parents=True)
            count += 1
    return count


def how_much(folder: Path, runs: Sequence[Run]) -> tuple[int, str]:
    """How many of the planned searches are finished, and a table of that by optimizer."""
    finished = [run for run in runs if (folder / f"{run.key}.parquet").exists()]
    rows = []
    for optimizer in dict.fromkeys(run.optimizer for run in runs):
        planned, done = ([run for run in which if run.optimizer == optimizer] for which in (runs, finished))
        seeds = ", ".join(str(seed) for seed in sorted({run.seed for run in done})) or "-"
        rows.append([optimizer, str(len(done)), str(len(planned)), seeds])
    table = markdown_table(["search", "finished", "planned", "seeds that are begun"], rows)
    return len(finished), f"{len(finished)} of {len(runs)} searches are finished.\n\n{table}"


def _packed(path: Path) -> dict[str, Any]:
    metadata = read_metadata(path)
    table = require("pyarrow.parquet").ParquetFile(path).read()
    best = table["best"].to_pylist()
    if "x" in table.column_names:
        metadata["best_point"] = table["x"][best.index(min(best))].as_py()
    return {
        "search": str(path.relative_to(path.parents[2]).with_suffix("")),
        "best": best,
        "boundary_distance": table["boundary_distance"].to_pylist(),
        "best_point": metadata.pop("best_point"),
        "metadata": json.dumps(metadata),
    }
