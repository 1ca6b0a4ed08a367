"""The tables of the page on compression, and what they are computed from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from example_case import load_example


@pytest.fixture(scope="module")
def results() -> ModuleType:
    return load_example("compression/campaign_results")


def line(way: str, seed: int, size: float, test: float, **more: Any) -> str:
    metrics = {"accuracy": test, "f1": 0.0}
    row = {"key": f"compare/sst2/{seed}/{way}/{size}", "part": "compare", "pair": "sst2", "seed": seed, "way": way}
    return json.dumps({**row, "size": size, "validation": metrics, "test": metrics, "seconds": 1.0, **more})


@pytest.fixture
def runs(results: ModuleType, tmp_path: Path) -> pd.DataFrame:
    """Three seeds, in which ours loses half of what one ratio loses, and magnitude pruning is ahead."""
    lines = []
    for seed, shift in enumerate((-0.01, 0.0, 0.01)):
        lines += [line("original", seed, 1.0, 0.9 + shift), line("ours; trained", seed, 0.3, 0.8 + shift)]
        lines.append(line("one ratio, plain; trained on labels", seed, 0.3, 0.7 + shift))
        lines.append(line("magnitude; trained on labels", seed, 0.3, 0.84 - shift))
        lines.append(line("LoSparse; trained on labels", seed, 0.3, 0.95) if seed else line("x", 0, 0.3, 0.1))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "rows-0.jsonl").write_text("\n".join([*lines, lines[0]]), encoding="utf-8")
    (tmp_path / "pilot").mkdir()
    (tmp_path / "pilot" / "rows-1.jsonl").write_text(line("ours; trained", 0, 0.3, 0.1), encoding="utf-8")
    assert results.collect([tmp_path / "a", tmp_path / "pilot"], tmp_path / "runs.parquet") == 16
    table: pd.DataFrame = results.read(tmp_path / "runs.parquet")
    return table


def test_a_rival_that_is_ahead_is_a_loss(results: ModuleType, runs: pd.DataFrame) -> None:
    assert results.lost(runs)[2:] == ["| SST-2 | 0.3 | magnitude pruning | 4.0 | 3 of 3 |"]  # LoSparse lacks a seed


def test_what_is_recovered_is_a_share_of_the_loss(results: ModuleType, runs: pd.DataFrame) -> None:
    assert results.recovered(runs, "one ratio, plain; trained on labels") == {"sst2": pytest.approx(0.5)}


def test_means_have_the_standard_error_of_the_seeds(results: ModuleType) -> None:
    assert results.cell([0.79, 0.80, 0.81]) == "80.0 ± 0.6"
    mean, low, high = results.interval([1.0, 2.0, 3.0, 4.0])
    assert mean == 2.5
    assert 1.0 < low < 2.0
    assert 3.0 < high < 4.0


def test_published_tables_are_those_of_the_kept_runs(results: ModuleType) -> None:
    page = results.PAGE.read_text(encoding="utf-8")
    found = results.tables()
    assert set(re.findall(r"<!-- table (\w+) -->", page)) == set(found)
    assert results.written(page, found) == page


def test_published_shares_are_those_of_the_kept_runs(results: ModuleType) -> None:
    page, runs = results.PAGE.read_text(encoding="utf-8"), results.read()
    (sentence,) = re.findall(r"Of what (?:it|one ratio) loses at 0\.3, ours.*?\n\n", page, re.DOTALL)
    found = [
        f"{100 * share:.0f}"
        for rival in ("one ratio, plain; trained on labels", "one ratio, inputs; trained on labels")
        for share in results.recovered(runs, rival).values()
    ]
    assert re.findall(r"(\d+) %", sentence) == found


def test_what_the_page_says_of_tables_is_so(results: ModuleType) -> None:
    page, runs = " ".join(results.PAGE.read_text(encoding="utf-8").split()), results.read()
    table = results.compared(runs)
    behind = [
        100 * (table.loc[pair, 1.0, "int8"] - table.loc[pair, 0.5, "ours; trained; int8"]).mean()
        for pair in results.TITLES
    ]
    assert f"has {min(behind):.1f} to {max(behind):.1f} points less than eight bits alone" in page
    reached = runs[runs["part"] == "search"]["reached"]
    assert f"it ended at {reached.min():.2f} to {reached.max():.2f} instead of 0.3" in page
    assert all("eight bits alone" in row for row in results.lost(runs)[2:])  # no rival of the same size is ahead
    paper = runs[runs["part"] == "paper"].assign(best=lambda rows: rows["values"].map(min))
    by_seed = paper.pivot_table(index="seed", columns="way", values="best")
    assert len(by_seed) == 3
    assert (by_seed.drop(columns="uniform").min(axis=1) > by_seed["uniform"]).all()


def test_all_ways_at_a_size_have_about_that_size(results: ModuleType) -> None:
    runs = results.read()
    rows = runs[runs["part"].eq("compare") & runs["run"].ne(results.PILOT) & runs["size"].lt(1)]
    assert (rows["reached"] <= rows["size"] + 0.011).all()
    ours = rows[rows["way"].isin([results.OURS, results.OURS_NOW])]
    assert (ours["reached"] > ours["size"] - 0.005).all()
    assert rows[rows["way"].str.contains("trained")]["steps"].eq(200).all()


def test_the_front_page_says_what_the_table_says() -> None:
    root = Path(__file__).parents[3]
    page = (root / "docs" / "compression.md").read_text(encoding="utf-8")
    table = page[page.index("| original | 1 |") :]

    def row(way: str, size: str) -> list[str]:
        line = re.search(rf"^\| \**{way}\** \| {size} \|(.*)\|$", table, re.MULTILINE)
        assert line is not None
        return [cell.split("±")[0].strip(" *") for cell in line[1].split("|")]

    whole, ours, sparse, eight = (
        row("original", "1"),
        row("ours", "0.3"),
        row("LoSparse", "0.3"),
        row("eight bits", "1"),
    )
    readme = (root / "README.md").read_text(encoding="utf-8").replace("\n", " ")
    assert f"{ours[0]} of {whole[0]} points on SST-2 and {ours[2]} of {whole[2]} on SQuADShifts" in readme
    assert f"LoSparse keeps {sparse[0]} and {sparse[2]} with the same, short training" in readme
    assert f"bytes and keep {eight[0]} and {eight[2]}" in readme
