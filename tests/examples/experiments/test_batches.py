"""The searches behind the comparison of batches."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from betabo.lab.problems import problem_by_name
from example_case import EXAMPLES, load_example

DOCS = EXAMPLES.parent / "docs"


@pytest.fixture(scope="module")
def batches() -> ModuleType:
    return load_example("experiments/batches")


@pytest.mark.parametrize("name", ["batches.csv", "batches-under-way.csv"])
def test_published_numbers_are_those_of_the_kept_searches(batches: ModuleType, name: str) -> None:
    runs = pd.read_csv(DOCS / "results" / name)
    published = (DOCS / "experiments.md").read_text(encoding="utf-8")
    for q in sorted(set(runs["q"])):
        for method, logs in batches.ratios(runs, q).items():
            wins = f"{(logs < -1e-9).sum()} | {(logs > 1e-9).sum()} | {len(logs)}"
            assert not len(logs) or f"| {q} | {method} | {batches.cell(logs)} | {wins} |" in published


def test_a_ratio_is_between_runs_of_the_same_problem_and_seed(batches: ModuleType) -> None:
    rows = [
        {"problem": p, "method": m, "q": 4, "seed": s, "seconds": 1.0, "curve": f"100 {last}"}
        for p, m, s, last in (
            ("a", "betabo", 0, 4.0),
            ("a", "optuna-gp", 0, 8.0),
            ("a", "betabo", 1, 1.0),
            ("b", "betabo", 0, 1e-9),
            ("b", "optuna-gp", 0, 1e-7),
        )
    ]
    found = batches.ratios(pd.DataFrame(rows), 4)
    np.testing.assert_allclose(np.sort(np.exp(found["optuna-gp"])), [1.0, 2.0])  # both have solved the second


@pytest.mark.parametrize("method", ["betabo", "optuna-gp", "qlogei"])
def test_a_search_gives_the_best_regret_after_each_batch(batches: ModuleType, method: str) -> None:
    if method == "optuna-gp":
        pytest.importorskip("optuna")
    curve = batches.search("branin-2-centre", batches.METHODS[method], q=4, batches=3, seed=0)
    assert len(curve) == 3
    assert (np.diff(curve) <= 0).all()
    assert curve[-1] >= -1e-6
    assert problem_by_name("branin-2-centre").dim == 2
