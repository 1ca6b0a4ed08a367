"""Durable studies: stored in a database, worked on by any number of processes, resumed after anything.

Names are loaded when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from betabo.lazy import loaded_when_used

if TYPE_CHECKING:
    from betabo.space.text import parse_parameter, parse_parameters, show_parameter, space_from_toml
    from betabo.studies.command import CommandObjective
    from betabo.studies.errors import DamagedStudyError, EvaluationFailedError, ObjectiveError, StudyError
    from betabo.studies.events import Event
    from betabo.studies.function import FunctionObjective
    from betabo.studies.manage import delete_study, rename_study
    from betabo.studies.objectives import Objective, objective_from_json
    from betabo.studies.plan import Plan, open_study
    from betabo.studies.runner import Runner, run_study
    from betabo.studies.stopping import as_stopping, study_remaining_gain
    from betabo.studies.storage import DEFAULT_STORAGE, StudyInfo, list_studies, load_study, open_storage, study_names
    from betabo.studies.stored_plan import study_space
    from betabo.studies.table import export, trial_rows
    from betabo.studies.widening import move_box, study_gains_beyond
    from betabo.studies.worker import WorkerOutcome, run_worker
    from betabo.studies.workspace import Workspace

__all__ = [
    "DEFAULT_STORAGE",
    "CommandObjective",
    "DamagedStudyError",
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
    "as_stopping",
    "delete_study",
    "export",
    "list_studies",
    "load_study",
    "move_box",
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
    "study_gains_beyond",
    "study_names",
    "study_remaining_gain",
    "study_space",
    "trial_rows",
]

__getattr__, __dir__ = loaded_when_used(
    __name__,
    {
        "command": ["CommandObjective"],
        "errors": ["DamagedStudyError", "EvaluationFailedError", "ObjectiveError", "StudyError"],
        "events": ["Event"],
        "function": ["FunctionObjective"],
        "manage": ["delete_study", "rename_study"],
        "objectives": ["Objective", "objective_from_json"],
        "betabo.space.text": ["parse_parameter", "parse_parameters", "show_parameter", "space_from_toml"],
        "plan": ["Plan", "open_study"],
        "runner": ["Runner", "run_study"],
        "storage": ["DEFAULT_STORAGE", "StudyInfo", "list_studies", "load_study", "open_storage", "study_names"],
        "stopping": ["as_stopping", "study_remaining_gain"],
        "stored_plan": ["study_space"],
        "table": ["export", "trial_rows"],
        "widening": ["move_box", "study_gains_beyond"],
        "worker": ["WorkerOutcome", "run_worker"],
        "workspace": ["Workspace"],
    },
)
