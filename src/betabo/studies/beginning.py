"""What a study begins with: points to evaluate first, and results that are known already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optuna.study import Study

from betabo.optimizer.known import KnownPoint
from betabo.optuna.attributes import EARLIER, KNOWN
from betabo.optuna.known import stored_form
from betabo.optuna.trials import read_trials
from betabo.problem import Problem
from betabo.studies.errors import StudyError


def begin_with(
    study: Study, problem: Problem, known: Sequence[KnownPoint] = (), earlier: Sequence[KnownPoint] = ()
) -> None:
    """Put the initial points of a problem into the queue, and store what is known with the study.

    What is in the queue, or was evaluated, is not put there again. What was known before is kept where a problem says
    nothing.

    Args:
        study: The study.
        problem: The problem, whose initial points are put into the queue.
        known: Its known points.
        earlier: Its results of an earlier task.
    """
    for point in problem.initial:
        here = problem.space.active(point)
        constants = {name: getattr(problem.space.parameters[name], "value", None) for name in here}
        values = {name: point.get(name, constants[name]) for name in here}
        study.enqueue_trial(values, skip_if_exists=True)
    for key, points in ((KNOWN, known), (EARLIER, earlier)):
        if points:
            study.set_user_attr(key, [stored_form(problem, point) for point in points])


def points_of_study(study: Study, problem: Problem) -> list[tuple[dict[str, Any], Any]]:
    """The results of an earlier study as known points of a problem: pairs of a point and what it gave.

    Constants of the problem that the study does not have are taken for granted. Parameters that the problem does not
    have are left out, and so are those that do not exist under the choices of a point. An earlier study without names
    gives its values in their order.
    """
    if len(study.directions) != len(problem.objectives):
        raise StudyError(
            f"study {study.study_name!r} has {len(study.directions)} objectives, expected {len(problem.objectives)}: "
            f"{', '.join(problem.names)}."
        )
    pairs: list[tuple[dict[str, Any], Any]] = []
    for trial in read_trials(study):
        if trial.state not in ("complete", "failed"):
            continue
        here = problem.space.active(trial.parameters)
        point = {name: trial.parameters[name] for name in here if name in trial.parameters}
        given: Any = None
        if trial.values:
            measured = {name: trial.notes[name] for name in problem.measured if name in trial.notes}
            given = (trial.values if len(trial.values) > 1 else trial.values[0], measured)
            given = given if problem.measured else given[0]
        pairs.append((point, given))
    return pairs
