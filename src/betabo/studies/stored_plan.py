"""The plan as it is stored with its study."""

from __future__ import annotations

from typing import Any

from optuna.study import Study

from betabo.space import Space

PLAN = "betabo:plan"


def stored_plan(study: Study) -> dict[str, Any] | None:
    """The plan of a study without the storage's address; None if it was not opened by `open_study`."""
    return study.user_attrs.get(PLAN)


def study_space(study: Study) -> Space | None:
    """The search space of a study; None if it was not opened by `open_study`."""
    stored = stored_plan(study)
    return None if stored is None else Space.from_json(stored["space"])
