"""A plan is everything that a worker has to know; a study is opened, or resumed, from it."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.study import Study, StudyDirection, create_study

from betabo.optimizer.config import Config
from betabo.optimizer.known import KnownPoint, read_known
from betabo.optuna.attributes import PLAN
from betabo.optuna.trials import state_of
from betabo.problem import DIRECTIONS, VALUE, Problem
from betabo.space import Space
from betabo.space.text import show_parameter
from betabo.studies.beginning import begin_with
from betabo.studies.errors import StudyError
from betabo.studies.objectives import Objective, describe_stored, objective_from_json
from betabo.studies.storage import DEFAULT_STORAGE, open_storage, quiet_optuna, storage_place
from betabo.studies.stored_plan import (
    accept_here,
    ensure_identity,
    is_from_here,
    stored_plan,
    study_folder,
    study_space,
)
from betabo.visible import visible

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """What is to be done.

    Attributes:
        study: Name of the study.
        space: The search space.
        objective: What to minimize or maximize.
        trials: Number of trials that the study is to reach in all, failed ones included.
        storage: Address of the storage.
        directions: `"minimize"` or `"maximize"` for each objective; those of the problem where one is given.
        config: How points are proposed.
        seed: Seed of the proposals; None draws them differently each time.
        logs: Folder of the logs.
        problem: The problem as a whole, in the same space; by default that of one unnamed value, or of several.
    """

    study: str
    space: Space
    objective: Objective
    trials: int
    storage: str = DEFAULT_STORAGE
    directions: tuple[str, ...] = ("minimize",)
    config: Config = field(default_factory=Config)
    seed: int | None = None
    logs: Path = Path("betabo-logs")
    problem: Problem = None  # type: ignore[assignment]  # `__post_init__` makes one

    def __post_init__(self) -> None:
        if self.problem is not None:
            object.__setattr__(self, "directions", self.problem.directions)
            if self.problem.space != self.space:
                raise StudyError("the plan's space is not that of its problem; give problem.space.")
        object.__setattr__(self, "directions", tuple(self.directions))
        object.__setattr__(self, "logs", Path(self.logs))
        if not isinstance(self.study, str) or not self.study.strip():
            raise StudyError(f"the study's name is {self.study!r}, expected some text.")
        if not isinstance(self.trials, int) or self.trials < 1:
            raise StudyError(f"trials is {self.trials!r}, expected a whole number of at least 1.")
        if not self.directions:
            raise StudyError("directions is empty, expected 'minimize' or 'maximize' for each objective.")
        for direction in self.directions:
            if direction not in DIRECTIONS:
                raise StudyError(f"direction is {direction!r}, expected 'minimize' or 'maximize'.")
        if self.problem is None:
            names = [VALUE] if len(self.directions) == 1 else [f"{VALUE}_{i}" for i in range(len(self.directions))]
            objectives: Any = dict(zip(names, self.directions, strict=True))
            object.__setattr__(self, "problem", Problem(self.space, objectives=objectives))

    @property
    def is_named(self) -> bool:
        """Whether objectives have names, or there are constraints."""
        return bool(self.problem.constraints or self.problem.known) or any(
            name != VALUE and not name.startswith(f"{VALUE}_") for name in self.problem.names
        )

    def to_json(self) -> dict[str, Any]:
        """The plan as plain JSON types.

        Raises:
            StudyError: A part of the configuration is an object rather than a name or number.
        """
        return {
            "study": self.study,
            "storage": self.storage,
            "space": self.space.to_json(),
            "objective": self.objective.to_json(),
            "trials": self.trials,
            "directions": list(self.directions),
            "config": _config_to_json(self.config),
            "seed": self.seed,
            "logs": str(self.logs),
            **({"problem": _problem_to_json(self.problem)} if self.is_named else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """The plan that `to_json` described."""
        space = Space.from_json(data["space"])
        converted = {
            **{key: value for key, value in data.items() if key != "problem"},
            "space": space,
            **({"problem": Problem.from_json(space, data["problem"])} if "problem" in data else {}),
            "objective": objective_from_json(data["objective"]),
            "config": Config.from_json(data["config"]),
        }
        return cls(**converted)


def open_study(
    plan: Plan,
    on_warning: Callable[[str], None] | None = None,
    storage: BaseStorage | None = None,
    confirm: Callable[[str], bool] | None = None,
    proposes: bool = True,
) -> Study:
    """Create the study of a plan, or resume it.

    The plan is stored with the study as JSON, without the storage's address.

    Args:
        plan: The plan.
        on_warning: Called with a line for each thing that is allowed to differ from last time and does, such as the
            objective; None sends it to the log of this module.
        storage: The plan's storage if it is open already.
        confirm: Asked, with a line that says what the stored objective is, before a study goes on with another one
            that somebody else made, or that was made on another machine; None does not ask.

        proposes: Whether the study is to propose points. Otherwise it is spared the plan's sampler, which is slow to
            import, and has one of Optuna's.

    Returns:
        The study, with the sampler of the plan.

    Raises:
        StudyError: The objective does not pass its check, the study is there with another space or other directions, or
            `confirm` says no.
    """
    plan.objective.check(plan.space)
    on_warning = _logger.warning if on_warning is None else on_warning
    known, earlier = _check_points(plan, on_warning)
    storage = open_storage(plan.storage, on_trouble=on_warning) if storage is None else storage
    with quiet_optuna():
        described = _described(plan)
        study = _create(plan, storage, proposes)
        if _is_superseded(study, plan):
            on_warning(visible(f"study {plan.study!r} has another space and not one value; it starts anew."))
            storage.delete_study(study._study_id)
            study = _create(plan, storage, proposes)
        stored = stored_plan(study)
        if stored != described:
            _check_directions(plan, study)
            if stored is not None and any(trial.params for trial in study.get_trials(deepcopy=False)):
                _check_space(plan, Space.from_json(stored["space"]))
                _check_consent(plan, study, stored, described, confirm)
                for line in _differences(stored, described):
                    on_warning(visible(line))
            study.set_user_attr(PLAN, described)
            if plan.is_named:
                with warnings.catch_warnings(action="ignore", category=ExperimentalWarning):
                    study.set_metric_names(list(plan.problem.names))
        begin_with(study, plan.problem, known, earlier)
        if stored is None:
            accept_here(study)
        ensure_identity(study)
    return study


def _create(plan: Plan, storage: BaseStorage, proposes: bool) -> Study:
    """The study of a plan, made if it is not there."""
    sampler: BaseSampler | None = None
    if proposes:
        from betabo.optuna.sampler import BetaSampler

        sampler = BetaSampler(config=plan.config, search_space=plan.problem.without_results(), seed=plan.seed)
    return create_study(
        study_name=plan.study,
        storage=storage,
        directions=[StudyDirection[direction.upper()] for direction in plan.directions],
        sampler=sampler,
        load_if_exists=True,
    )


def _is_superseded(study: Study, plan: Plan) -> bool:
    """Whether a study of another space, or of other directions, failed in every trial, and is ours."""
    space = study_space(study)
    if space is None or not is_from_here(study):
        return False
    if space == plan.space and tuple(direction.name.lower() for direction in study.directions) == plan.directions:
        return False
    states = {state_of(trial) for trial in study.get_trials(deepcopy=False)}
    return "failed" in states and states <= {"failed", "interrupted", "withdrawn"}


def _check_points(plan: Plan, on_warning: Callable[[str], None]) -> tuple[list[KnownPoint], list[KnownPoint]]:
    """See that some point satisfies the known constraints, and that those to begin with do; read what is known."""
    try:
        for point in plan.problem.initial:
            plan.space.to_unit(point)
        plan.problem.region()
        plan.to_json()  # says what cannot be stored
        with warnings.catch_warnings(record=True, action="always") as warned:
            problem = plan.problem
            found = [read_known(getattr(problem, name), problem, name) for name in ("known_points", "earlier")]
    except (TypeError, ValueError) as error:
        raise StudyError(str(error)) from error
    for warning in warned:
        on_warning(visible(str(warning.message)))
    known, earlier = found
    return known, earlier


def logs_of(plan: Plan, study: Study) -> Path:
    """The folder of the logs of a plan's study, see `study_folder`."""
    return study_folder(plan.logs, study, storage_place(plan.storage))


