"""Studies whose box moves: give one another range, and estimate what lies beyond its bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from optuna.study import Study

from betabo.optimizer.config import Config
from betabo.optuna.attributes import PLAN
from betabo.optuna.best import best_trials, directions_of
from betabo.optuna.space import decode
from betabo.optuna.trials import read_trials
from betabo.space import Fixed, Space
from betabo.space.boundary import Side
from betabo.space.text import show_parameter
from betabo.space.widening import RangeLike, with_ranges
from betabo.studies.errors import StudyError
from betabo.studies.manage import check_idle
from betabo.studies.storage import DEFAULT_STORAGE, load_study
from betabo.studies.stored_plan import stored_plan, study_problem

if TYPE_CHECKING:
    from betabo.optimizer.beyond import GainBeyond


def move_box(name: str, ranges: Mapping[str, RangeLike], url: str = DEFAULT_STORAGE) -> tuple[Space, int]:
    """Give parameters of a study another range, wider or narrower; all trials are kept.

    The model goes on with the trials that lie in the new box. Those outside a narrower one stay in the study, and count
    again when the box reaches them.

    Args:
        name: Name of the study.
        ranges: The new range of some of the numbers, as a pair (low, high) or a parameter.
        url: Address of the storage.

    Returns:
        The new space, and how many of the complete trials lie in it.

    Raises:
        StudyError: There is no such study, a worker runs a trial of it, it was not made by betabo, or a range makes no
            sense; nothing is changed then.
    """
    study = load_study(name, url)
    check_idle(study, "moved to another box")
    plan = stored_plan(study)
    if plan is None:
        raise StudyError(f"study {name!r} was not made by betabo minimize; change the ranges in its program.")
    try:
        space = with_ranges(Space.from_json(plan["space"]), ranges)
    except (TypeError, ValueError) as error:
        raise StudyError(str(error)) from error
    study.set_user_attr(PLAN, {**plan, "space": space.to_json()})
    known = [trial for trial in read_trials(study) if trial.is_complete]
    numbers = [n for n, parameter in space.parameters.items() if parameter.has_faces]
    return space, sum(all(n in trial.positions for n in numbers if n in trial.parameters) for trial in known)


def describe_ranges(space: Space, names: Iterable[str]) -> list[str]:
    """Some parameters of a space as they are written on the command line."""
    return [f"{name}={show_parameter(space.parameters[name])}" for name in names]


def study_gains_beyond(
    study: Study, config: Config | None = None, faces: Iterable[tuple[str, Side]] | None = None, seed: int = 0
) -> list[GainBeyond]:
    """What the model believes a wider box of a study would gain, bound by bound.

    Args:
        study: A study with one objective, made by any sampler.
        config: How it is modelled; None takes the defaults.
        faces: The bounds in question, as pairs of a name and `"lower"` or `"upper"`; None takes those that the best
            trial is on.
        seed: Seed of the draws.

    Raises:
        ValueError: There are several objectives, or too few trials for a model.
    """
    from betabo.optimizer.beyond import gains_beyond
    from betabo.optuna.model import known_data

    directions = directions_of(study)
    if len(directions) > 1:
        raise ValueError(f"study {study.study_name!r} has {len(directions)} objectives, expected one.")
    if faces is None:
        faces = [face for best in best_trials(read_trials(study), directions) for face in best.faces.items()]
    config = Config() if config is None else config
    known = known_data(study, config)
    asked = [(name, side) for name, side in faces if name in known.space.parameters]
    problem = study_problem(study)
    constants = {n: p.value for n, p in problem.space.parameters.items() if isinstance(p, Fixed)} if problem else {}

    def allows(point: Any) -> bool:
        return problem is None or problem.admits({**constants, **decode(point, known.distributions)})

    return gains_beyond(known.data, known.space, config, faces=asked, seed=seed, allows=allows)
