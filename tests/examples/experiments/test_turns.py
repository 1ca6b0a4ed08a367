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
    section = text[text.index("## Steps near the best point") : text.index("### What a local step models")]
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


def test_the_share_of_searches_in_which_cobyqa_is_better_is_the_published_one(turns: ModuleType) -> None:
    said = " ".join((EXAMPLES.parent / "docs" / "faq.md").read_text(encoding="utf-8").split())
    pandas = pytest.importorskip("pandas")
    kept = pandas.read_parquet(EXAMPLES.parent / "docs" / "results" / "local-steps.parquet")
    kept = kept[(kept.batch == 2) & kept.recipe.isin(["gains", "cobyqa"])]
    kept = kept.assign(end=[max(curve[-1], 1e-3) for curve in kept.curve])
    ends = kept.pivot_table(index=["problem", "dims", "seed"], columns="recipe", values="end").dropna()
    lower, level = (ends.cobyqa < ends.gains).mean(), (ends.cobyqa == ends.gains).mean()
    assert f"Among {len(ends)} pairs" in said
    assert (
        f"steps in {lower:.0%}, level in {level:.0%}, and higher in {1 - lower - level:.0%}".replace("%", " %") in said
    )
