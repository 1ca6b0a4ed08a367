"""Durable studies: stored in a database, worked on by any number of processes, resumed after anything.

Names are loaded when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from betabo.studies.command import CommandObjective
    from betabo.studies.errors import EvaluationFailedError, ObjectiveError, StudyError
    from betabo.studies.events import Event
    from betabo.studies.function import FunctionObjective
    from betabo.studies.manage import delete_study, rename_study
    from betabo.studies.objectives import Objective, objective_from_json
    from betabo.studies.parameters import parse_parameter, parse_parameters, show_parameter, space_from_toml
    from betabo.studies.plan import Plan, open_study
    from betabo.studies.runner import Runner, run_study
    from betabo.studies.storage import DEFAULT_STORAGE, StudyInfo, list_studies, load_study, open_storage, study_names
    from betabo.studies.stored_plan import study_space
    from betabo.studies.table import export, trial_rows
    from betabo.studies.worker import WorkerOutcome, run_worker
    from betabo.studies.workspace import Workspace

_HOME = {
    "CommandObjective": "command",
    "DEFAULT_STORAGE": "storage",
    "EvaluationFailedError": "errors",
    "Event": "events",
    "FunctionObjective": "function",
    "Objective": "objectives",
    "ObjectiveError": "errors",
    "Plan": "plan",
    "Runner": "runner",
    "StudyError": "errors",
    "StudyInfo": "storage",
    "WorkerOutcome": "worker",
    "Workspace": "workspace",
    "delete_study": "manage",
    "export": "table",
    "list_studies": "storage",
    "load_study": "storage",
    "objective_from_json": "objectives",
    "open_storage": "storage",
    "open_study": "plan",
    "parse_parameter": "parameters",
    "parse_parameters": "parameters",
    "rename_study": "manage",
    "run_study": "runner",
    "run_worker": "worker",
    "show_parameter": "parameters",
    "space_from_toml": "parameters",
    "study_names": "storage",
    "study_space": "stored_plan",
    "trial_rows": "table",
}

__all__ = [
    "DEFAULT_STORAGE",
    "CommandObjective",
    "EvaluationFailedError",
    "Event",
    "FunctionObjective",
    "Objective",
    "ObjectiveError",
    "Plan",
    "Runner",
    "StudyError",
    "StudyInfo",
    "WorkerOutcome",
    "Workspace",
    "delete_study",
    "export",
    "list_studies",
    "load_study",
    "objective_from_json",
    "open_storage",
    "open_study",
    "parse_parameter",
    "parse_parameters",
    "rename_study",
    "run_study",
    "run_worker",
    "show_parameter",
    "space_from_toml",
    "study_names",
    "study_space",
    "trial_rows",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'betabo.studies' has no attribute {name!r}")
    return getattr(import_module(f"betabo.studies.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
