"""The searches behind the comparison of local and global steps."""

from __future__ import annotations

from types import ModuleType

import pytest

from example_case import EXAMPLES, load_example


@pytest.fixture(scope="module")
def turns() -> ModuleType:
    pytest.importorskip("pyarrow")
    return load_example("experiments/turns")


def test_published_numbers_are_those_of_the_kept_searches(turns: ModuleType) -> None:
    text = (EXAMPLES.parent / "docs" / "experiments.md").read_text(encoding="utf-8")
    section = text[text.index("## Steps near the best point") : text.index("## Where it stands")]
    blocks = [block for block in section.split("\n\n") if block.startswith("| recipe")]
    assert len(blocks) == 2
    for batch, block in enumerate(blocks, start=1):
        found = turns.ratios(batch)
        head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        assert len(rows) == len(found) - 1  # all recipes but the one that they are compared with
        for recipe, *cells in rows:
            for group, cell in zip(head[1:], cells, strict=True):
                assert cell == turns.cell(found[recipe][group])


def test_gains_are_better_than_the_global_model_in_every_group(turns: ModuleType) -> None:
    found = turns.ratios(2)["gains"]
    assert {group: logs.mean() < 0 for group, logs in found.items()} == dict.fromkeys(turns.GROUPS, True)
