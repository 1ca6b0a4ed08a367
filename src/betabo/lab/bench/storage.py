"""A run as a Parquet file: one row an evaluation, the metadata as JSON in the schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from betabo.lab.bench.extras import require
from betabo.lab.bench.run import Record

_KEY = b"betabo"
_FORMAT = 1


def encode(record: Record) -> bytes:
    """The record as the contents of a Parquet file."""
    arrow = require("pyarrow")
    number, text, numbers = arrow.float64(), arrow.string(), arrow.list_(arrow.float64())
    types = {
        "evaluation": arrow.int32(),
        "origin": text,
        "fit": text,
        "x": numbers,
        "bandwidth": numbers,
        "lengthscale": numbers,
    }
    columns = list(record.rows[0])
    metadata = {_KEY: json.dumps({"format": _FORMAT, **record.metadata}, allow_nan=False).encode()}
    schema = arrow.schema([(name, types.get(name, number)) for name in columns], metadata=metadata)
    sink = arrow.BufferOutputStream()
    require("pyarrow.parquet").write_table(arrow.Table.from_pylist(record.rows, schema=schema), sink)
    return bytes(sink.getvalue())


def read_metadata(path: Path) -> dict[str, Any]:
    """The metadata of a run's file.

    Raises:
        ValueError: The file is not one that `encode` made.
    """
    arrow = require("pyarrow")
    try:
        stored = require("pyarrow.parquet").read_schema(path).metadata or {}
        metadata: dict[str, Any] = json.loads(stored[_KEY])
    except (arrow.ArrowInvalid, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not the record of a run; move it away.") from error
    if metadata.get("format") != _FORMAT:
        raise ValueError(f"{path} has format {metadata.get('format')!r}, expected {_FORMAT}.")
    return metadata
