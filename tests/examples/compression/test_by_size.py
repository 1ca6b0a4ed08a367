"""The script that compares compressions to a size, and the table of the documentation that rests on stored results."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from compress.search_case import make_files
from example_case import EXAMPLES, load_example

RESULTS = EXAMPLES / "compression" / "results" / "minilm-sst2-by-size.json"
PAGE = EXAMPLES.parent / "docs" / "compression.md"


@pytest.fixture
def script() -> ModuleType:
    return load_example("compression/by_size")


def settings(folder: Path, steps: int) -> Namespace:
    return Namespace(
        model=folder / "my-bert",
        data=folder / "glue",
        task="mrpc",
        work=folder / "work",
        max_length=16,
        max_train=40,
        max_test=20,
        dense_steps=2,
        steps=steps,
        examples=8,
        search=0,
        sizes=[0.4],
        seeds=2,
    )


def test_every_way_is_judged_once_and_the_results_become_one_table(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_files(tmp_path)
    for steps in (0, 2):
        script.compare(settings(tmp_path, steps))
    rows = [json.loads(line) for line in (tmp_path / "work" / "rows.jsonl").read_text().splitlines()]
    ways = {(row["way"], row["steps"]): row["size"] for row in rows if row["seed"] == 0}
    assert {way for way, _ in ways} == {
        *("original", "int8", "by sensitivity", "by sensitivity, int8", "by sensitivity, rows"),
        *("one ratio", "plain, one ratio", "magnitude", "LoSparse"),
    }
    for (way, _), size in ways.items():
        if way in ("original", "int8"):
            assert size == 1.0
        else:  # LoSparse lets rows of all layers compete, so that tiny layers may stay whole
            assert 0.3 < size <= (0.8 if way == "LoSparse" else 0.41), way
    assert all(len(row["correct"]) == 20 for row in rows)
    count = len(rows)
    capsys.readouterr()
    script.compare(settings(tmp_path, 2))  # all is there
    assert len((tmp_path / "work" / "rows.jsonl").read_text().splitlines()) == count
    assert "accuracy" not in capsys.readouterr().out
    script.collect_rows(Namespace(work=[tmp_path / "work"], out=tmp_path / "all.parquet"))
    table = pd.read_parquet(tmp_path / "all.parquet")
    assert len(table) == count
    assert set(table["task"]) == {"mrpc"}
    assert table["correct"].map(len).eq(20).all()


def test_the_smallest_weights_are_zero_and_as_many_are_left_as_the_size_says(
    script: ModuleType, tmp_path: Path
) -> None:
    from compress.size_case import trained_problem

    problem = trained_problem()
    model = script.pruned(problem, 0.3)
    for layer in problem.plan.layers:
        weight, before = model.get_submodule(layer.name).weight, problem.model.get_submodule(layer.name).weight
        left = weight != 0
        assert int(left.sum()) == pytest.approx(0.3 * layer.parameters - layer.outputs, abs=1.01)
        assert before[left].abs().min() >= before[~left].abs().max()


def published() -> dict[str, list[str]]:
    """The cells of the table by the first."""
    text = PAGE.read_text(encoding="utf-8").split("| size | by sensitivity |")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    return {cells[0]: cells[1:] for cells in rows}


def test_the_published_table_is_that_of_the_stored_results() -> None:
    stored = json.loads(RESULTS.read_text(encoding="utf-8"))
    found = {(row.get("target", 1.0), row["way"]): row for row in stored["results"]}

    def both(target: float, way: str) -> str:
        return "{validation:.3f} / {test:.3f}".format(**found[target, way])

    table = published()
    for size in (0.5, 0.3, 0.15):
        figures = stored["figures"][f"size {size:g}"]
        assert table[f"{size:g}"] == [
            both(size, "by sensitivity, whitened"),
            both(size, "one ratio, whitened"),
            both(size, "one ratio, plain"),
            f"{figures['megabytes']:.1f}",
            f"{figures['flops'] / 1e6:.0f}",
        ]
    assert table["1, the original"][0] == both(1.0, "original")
    assert table["1, eight bits"][0] == both(1.0, "int8")
    assert table["1, eight bits"][3] == f"{stored['figures']['int8']['megabytes']:.1f}"
    loss = {way: found[1.0, "original"]["test"] - found[0.3, way]["test"] for _, way in found if (0.3, way) in found}
    recovered = 1 - loss["by sensitivity, whitened"] / loss["one ratio, whitened"]
    said = re.search(r"which is (\d+) % of what one ratio loses there", PAGE.read_text(encoding="utf-8"))
    assert said is not None
    assert round(100 * recovered) == int(said[1])
