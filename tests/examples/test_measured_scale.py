"""The measurements of steps with many evaluations."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results" / "scale.csv"


@pytest.fixture(scope="module")
def scale() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_scale", ROOT / "benchmarks" / "scale.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_published_table_is_that_of_the_kept_measurements(scale: ModuleType) -> None:
    assert scale.table(RESULTS) in (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")


def test_steps_with_ten_thousand_evaluations_keep_their_promise() -> None:
    rows = pd.read_csv(RESULTS)
    mine = rows[(rows["contender"] == "betabo") & (rows["n"] == 10_000)]
    assert set(mine["dims"]) == {6, 20}
    assert mine["later"].max() < 2
    assert mine["memory"].max() < 2048


def test_what_was_stopped_is_said_to_be(scale: ModuleType, tmp_path: Path) -> None:
    rows = [[6, 500, "betabo", 1.0, 0.5, 1024.0], [6, 500, "botorch", 9.0, float("nan"), float("nan")]]
    path = tmp_path / "scale.csv"
    pd.DataFrame(rows, columns=scale.COLUMNS).to_csv(path, index=False)
    assert scale.table(path).splitlines()[-1] == "| 6 | 500 | 1.0 s, 0.5 s, 1.0 GiB | stopped |"
