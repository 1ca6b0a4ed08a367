"""The plan as it is stored with its study."""

from __future__ import annotations

from collections.abc import Callable

import optuna

from betabo.studies import Plan, open_study
from betabo.studies.stored_plan import stored_plan, study_space


def test_a_plan_is_found_with_its_study(make_plan: Callable[..., Plan]) -> None:
    plan = make_plan(trials=7)
    study = open_study(plan)
    stored = stored_plan(study)
    assert stored is not None
    assert Plan.from_json({**stored, "study": plan.study}) == plan
    assert study_space(study) == plan.space


def test_a_study_of_optunas_has_none() -> None:
    study = optuna.create_study()
    assert stored_plan(study) is None
    assert study_space(study) is None
