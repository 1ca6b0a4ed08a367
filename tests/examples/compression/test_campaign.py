"""The campaign of compressions, on a tiny model, and its rivals."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch.nn.functional import linear

from betabo.compress.int8 import Int8Linear
from compress.search_case import make_files
from compress.size_case import trained_problem
from example_case import load_example

RATIO = 0.4


@pytest.fixture
def campaign() -> ModuleType:
    return load_example("compression/campaign")


@pytest.fixture
def packed(campaign: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny model and examples of MRPC, packed; `campaign` imports packing.py under its own name."""
    packing = sys.modules["packing"]
    monkeypatch.setattr(packing, "LENGTHS", {"mrpc": 16})
    monkeypatch.setattr(packing, "MOST", {"mrpc": (None, None)})
    monkeypatch.setattr(campaign, "PAPER_TASK", "mrpc")
    make_files(tmp_path)
    packing.pack(tmp_path / "my-bert", tmp_path / "glue", tmp_path, tmp_path / "packed")
    return tmp_path / "packed"


def rows_of(
    campaign: ModuleType, packed: Path, out: Path, known: Path | None = None, parts: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """What one process makes of some parts, or of all but that which needs the others."""
    scratch = out.with_name(f"{out.name}-scratch")
    for folder in (out, scratch):
        folder.mkdir()
    settings: dict[str, Any] = {
        "packed": packed,
        "out": out,
        "scratch": scratch,
        "known": known,
        "parts": parts or campaign.PARTS,
        "pairs": ["mrpc"],
        "sizes": [RATIO],
        "seeds": 1,
        "tiny": True,
        "device": "cpu",
        "worker": 0,
        "end": time.time() + 600,
    }
    campaign.Worker(Namespace(**settings)).work()
    assert not [*out.glob("error-*")]
    rows: list[dict[str, Any]] = campaign.read_rows(out)
    return rows


def test_every_part_gives_its_results_once(campaign: ModuleType, packed: Path, tmp_path: Path) -> None:
    rows = rows_of(campaign, packed, tmp_path / "out")
    ways = {part: {row["way"] for row in rows if row["part"] == part} for part in campaign.PARTS}
    assert ways["search"] == {"matern", "beta-paper"}
    assert ways["paper"] == {"uniform", *campaign.PAPER_KERNELS, *campaign.PAPER_MORE}
    assert ways["kernels"] == {"none", "random", *campaign.DESIGN_KERNELS}
    trained = {way for part in ("compare", "parts") for way in ways[part] if "; trained" in way}
    assert {"ours; trained", "LoSparse; trained on labels", "magnitude; trained on labels"} <= trained
    for row in rows:
        if row["part"] not in ("compare", "parts"):
            continue
        assert row.get("steps", 0) == (2 if row["way"] in trained else 0)
        if row["way"] in ("original", "int8"):
            assert row["reached"] == 1.0
        else:  # LoSparse lets rows of all layers compete, so that tiny layers may stay whole
            assert 0.3 < row["reached"] <= (0.8 if "LoSparse" in row["way"] else RATIO + 0.01), row["way"]
    (search,) = [row for row in rows if row["key"].startswith("search") and row["way"] == "matern"]
    values = [
        error + campaign.EXCESS * max(0.0, size - RATIO)
        for size, error in zip(search["sizes"], search["errors"], strict=True)
    ]
    assert len(values) == 4
    assert {"ours, rows", "inputs, labels", "ours, more examples"} < ways["parts"]
    assert search["reached"] == pytest.approx(search["sizes"][values.index(min(values))], abs=1e-9)
    assert rows_of(campaign, packed, tmp_path / "again", tmp_path / "out") == []
    timed = rows_of(campaign, packed, tmp_path / "times", tmp_path / "out", ["latency"])
    assert {row["way"] for row in timed} == {
        *("original", "int8", "ours; trained", "ours; trained; int8", "LoSparse; trained on labels"),
        *("one ratio, inputs; trained on labels", "search matern", "search beta-paper"),
    }
    assert all(0 < row["latency"] < 1 for row in timed)


def test_a_line_that_was_cut_off_is_no_result(campaign: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "rows-3.jsonl").write_text(json.dumps({"key": "a"}) + '\n{"key": "b', encoding="utf-8")
    assert campaign.read_rows(tmp_path) == [{"key": "a"}]
    assert campaign.read_rows(None) == []


def test_the_smallest_weights_are_zero_and_as_many_are_left_as_the_size_says(campaign: ModuleType) -> None:
    problem = trained_problem()
    model = campaign.pruned(problem, 0.3)
    for layer in problem.plan.layers:
        weight, before = model.get_submodule(layer.name).weight, problem.model.get_submodule(layer.name).weight
        left = weight != 0
        assert int(left.sum()) == pytest.approx(0.3 * layer.parameters - layer.outputs, abs=1.01)
        assert before[left].abs().min() >= before[~left].abs().max()


@pytest.mark.parametrize("shift", [0.0, 3.0, -0.4])
def test_inputs_are_rounded_as_torch_does_on_a_cpu(campaign: ModuleType, shift: float) -> None:
    torch.manual_seed(0)
    layer, x = torch.nn.Linear(24, 16), torch.randn(40, 24) + shift
    small = Int8Linear.of(layer.weight, layer.bias)
    with torch.no_grad():
        expected = small(x)
        found = linear(campaign.seven_bits(x), small._multiplied(), layer.bias)
        assert (expected - layer(x)).abs().max() > 1e-3
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
