"""A search of Python's that is kept as a study: asked for points and told their values, stored as it happens."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from betabo.optimizer.config import Config
from betabo.optimizer.history import Evaluation
from betabo.optimizer.known import read_known
from betabo.optimizer.moving import place_in
from betabo.optimizer.optimizer import Optimizer, TooManyFailuresError
from betabo.optimizer.result import SearchResult
from betabo.optimizer.stopping import Progress
from betabo.optuna.attributes import INTERRUPTED, KNOWN, STEP, VARIANCE, WITHDRAWN
from betabo.optuna.trials import COUNTED, TrialRecord, state_of
from betabo.problem import Measurement, Problem
from betabo.space import Space
from betabo.studies.database_errors import patience
from betabo.studies.errors import StudyError, TooManyFailedTrialsError
from betabo.studies.manage import forget_if_empty
from betabo.studies.plan import Plan, open_study
from betabo.studies.python import PythonObjective
from betabo.studies.storage import open_storage
from betabo.studies.taking import PAUSE, Ended, Taken, Taker, beating
from betabo.surrogate import FitState


@dataclass(eq=False)
class _UnderWay:
    """A point that was asked for.

    Attributes:
        point: The point, as it was handed out.
        taken: Its trial.
        taker: Who runs the trial.
        holds: What gives signs of life of it.
        began: When it was handed out.
    """

    point: Any
    taken: Taken
    taker: Taker
    holds: ExitStack
    began: float


class StudySearch:
    """What `betabo.minimize` does with `study=`: the record is a study like any other.

    Args:
        plan: What to do; its space has names.
        problem: The problem as the user has it, whose space may be a box with the coordinates of the plan's.

    Raises:
        StudyError: The study does not fit the plan, or the storage cannot be used.
    """

    def __init__(self, plan: Plan, problem: Problem) -> None:
        self.problem = problem
        self._plan = plan
        self._storage = open_storage(plan.storage, keep_connections=True, on_trouble=_warn)
        self._study = open_study(plan, _warn, self._storage)
        self._watcher = Taker(plan, self._study, self._storage)
        self._free: list[Taker] = []
        self._under_way: list[_UnderWay] = []
        alone = problem.without_results()
        self._view = Optimizer(alone, seed=plan.seed or 0, config=plan.config)
        self._is_read = False

    @property
    def evaluated(self) -> list[Evaluation]:
        """The trials that count, those of other programs too."""
        return self._read().evaluated

    def ask(self) -> Any:
        """The next point; None if the study has its trials, or if only this program's own are missing.

        Raises:
            TooManyFailuresError: The last trials all failed.
        """
        while True:
            ledger = self._watcher.ledger()
            if self._watcher.recover(ledger):
                ledger = self._watcher.ledger()
            if ledger.finished >= self._plan.trials:
                return None
            try:
                self._watcher.check_failures(ledger)
            except TooManyFailedTrialsError as error:
                raise TooManyFailuresError(str(error)) from error
            taker = self._free.pop() if self._free else Taker(self._plan, self._study, self._storage)
            opened = taker.open(ledger)
            if opened is not None and (point := self._accept(taker, opened)) is not None:
                return point
            self._free.append(taker)
            if opened is None and self._under_way:
                return None
            if opened is None:
                time.sleep(PAUSE)  # others run the last trials, and one of them may die

    def tell(self, point: Any, found: Measurement) -> None:
        """Store what the evaluation of a point gave."""
        if found.trouble:
            self.tell_failure(point, found.trouble)
            return
        notes = {**found.measured, **({} if found.error is None else {VARIANCE: found.error**2})}
        self._end(point, TrialState.COMPLETE, found.values, found.measured, "", notes)

    def tell_failure(self, point: Any, reason: str) -> None:
        """Store that the evaluation of a point failed."""
        self._end(point, TrialState.FAIL, (), {}, reason, {})

    def withdraw(self, point: Any) -> None:
        """Close the trial of a point as if it had not begun: the objective is broken."""
        self._let_go(self._meant(point), WITHDRAWN, "the objective is broken")

    def result(self, message: str = "", *, refit: bool = True) -> SearchResult:
        """The best point so far and the whole record."""
        return self._read().result(message, refit=refit)

    def progress(self) -> Progress:
        """What a rule for stopping sees of the study."""
        return self._read().progress()

    def close(self) -> None:
        """Leave the trials under way to be repeated, and a study without any trial to be forgotten."""
        with suppress(StudyError), patience(0):
            for entry in list(self._under_way):
                self._let_go(entry, INTERRUPTED, "its program was stopped")
            forget_if_empty(self._study)
        for entry in self._under_way:
            entry.holds.close()
        self._storage.engine.dispose()

    def _accept(self, taker: Taker, opened: int) -> Any:
        """The point of a trial that was opened; None if it is not needed."""
        with ExitStack() as holds:
            holds.enter_context(beating(self._storage, opened))
            taken = taker.accept(opened)
            if taken is None:
                return None
            values = dict(taken.parameters)
            point = np.array(list(values.values()), dtype=np.float64) if self.problem.space.is_box else values
            self._under_way.append(_UnderWay(point, taken, taker, holds.pop_all(), time.monotonic()))
        return point

    def _end(
        self,
        point: Any,
        state: TrialState,
        values: tuple[float, ...],
        measured: Mapping[str, float],
        reason: str,
        notes: Mapping[str, Any],
    ) -> None:
        entry = self._meant(point)
        entry.taker.store(entry.taken, Ended(state, values, measured, reason, notes, time.monotonic() - entry.began))
        self._forget(entry)

    def _let_go(self, entry: _UnderWay, key: str, why: str) -> None:
        entry.taker.close(entry.taken.number, key, why)
        self._forget(entry)

    def _forget(self, entry: _UnderWay) -> None:
        entry.holds.close()
        self._under_way.remove(entry)
        self._free.append(entry.taker)
        self._is_read = False

    def _meant(self, point: Any) -> _UnderWay:
        return next(entry for entry in self._under_way if entry.point is point)

    def _read(self) -> Optimizer:
        """The study as a search, read again after each trial."""
        if not self._is_read:
            trials = self._study.get_trials(deepcopy=False)
            known = [known_evaluation(entry, self.problem) for entry in self._study.user_attrs.get(KNOWN, ())]
            history = [e for e in known if e is not None] + evaluations(trials, self.problem)
            self._view.remember(history, _last_states(trials, self._plan.config))
            self._is_read = True
        return self._view


def open_search(
    fun: Any, problem: Problem, study: str, storage: str, budget: int, config: Config, seed: int | None
) -> StudySearch:
    """The search of a function that is kept as a study, which is made or goes on.

    Args:
        fun: The function.
        problem: What is searched for.
        study: Name of the study.
        storage: Address of its storage.
        budget: Number of evaluations that it is to reach in all.
        config: How points are proposed.
        seed: Seed of the proposals.

    Raises:
        StudyError: The study does not fit, or something about the problem cannot be stored.
    """
    named = with_names(problem)
    plan = Plan(
        study=study,
        space=named.space,
        problem=named,
        objective=PythonObjective.of(fun),
        trials=budget,
        storage=storage,
        config=config,
        seed=seed,
    )
    return StudySearch(plan, problem)


def with_names(problem: Problem) -> Problem:
    """The problem with a dict for each point, as studies have them: a box calls its coordinates x0, x1, ..."""
    if not problem.space.is_box:
        return problem
    space = Space(dict(problem.space.parameters))
    return Problem(
        space,
        **problem.to_json(),
        initial=[space.from_unit(problem.space.to_unit(point)) for point in problem.initial],
        known_points=_named_points(problem.known_points, problem, space),
        earlier=_named_points(problem.earlier, problem, space),
    )


def _named_points(given: Any, problem: Problem, space: Space) -> list[tuple[Any, Any]]:
    """Known points of a box with names."""
    return [(space.from_unit(np.array(known.unit)), known.value) for known in read_known(given, problem)]


def evaluations(trials: Iterable[FrozenTrial], problem: Problem) -> list[Evaluation]:
    """The trials that count as evaluations of a search, without those outside the space.

    Args:
        trials: Trials of a study.
        problem: The problem, whose space may be a box with the coordinates of the study's.
    """
    found = [_evaluation(trial, problem) for trial in trials if state_of(trial) in COUNTED]
    return [evaluation for evaluation in found if evaluation is not None]


def known_evaluation(entry: Mapping[str, Any], problem: Problem) -> Evaluation | None:
    """A result that was known before a study began; None if it lies outside the space."""
    unit = _place(entry["parameters"], problem.space)
    if unit is None:
        return None
    values, measured = entry["values"], entry.get("measured", {})
    if values is None or not measured.keys() >= set(problem.measured):
        return Evaluation(unit, None, "it is known to have failed", "known")
    several = tuple(values) if len(values) > 1 else ()
    return Evaluation(unit, values[0], "", "known", values=several, measured=measured)


def _evaluation(trial: FrozenTrial, problem: Problem) -> Evaluation | None:
    record = TrialRecord.of(trial)
    unit = _place(trial.params, problem.space)
    if unit is None:
        return None
    origin: Any = record.origin if record.origin in ("start", "model", "local") else "user"
    diagnostics = dict(record.diagnostics)
    missing = [name for name in problem.measured if not isinstance(record.notes.get(name), int | float)]
    if not record.is_complete or missing:
        reason = record.reason or (f"it has no {missing[0]}" if record.is_complete else record.state)
        return Evaluation(unit, None, reason, origin, diagnostics)
    return Evaluation(
        unit,
        record.values[0],
        "",
        origin,
        diagnostics,
        record.errors[0] ** 2 if len(record.errors) == 1 else None,
        values=record.values if len(record.values) > 1 else (),
        measured={name: float(record.notes[name]) for name in problem.measured},
    )


def _last_states(trials: Sequence[FrozenTrial], config: Config) -> tuple[FitState, ...]:
    """Hyperparameters of the last fit with the same kernel."""
    for trial in reversed(trials):
        step = trial.system_attrs.get(STEP, {})
        if step.get("signature", [None])[0] == config.kernel:
            return tuple(FitState(**state) for state in step["states"])
    return ()


def _warn(line: str) -> None:
    warnings.warn(line, stacklevel=2)


def _place(parameters: Mapping[str, Any], space: Space) -> tuple[float, ...] | None:
    """Parameters of a trial in the unit cube; None if they lie outside, or one is missing."""
    if space.is_box:
        return place_in([parameters.get(name) for name in space.names], space) if parameters else None
    known = {name: parameters[name] for name in space.active(parameters) if name in parameters}
    return place_in(known, space)
