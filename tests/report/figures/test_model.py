"""Figures of what the model says hold the numbers of its tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from optuna.distributions import FloatDistribution

from betabo.report import figures
from betabo.report.importance import Importance
from betabo.report.predictions import LEVELS, Slice

Add = Callable[..., None]
X = {"x": FloatDistribution(0, 1)}


def by_name(figure: Any) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data}


def test_importance_has_the_most_important_on_top() -> None:
    table = Importance(0, ["a", "b", "c"], [0.5, 0.2, 0.1], [0.6, 0.3, 0.1], [0.4, 0.3, 0.0], [0.7, 0.5, 0.2])
    found = by_name(figures.importance(table, most=2))
    assert list(found["alone (first order)"].y) == ["b", "a"]
    assert list(found["with interactions (total)"].x) == [0.3, 0.6]
    interval = found["90 % interval of the total"]
    assert list(interval.x) == [0.3, 0.6]
    assert list(interval.error_x.array) == pytest.approx([0.2, 0.1])
    assert list(interval.error_x.arrayminus) == pytest.approx([0.0, 0.2])


def test_a_slice_is_a_median_between_bands() -> None:
    quantiles = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, 4.0], [4.0, 5.0]])
    assert len(LEVELS) == len(quantiles)
    table = Slice("x", 0, [0.0, 1.0], quantiles, is_discrete=False)
    figure = figures.posterior_slice(table, "value", (0.5, 2.5), (False, False), (0.0, 5.0), [0.1, 0.9])
    drawn = [list(trace.y) for trace in figure.data]
    assert [2.0, 3.0] in drawn
    assert [2.5] in drawn
    assert list(figure.layout.yaxis.range) == [0.0, 5.0]