def _described(plan: Plan) -> dict[str, Any]:
    """What is kept of a plan in its study: not where the storage is, which may hold a password."""
    kept = {key: value for key, value in plan.to_json().items() if key not in ("study", "storage", "logs")}
    described: dict[str, Any] = json.loads(json.dumps(kept))
    return described


def _config_to_json(config: Config) -> dict[str, Any]:
    try:
        return config.to_json()
    except ValueError as error:
        raise StudyError(str(error)) from error


def _problem_to_json(problem: Problem) -> dict[str, Any]:
    try:
        return problem.to_json()
    except ValueError as error:
        raise StudyError(str(error)) from error


def _listed(parts: Any) -> str:
    """Parts of a problem as one line."""
    if isinstance(parts, Mapping):
        return ", ".join(f"{name} ({direction})" for name, direction in parts.items())
    return "; ".join(map(str, parts or ())) or "none"


def _check_directions(plan: Plan, study: Study) -> None:
    stored = tuple(direction.name.lower() for direction in study.directions)
    if stored != plan.directions:
        raise StudyError(
            f"study {plan.study!r} has the directions {', '.join(stored)}, not {', '.join(plan.directions)}; "
            "use the old ones, or another name of the study."
        )


def _check_consent(
    plan: Plan,
    study: Study,
    stored: Mapping[str, Any],
    now: Mapping[str, Any],
    confirm: Callable[[str], bool] | None,
) -> None:
    """Ask once before a study of somebody else's goes on with another objective."""
    if confirm is None or stored.get("objective") == now["objective"] or is_from_here(study):
        return
    about = visible(
        f"study {plan.study!r} was made by another user or on another machine, with the objective "
        f"{describe_stored(stored.get('objective'))}; the objective now is {plan.objective.describe()}."
    )
    if not confirm(about):
        raise StudyError(f"study {plan.study!r} was left as it is; use another name of the study.")
    accept_here(study)


