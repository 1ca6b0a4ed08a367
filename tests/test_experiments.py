"""The problems that the default was tuned and looked at on."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXPERIMENTS = Path(__file__).parents[1] / "examples" / "experiments"

MINIMIZERS = {  # from the literature
    "michalewicz-5": [2.202906, 1.570796, 1.284992, 1.923058, 1.720470],
    "schwefel-4": [420.968746] * 4,
    "schwefel-8": [420.968746] * 8,
    "zakharov-6": [0.0] * 6,
    "dixon_price-8": [2.0 ** -((2**i - 2) / 2**i) for i in range(1, 9)],
    "powell-8": [0.0] * 8,
    "shekel-4": [4.0007465, 4.0005929, 3.9996634, 3.9995098],
    "rastrigin-3": [0.0] * 3,
    "rastrigin-12": [0.0] * 12,
    "goldstein_price-2": [0.0, -1.0],
    "six_hump_camel-2": [0.0898420, -0.7126564],
    "eggholder-2": [512.0, 404.231805],
    "cosine_mixture-8": [0.0] * 8,
    "trid-6": [i * (7 - i) for i in range(1, 7)],
    "salomon-5": [0.0] * 5,
    "alpine-6": [0.0] * 6,
    "stairs-6": [0.0] * 6,
    "slope-12": [1.0, 0.0] * 6,
}


@pytest.fixture
def classics(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    monkeypatch.delitem(sys.modules, "classics", raising=False)
    import classics

    return classics


def test_least_values_of_the_literature_are_those_at_its_minimizers(classics: ModuleType) -> None:
    known = {problem.name.removesuffix("-classic"): problem for problem in classics.CLASSICS}
    for name, minimizer in MINIMIZERS.items():
        problem = known[name]
        low, high = np.array(problem.bounds, dtype=float).T
        unit = (np.array(minimizer) - low) / (high - low)
        assert ((unit >= 0) & (unit <= 1)).all(), name
        assert problem.objective(0)(unit) == pytest.approx(problem.best(0), abs=2e-5), name


def test_no_point_is_below_the_least_value(classics: ModuleType) -> None:
    generator = np.random.default_rng(0)
    for problem in classics.CLASSICS:
        best, objective = problem.best(0), problem.objective(0)
        values = [objective(u) for u in generator.random((500, problem.dim))]
        assert all(math.isfinite(value) for value in values), problem.name
        assert min(values) > best, problem.name


@pytest.mark.usefixtures("classics")
def test_moved_problems_have_their_optimum_where_they_say() -> None:
    import moved

    for problem in moved.PROBLEMS:
        optimum = problem.optimum(3)
        on_bounds = int(((optimum <= 0) | (optimum >= 1)).sum())
        expected = {"interior": 0, "face": 1, "faces": max(2, problem.dim // 3), "vertex": problem.dim}
        if problem.placement == "outside":
            assert ((optimum < 0) | (optimum > 1)).sum() == problem.dim // 2
        else:
            assert on_bounds == expected[problem.placement]
            assert problem.best(3) == pytest.approx(0, abs=1e-4 * problem.dim)


class TestTurns:
    """The searches behind the comparison of local and global steps."""

    @pytest.fixture
    def turns(self, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
        pytest.importorskip("pyarrow")
        monkeypatch.syspath_prepend(str(EXPERIMENTS))
        monkeypatch.delitem(sys.modules, "turns", raising=False)
        import turns

        return turns

    def test_published_numbers_are_those_of_the_kept_searches(self, turns: ModuleType) -> None:
        text = (EXPERIMENTS.parents[1] / "docs" / "experiments.md").read_text(encoding="utf-8")
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

    def test_gains_are_better_than_the_global_model_in_every_group(self, turns: ModuleType) -> None:
        found = turns.ratios(2)["gains"]
        assert {group: logs.mean() < 0 for group, logs in found.items()} == dict.fromkeys(turns.GROUPS, True)
