"""The searches behind the comparison of fits for local steps."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from example_case import EXAMPLES, load_example


@pytest.fixture(scope="module")
def local_fits() -> ModuleType:
    pytest.importorskip("pyarrow")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLES / "experiments")
        return load_example("experiments/local_fits")


def test_published_numbers_are_those_of_the_kept_searches(local_fits: ModuleType) -> None:
    text = (EXAMPLES.parent / "docs" / "experiments.md").read_text(encoding="utf-8")
    section = text[text.index("### How a local step is fitted") : text.index("## Batches")]
    blocks = [block for block in section.split("\n\n") if block.startswith("| recipe")]
    assert len(blocks) == len(local_fits.BASES) == 2
    for base, block in zip(local_fits.BASES, blocks, strict=True):
        head, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        assert [head, *lines] == local_fits.rows(base)


def test_what_was_kept_had_less_regret_in_five_dimensions(local_fits: ModuleType) -> None:
    table = local_fits.logarithms(5, 15)
    logs = (table["likeliest of a few, lowest mean"] - table["the default before"]).dropna()
    means = np.random.default_rng(1).choice(logs, (2000, len(logs))).mean(axis=1)
    assert len(logs) > 30
    assert np.quantile(means, 0.975) < 0