def _check_space(plan: Plan, stored: Space) -> None:
    old = {name: show_parameter(parameter) for name, parameter in stored.parameters.items()}
    new = {name: show_parameter(parameter) for name, parameter in plan.space.parameters.items()}
    for name in [*old, *(name for name in new if name not in old)]:
        if old.get(name) == new.get(name):
            continue
        if name not in new:
            change = f"has the parameter {name}={old[name]}, which is missing now"
        elif name not in old:
            change = f"has no parameter {name}, which is {name}={new[name]} now"
        else:
            change = f"has the parameter {name}={old[name]}, which is {name}={new[name]} now"
        raise StudyError(f"study {plan.study!r} {change}; use the old space, or another name of the study.")


def _differences(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs from last time and may."""
    lines = []
    if stored.get("objective") != now["objective"]:
        before, after = (describe_stored(data.get("objective")) for data in (stored, now))
        if before != after:
            lines.append(f"the objective was {before} and is {after} now; the study goes on with both kinds of values.")
    for name in ("objectives", "constraints", "known"):
        old, new = (data.get("problem", {}).get(name) for data in (stored, now))
        if old != new:
            lines.append(f"{name} were {_listed(old)} and are {_listed(new)} now.")
    for name, value in now["config"].items():
        before = stored["config"].get(name, value)
        if before != value:
            lines.append(f"{name} was {before} and is {value} now.")
    return lines
