"""Trials as marks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optuna
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState

from betabo.report import figures
from betabo.report.facts import best_so_far, read_study

Add = Callable[..., None]
X = {"x": FloatDistribution(0, 1)}


def by_name(figure: Any) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data}


def test_text_of_the_user_is_no_markup(hostile: str, add_trial: Add) -> None:
    study = optuna.create_study()
    add_trial(study, {hostile: 0.5}, [1.0], {hostile: X["x"]}, user_attrs={"note": hostile})
    add_trial(study, {hostile: 0.5}, None, {hostile: X["x"]}, state=TrialState.FAIL)
    facts = read_study(study)
    drawn = figures.convergence(facts, best_so_far(facts)).to_json()
    assert "<img" not in drawn
    assert "%{x}{{" not in drawn
