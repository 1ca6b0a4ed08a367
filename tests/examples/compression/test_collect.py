"""The script that collects the runs of the compression experiments."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from betabo.lab.reproduce.compression.results import (
    EXPERIMENTS_FILE,
    FINALS_FILE,
    SEARCHES_FILE,
)
from example_case import load_example
from stored_searches import write_stored


@pytest.fixture(scope="module")
def collect() -> Callable[..., dict[str, int]]:
    found: Callable[..., dict[str, int]] = load_example("compression/collect").collect
    return found


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_stored(tmp_path_factory.mktemp("stored"))


@pytest.mark.parametrize("trials", [34, 35], ids=["unfinished", "finished"])
def test_latency_belongs_to_the_timed_model_alone(
    trials: int, collect: Callable[..., dict[str, int]], tmp_path: Path
) -> None:
    """The timed model is the best of all seeds; if its search is not finished, no row has a latency."""
    about = {
        "title": "a tiny model",
        "metric": "accuracy",
        "flops": 10,
        "parameters": 9,
        "left_out": [],
        "seconds": 1.0,
    }
    about |= {"validation": {"accuracy": 0.9}, "test": {"accuracy": 0.8}, "also": {}}
    prepared, searches = tmp_path / "prepared" / "tiny", tmp_path / "searches"
    prepared.mkdir(parents=True)
    searches.mkdir()
    (prepared / "facts.json").write_text(json.dumps(about))
    measured = {"error": 0.1, "flops": 5, "parameters": 4, "metrics": {"accuracy": 0.9}, "test": {"accuracy": 0.7}}
    for seed, count, objective in ((0, 35, 0.6), (1, trials, 0.5)):
        lines = [
            {"trial": k, "x": [0.5], "objective": objective, "size": objective - 0.1} | measured for k in range(count)
        ]
        (searches / f"tiny-rbf-ucb-s{seed}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    timed = [
        {"experiment": "tiny", "method": method, "batch": batch, "median": seconds}
        for method, batch, seconds in (
            ("original", 1, 3.0),
            ("original", 128, 4.0),
            ("rbf/ucb", 1, 1.0),
            ("rbf/ucb", 128, 2.0),
        )
    ]
    (tmp_path / "latency-cuda.json").write_text(json.dumps({"rows": timed, "device": "a GPU"}))
    counts = collect(tmp_path, tmp_path / "out", "make")
    assert counts["searches"] == 1 + (trials == 35)
    finals = pd.read_parquet(tmp_path / "out" / FINALS_FILE).set_index(["method", "seed"])
    assert finals.loc[("original", 0), ["latency_gpu", "latency_gpu_one"]].to_list() == [4.0, 3.0]
    assert np.isnan(finals.loc[("rbf", 0), "latency_gpu"])
    if trials == 35:
        assert finals.loc[("rbf", 1), ["latency_gpu", "latency_gpu_one"]].to_list() == [2.0, 1.0]
    assert finals["latency_cpu"].isna().all()
    described = json.loads((tmp_path / "out" / EXPERIMENTS_FILE).read_text())["tiny"]
    assert (described["title"], described["timed"], described["command"]) == ("A tiny model", {"cuda": "a GPU"}, "make")


def test_collecting_nothing_is_refused_and_writes_nothing(
    collect: Callable[..., dict[str, int]], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit, match="holds no prepared experiment"):
        collect(tmp_path / "nowhere", tmp_path / "out", "make")
    assert not (tmp_path / "out").exists()


def test_collecting_keeps_the_experiments_of_other_runs(
    stored: Path, collect: Callable[..., dict[str, int]], tmp_path: Path
) -> None:
    folder, run = Path(shutil.copytree(stored, tmp_path / "stored")), tmp_path / "run"
    before = {name: pd.read_parquet(folder / name) for name in (SEARCHES_FILE, FINALS_FILE)}
    prepared = run / "prepared" / "tiny-text"
    prepared.mkdir(parents=True)
    about = {"title": "again", "metric": "accuracy", "flops": 1, "parameters": 1, "left_out": [], "seconds": 1.0}
    about |= {"validation": {"accuracy": 0.9}, "test": {"accuracy": 0.8}, "also": {}}
    (prepared / "facts.json").write_text(json.dumps(about))
    collect(run, folder, "make")
    searches, finals = (pd.read_parquet(folder / name) for name in before)
    assert set(searches["experiment"]) == {"tiny-images"}  # the other one is replaced, by a run without searches
    kept = before[SEARCHES_FILE][before[SEARCHES_FILE]["experiment"] == "tiny-images"].reset_index(drop=True)
    pd.testing.assert_frame_equal(searches[kept.columns], kept)
    assert finals.groupby("experiment").size()["tiny-text"] == 1
    described = json.loads((folder / EXPERIMENTS_FILE).read_text())
    assert list(described) == ["tiny-images", "tiny-text"]
    assert described["tiny-text"]["title"] == "Again"
