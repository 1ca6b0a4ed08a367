from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from betabo.lab.reproduce import Context, Summary
from betabo.lab.reproduce.compression.draw import draw
from betabo.lab.reproduce.compression.results import (
    EXPERIMENTS_FILE,
    FINALS_FILE,
    SEARCHES_FILE,
)
from lab.reproduce.compression.case import Tables
from stored_searches import SEEDS


def test_every_experiment_has_its_figures(drawn: tuple[Path, Summary]) -> None:
    names = {"objectives", "acquisitions"}
    for experiment in ("tiny-images", "tiny-text"):
        names |= {f"{kind}-{experiment}" for kind in ("objective", "densities", "ratios")}
    for kind, magic in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
        assert {path.stem for path in drawn[0].glob(f"*.{kind}")} == names
        assert all(path.read_bytes().startswith(magic) for path in drawn[0].glob(f"*.{kind}"))


def test_summary_is_json(drawn: tuple[Path, Summary]) -> None:
    figures = json.loads(json.dumps(drawn[1].figures, allow_nan=False))
    assert figures["unfinished searches"] == 0
    assert figures["tiny-text"]["rbf"]["seeds"] == SEEDS
    assert figures["tiny-text"]["original"]["objective"] is None
    assert len(drawn[1].comparison.splitlines()) == 1


def test_unfinished_searches_are_counted_and_left_out(stored: Path, tmp_path: Path) -> None:
    for name in (SEARCHES_FILE, FINALS_FILE, EXPERIMENTS_FILE):
        (tmp_path / name).write_bytes((stored / name).read_bytes())
    table = pd.read_parquet(tmp_path / SEARCHES_FILE)
    short = (table["method"] == "rbf") & (table["seed"] == 1) & (table["trial"] > 9)
    table[~short].to_parquet(tmp_path / SEARCHES_FILE)
    figures = draw(Tables(tmp_path / "out"), tmp_path).figures
    assert figures["unfinished searches"] == 2
    assert figures["tiny-images"]["rbf"]["seeds"] == SEEDS - 1


def test_folder_without_searches_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"experiments.json is missing; expected a folder of stored searches"):
        draw(Context(tmp_path / "out"), tmp_path)
    assert not (tmp_path / "out").exists()
