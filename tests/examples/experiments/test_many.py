"""The experiment on very many evaluations."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from betabo.optimizer import many as choices
from example_case import EXAMPLES, load_example


@pytest.fixture(scope="module")
def many() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES / "experiments"))  # where its functions are
        yield load_example("experiments/many")


def test_both_models_are_told_the_same_evaluations_and_then_differ(
    many: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = many.PROBLEMS[0]
    monkeypatch.setattr(choices, "_MOST", 40)
    monkeypatch.setattr(choices, "_LEAST", 40)
    curves = {}
    for model in ("choice", "all"):
        found = many.search(problem, model, seed=0, told=95, steps=20)
        curves[model] = [float(regret) for regret in found["curve"].split()]
        assert len(curves[model]) == 3
        assert (np.diff(curves[model]) <= 0).all()
    assert curves["choice"][0] == curves["all"][0]
    assert curves["choice"] != curves["all"]


def test_the_ratio_is_that_of_pairs(many: ModuleType) -> None:
    rows = [
        {"problem": p, "model": m, "seed": 0, "seconds": 1.0, "curve": f"9 {last}"}
        for p, m, last in (("a", "choice", 2.0), ("a", "all", 1.0), ("b", "choice", 1.0))
    ]
    np.testing.assert_allclose(np.exp(many.ratios(pd.DataFrame(rows))), [2.0])
