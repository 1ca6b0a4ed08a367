from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from betabo.lab.bench.run import Record
from betabo.lab.bench.storage import encode, read_metadata

ROWS = [{"evaluation": 1, "origin": "start", "x": [0.5, 0.25], "value": 2.0, "bandwidth": []}]


def test_a_record_comes_back_with_its_types(tmp_path: Path) -> None:
    path = tmp_path / "0.parquet"
    path.write_bytes(encode(Record(ROWS, {"seconds": 1.5})))
    assert read_metadata(path) == {"format": 1, "seconds": 1.5}
    table = pyarrow.parquet.read_table(path)
    assert table.to_pylist() == ROWS
    assert table.schema.field("bandwidth").type == pyarrow.list_(pyarrow.float64())  # also where all are empty


def test_metadata_have_to_be_numbers() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode(Record(ROWS, {"seconds": float("nan")}))


def test_another_file_is_refused(tmp_path: Path) -> None:
    text, foreign, future = (tmp_path / name for name in ("text", "foreign", "future"))
    text.write_text("no Parquet")
    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), foreign)
    schema = pyarrow.schema([("a", pyarrow.int64())], metadata={b"betabo": b'{"format": 2}'})
    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}, schema=schema), future)
    for path in (text, foreign):
        with pytest.raises(ValueError, match=f"{path} is not the record of a run; move it away"):
            read_metadata(path)
    with pytest.raises(ValueError, match="has format 2, expected 1"):
        read_metadata(future)
