"""Parallel coordinates have every trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optuna
from optuna.distributions import FloatDistribution

from betabo.report import figures
from betabo.report.facts import read_study

Add = Callable[..., None]
X = {"x": FloatDistribution(0, 1)}


def by_name(figure: Any) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data}


def test_parallel_has_a_line_for_each_trial(study: optuna.Study) -> None:
    facts = read_study(study)
    figure = figures.parallel(facts, ["drop", "layers"], facts.complete)
    lines = [list(trace.y) for trace in figure.data]
    assert sum(line.count(None) for line in lines) == 25
    assert all(0 <= y <= 1 for line in lines for y in line if y is not None)
