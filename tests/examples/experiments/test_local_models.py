"""The searches behind the comparison of models for local steps."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from example_case import EXAMPLES, load_example


@pytest.fixture(scope="module")
def local_models() -> ModuleType:
    pytest.importorskip("pyarrow")
    return load_example("experiments/local_models")


def test_published_numbers_are_those_of_the_kept_searches(local_models: ModuleType) -> None:
    text = (EXAMPLES.parent / "docs" / "experiments.md").read_text(encoding="utf-8")
    section = text[text.index("### What a local step models") : text.index("### How a local step is fitted")]
    blocks = [block for block in section.split("\n\n") if block.startswith("| recipe")]
    assert len(blocks) == len(local_models.BASES) == 2
    for family, block in zip(local_models.BASES, blocks, strict=True):
        head, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        assert [head, *lines] == local_models.rows(family)


def test_who_ends_at_the_vertex(local_models: ModuleType) -> None:
    found = local_models.vertex()
    default = found[found["recipe"] == "the default"].groupby("problem")["lowest"].apply(sorted)
    assert default["vertex-2-3"] == default["vertex-2-10"] == [0.0, 0.0]
    assert default["vertex-5-3"] == [0.0, pytest.approx(0.004, abs=5e-4)]
    assert default["vertex-5-10"] == [0.0, pytest.approx(0.08, abs=5e-3)]
    peers = found[found["seed"] == 0].pivot_table(index="problem", columns="recipe", values="lowest")
    assert (peers["optuna-gp"] == 0).all()
    assert (peers["cobyqa"] > 0.1).all()


def test_where_the_remainder_wins_and_loses(local_models: ModuleType) -> None:
    table = local_models.regrets(15).loc["sbox-5"]
    logs = (table["remainder"] - table["the default"]).dropna()
    assert ((logs < 0).sum(), (logs > 0).sum()) == (15, 7)
    lost = logs.sort_values().index.get_level_values("problem")[-2:]
    assert set(lost) == {"sbox-f2-d5-i1", "sbox-f10-d5-i1"}
    assert sorted(np.exp(logs).to_numpy())[-2:] == pytest.approx([70, 150], rel=0.1)
