"""A search that is driven from outside: ask for points, tell their values, save, resume."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast, overload

import numpy as np

from betabo.files import write_text
from betabo.optimizer.answer import Answer, Recommendation, answer
from betabo.optimizer.beyond import GainBeyond, gains_beyond
from betabo.optimizer.config import Config
from betabo.optimizer.core import propose
from betabo.optimizer.data import Data
from betabo.optimizer.history import (
    MODELLED,
    Evaluation,
    Pending,
    evaluation_schema,
    pending_schema,
    stack,
    unit_schema,
)
from betabo.optimizer.known import KnownPoints, read_known
from betabo.optimizer.moving import Outside, moved_history, moved_units
from betabo.optimizer.notebook import as_html
from betabo.optimizer.remaining import RemainingGain, remaining_gain
from betabo.optimizer.result import SearchResult, best_of
from betabo.optimizer.stopping import Progress
from betabo.optimizer.turns import Step
from betabo.optimizer.variance import as_variance
from betabo.problem import Measurement, Problem
from betabo.problem.known import KnownLike
from betabo.problem.limits import LimitsLike
from betabo.problem.problem import ObjectivesLike
from betabo.schema import anything, listing, record, shortened, whole
from betabo.space import Space, SpaceLike
from betabo.space.boundary import Side
from betabo.space.checks import integer
from betabo.space.recognition import nearest
from betabo.space.widening import RangeLike, with_ranges
from betabo.surrogate import STATE_SCHEMA, FitState

_FORMAT = 1  # of the files that `save` writes
_OUTLINE = {
    "format": whole(1),
    "space": anything,  # `Space.from_json` and `Config.from_json` check theirs
    "config": anything,
    "seed": whole(0),
    "history": listing(anything),  # these when the space is known
    "pending": listing(anything),
    "queue": listing(anything),
    "states": listing(STATE_SCHEMA),
}


class TooManyFailuresError(RuntimeError):
    """So many evaluations failed in a row that going on makes no sense."""


class Optimizer:
    """Minimizes a black box over a bounded space, by ask and tell.

    Points that were asked for and not yet told are pending: later proposals take them into account. Points may be told
    in any order, and points that were never asked for may be told too.

    Args:
        space: Bounds as pairs, a `scipy.optimize.Bounds`, a dictionary of parameters, a `Space`, or a whole `Problem`.
        objectives: A direction, or the name and direction of each objective, see `minimize`.
        constraints: Limits of what is measured beside the value, see `minimize`.
        known: Constraints on the parameters that no proposal violates, see `minimize`.
        seed: Seed of the search; None draws one. The same seed gives the same proposals on the same machine.
        initial: Points to be asked for first, in the user's units.
        known_points: Results that are known already, see `minimize`.
        earlier: Results of an earlier task, which may be another one, see `minimize`.
        config: The configuration as a whole, in place of `settings`.
        settings: Settings of `Config`: `kernel`, `acquisition`, `beta`, `noise`, `local_steps`, `starting_points`,
            `power_transform`, `max_failures`, `duplicate_tolerance`.

    Example:
        >>> opt = Optimizer([(-5, 10), (0, 15)], seed=0)
        >>> for _ in range(20):
        ...     x = opt.ask()
        ...     opt.tell(x, (x[0] - 1) ** 2 + x[1])
        >>> opt.result().fun
    """

    def __init__(
        self,
        space: SpaceLike | Problem,
        *,
        objectives: ObjectivesLike = "minimize",
        constraints: LimitsLike = (),
        known: KnownLike | Iterable[KnownLike] = (),
        seed: int | None = None,
        initial: Iterable[Any] = (),
        known_points: KnownPoints = (),
        earlier: KnownPoints = (),
        config: Config | None = None,
        **settings: Any,
    ) -> None:
        self.problem = Problem.of(
            space,
            objectives=objectives,
            constraints=constraints,
            known=known,
            initial=initial,
            known_points=known_points,
            earlier=earlier,
        )
        self.space = self.problem.space
        self.config = Config.of(config, settings).within(self.space)
        if seed is not None and integer("seed", seed) < 0:
            raise ValueError(f"seed is {seed}, expected a number >= 0.")
        self.seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else int(seed)
        self.history: list[Evaluation] = []
        self.outside: list[Outside] = []
        self.pending: list[Pending] = []
        self._region = self.problem.region(self.seed)
        self._queue = [self._unit(point) for point in self.problem.initial]
        for known in read_known(self.problem.known_points, self.problem):
            if self._is_forbidden(known.unit, "known point"):
                continue
            self.history.append(self._evaluation(Pending(known.unit, "known"), known.value))
        self.earlier = [
            evaluation
            for known in read_known(self.problem.earlier, self.problem, "earlier")
            if not (evaluation := self._evaluation(Pending(known.unit, "known"), known.value)).failed
        ]
        self._states: tuple[FitState, ...] = ()

    def __repr__(self) -> str:
        best = best_of(self.problem, self.history)
        found = "no value yet" if best is None else f"best {best.value:.6g}"
        kernel = self.config.kernel if isinstance(self.config.kernel, str) else type(self.config.kernel).__name__
        return (
            f"<Optimizer of {self.space.dims} coordinates by {kernel}: {len(self.evaluated)} evaluations, {found}, "
            f"{len(self.pending)} pending>"
        )

    def _repr_html_(self) -> str:
        return as_html(self.result(f"{len(self.pending)} pending"))

    @property
    def evaluated(self) -> list[Evaluation]:
        """The record without the results that were known before."""
        return [evaluation for evaluation in self.history if evaluation.origin != "known"]

    def remember(self, history: Iterable[Evaluation], states: Sequence[FitState] = ()) -> None:
        """Take a record that is kept elsewhere in place of the one so far.

        Args:
            history: The evaluations, in the same space.
            states: Hyperparameters of the last fits.
        """
        self.history, self._states = list(history), tuple(states)

    @overload
    def ask(self, *, confirm: bool = ...) -> Any: ...
    @overload
    def ask(self, count: int, *, confirm: bool = ...) -> list[Any]: ...

    def ask(self, count: int | None = None, *, confirm: bool = False) -> Any:
        """The next point to evaluate, or a list of `count` points.

        Args:
            count: Number of points; None returns one point and not a list.
            confirm: Whether to measure only evaluated points again, those of which another value is expected to improve
                the answer most. Where the model sees no noise the search goes on as usual.

        Raises:
            TooManyFailuresError: After `max_failures` failed evaluations in a row.
        """
        if count is not None and integer("count", count) < 1:
            raise ValueError(f"count is {count}, expected at least 1.")
        self._check_failures()
        wanted = 1 if count is None else count
        new = [Pending(unit, "start") for unit in self._queue[:wanted]]
        self._queue = self._queue[wanted:]
        self.pending.extend(new)
        if len(new) < wanted:
            proposal = propose(
                self._data(self.earlier),
                self.config,
                count=wanted - len(new),
                seed=self.seed,
                states=self._states,
                snap=self.space.snap,
                neighbours=None if self.space.is_continuous else self.space.neighbours,
                numeric=self.space.numeric,
                region=self._region,
                confirm=confirm,
            )
            self._states = proposal.states
            first = next((i for i, origin in enumerate(proposal.origins) if origin != "start"), 0)
            batch = [
                Pending(tuple(unit.tolist()), origin, proposal.diagnostics if i == first else {})
                for i, (unit, origin) in enumerate(zip(proposal.points, proposal.origins, strict=True))
            ]
            self.pending.extend(batch)
            new.extend(batch)
        points = [self.space.from_unit(np.array(p.unit)) for p in new]
        return points[0] if count is None else points

    def tell(self, point: Any, value: Any, variance: float | None = None) -> None:
        """Record the value of a point. A point may be told again: each value counts.

        Args:
            point: The point, in the user's units. It need not have been asked for. The nearest pending point is meant
                if it is within 1e-4 of each parameter's range, and of its logarithm where that is searched, or within
                the rounding of float32; it is then recorded as it was asked for.
                A point that violates a known constraint is left out with a warning: it must not become the answer.
            value: Its value; with several objectives or with constraints whatever the objective of `minimize` may
                return. NaN, infinity and None record a failed evaluation.
            variance: Variance of the value's noise, the square of its standard error, where it is known; with several
                objectives that of each. None leaves it to the value, which may be `{"value": 1.3, "error": 0.2}`, and
                then to the setting `noise`.
        """
        pending = self._meant(point)
        if self._is_forbidden(pending.unit, "told point"):
            return
        variance = None if variance is None else as_variance(variance, "variance is")
        evaluation = self._evaluation(pending, value, variance)
        self._record(pending, evaluation)  # once nothing about it can be refused

    def tell_failure(self, point: Any, reason: str = "the evaluation failed") -> None:
        """Record that the evaluation of a point failed, and why."""
        pending = self._meant(point)
        reason = reason or "the evaluation failed"
        self._record(pending, Evaluation(pending.unit, None, reason, pending.origin, pending.diagnostics))

    def recommend(self, anywhere: bool = False) -> Recommendation:
        """The best point so far: by the model's mean where it sees noise, otherwise by the lowest value.

        Args:
            anywhere: Whether to look beyond the evaluated points, where the model's mean is best in the whole space.

        Raises:
            ValueError: No evaluation has succeeded yet, or there are several objectives; `anywhere` with constraints.
        """
        if len(self.problem.objectives) > 1:
            raise ValueError("there are several objectives, expected one: of several, result().front has the best.")
        found = self._answer(anywhere=anywhere)
        if found is None:
            raise ValueError("no evaluation has succeeded yet, so there is nothing to recommend.")
        return Recommendation.of(self.problem, found)

    def _answer(self, refit: bool = True, anywhere: bool = False) -> Answer | None:
        return answer(
            self._data(),
            self.config,
            seed=self.seed,
            states=self._states,
            refit=refit,
            anywhere=anywhere,
            snap=self.space.snap if self._region is None else self._region.repair,
        )

    def result(self, message: str = "", *, refit: bool = True) -> SearchResult:
        """The best point so far and the whole record.

        Args:
            message: What to say about the end of the search.
            refit: Whether the model is fitted anew for the answer; otherwise it has the hyperparameters of the last
                step, which takes less time.
        """
        message = message or f"{len(self.history)} evaluations"
        return SearchResult.of(self.problem, list(self.history), message, found=self._answer(refit))

    def remaining_gain(self) -> RemainingGain:
        """What the model believes is still to be gained in the box.

        Raises:
            ValueError: There are fewer than two values.
        """
        snap = self.space.snap if self._region is None else self._region.repair
        return remaining_gain(self._data(), self.config, seed=self.seed, states=self._states, snap=snap)

    def gains_beyond(self, faces: Iterable[tuple[str, Side]] | None = None) -> list[GainBeyond]:
        """What the model believes a wider box would gain, bound by bound.

        Args:
            faces: The bounds in question, as pairs of a name (`x0`, `x1`, ... of a box) and `"lower"` or `"upper"`;
                None takes those that the best point is on.

        Raises:
            ValueError: There are several objectives, or fewer than two values.
        """
        best = best_of(self.problem, self.history)
        if faces is None:
            faces = () if best is None else self.space.faces(best.unit).items()
        return gains_beyond(
            self._data(), self.space, self.config, faces=faces, seed=self.seed, allows=self.problem.admits
        )

    def move_box(self, ranges: Mapping[str, RangeLike]) -> None:
        """Go on in a wider or a narrower box, with all results that lie in it.

        Results outside a narrower box are kept, and count again when the box reaches them. Points that were asked for
        may still be told if they lie in the new box.

        Args:
            ranges: The new range of some of the numbers by name (`x0`, `x1`, ... of a box): a pair (low, high).

        Raises:
            ValueError: There is no such parameter, or a range makes no sense; nothing has changed then.
            TypeError: The parameter is no number.
        """
        if not isinstance(ranges, Mapping):
            raise TypeError(f"ranges is {ranges!r}, expected a dict such as {{'lr': (1e-5, 1.0)}}.")
        before, after = self.space, with_ranges(self.space, ranges)
        problem = replace(self.problem.without_results(), space=after)
        moved = Optimizer(problem, seed=self.seed, config=self.config)
        moved.history, moved.outside = moved_history(self.history, self.outside, before, after)
        places = moved_units((pending.unit for pending in self.pending), before, after)
        moved.pending = [replace(p, unit=place) for p, place in zip(self.pending, places, strict=True) if place]
        moved._queue = [place for place in moved_units(self._queue, before, after) if place]
        places = moved_units((evaluation.unit for evaluation in self.earlier), before, after)
        moved.earlier = [replace(e, unit=place) for e, place in zip(self.earlier, places, strict=True) if place]
        moved._states = self._states
        self.__dict__.update(moved.__dict__)

    def progress(self) -> Progress:
        """What a rule for stopping sees of the search, see `betabo.optimizer.stopping`."""
        problem = self.problem
        values: list[float | None] = [
            None if e.failed or problem.violation(e.measured) else problem.losses(e.numbers)[0] for e in self.history
        ]
        if len(problem.objectives) > 1:
            volumes = self.result(refit=False).hypervolume or ()
            values = [-volume if volume > 0 else None for volume in volumes]
        known = len(self.history) - len(self.evaluated)
        design = max(known, self.config.design_size(self.space.dims))
        return Progress(values, self.space.dims, design, self.remaining_gain)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the search to a JSON file, whole or not at all."""
        write_text(path, json.dumps(self.to_json(), indent=1))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Optimizer:
        """The search that `save` wrote; its next proposal is the one that the saved search would have made.

        Raises:
            ValueError: The file holds something else, or is damaged; the message says where.
            OSError: The file cannot be read.
        """
        try:
            return cls.from_json(json.loads(Path(path).read_text(encoding="utf-8")))
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{path} is not a saved search: {shortened(str(error))}") from error

    def to_json(self) -> dict[str, Any]:
        """The search as JSON."""
        return {
            "format": _FORMAT,
            "space": self.space.to_json(),
            "config": self.config.to_json(),
            "seed": self.seed,
            "history": [evaluation.to_json() for evaluation in self.history],
            "pending": [{"unit": p.unit, "origin": p.origin, "diagnostics": p.diagnostics} for p in self.pending],
            "queue": self._queue,
            "states": [asdict(state) for state in self._states],
            **({"problem": problem} if (problem := self.problem.to_json()) else {}),
            **({"outside": [kept.to_json() for kept in self.outside]} if self.outside else {}),
            **({"earlier": [evaluation.to_json() for evaluation in self.earlier]} if self.earlier else {}),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Optimizer:
        """The search that `to_json` wrote.

        Raises:
            TypeError: A part is of another type than `to_json` wrote; the message says which.
            ValueError: A part is missing, unknown or out of range.
        """
        if not isinstance(data, dict) or data.get("format") != _FORMAT:
            found = data.get("format") if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"it has format {found!r}, expected {_FORMAT}.")
        record(_OUTLINE, {"problem": anything, "outside": listing(anything), "earlier": listing(anything)})(
            data, "search"
        )
        space = Space.from_json(data["space"])
        problem = Problem.from_json(space, data.get("problem", {}))
        optimizer = cls(problem, seed=data["seed"], config=Config.from_json(data["config"]))
        listing(evaluation_schema(space.dims))(data["history"], "history")
        listing(pending_schema(space.dims))(data["pending"], "pending")
        listing(unit_schema(space.dims))(data["queue"], "queue")
        optimizer.history = [Evaluation.from_json(entry) for entry in data["history"]]
        listing(evaluation_schema(space.dims))(data.get("earlier", []), "earlier")
        optimizer.earlier = [Evaluation.from_json(entry) for entry in data.get("earlier", ())]
        for name, evaluations in (("history", optimizer.history), ("earlier", optimizer.earlier)):
            for number, evaluation in enumerate(evaluations):
                _check_numbers(evaluation, problem, f"{name}[{number}]")
        optimizer.outside = [
            Outside.from_json(entry, space.dims, f"outside[{number}]")
            for number, entry in enumerate(data.get("outside", ()))
        ]
        optimizer.pending = [Pending(tuple(p["unit"]), p["origin"], p["diagnostics"]) for p in data["pending"]]
        optimizer._queue = [tuple(unit) for unit in data["queue"]]
        optimizer._states = tuple(FitState(**state) for state in data["states"])
        return optimizer

    def _is_forbidden(self, unit: tuple[float, ...], what: str) -> bool:
        """Whether a point violates a known constraint, which is then said."""
        violated = "" if self._region is None else self._region.violated(np.array(unit))
        if violated:
            point = self.space.from_unit(np.array(unit))
            warnings.warn(f"{what} {point} violates {violated} and is left out", stacklevel=3)
        return bool(violated)

    def _unit(self, point: Any) -> tuple[float, ...]:
        return cast("tuple[float, ...]", tuple(self.space.to_unit(point).tolist()))

    def _variance(self, unit: tuple[float, ...], found: Measurement) -> float | None:
        """The variance of a value's noise, as it came with the value or as the setting has it; None if not known."""
        if found.error is not None:
            return found.error**2
        if callable(self.config.noise):
            return as_variance(self.config.noise(self.space.from_unit(unit)), "the function noise returned")
        return None

    def _record(self, pending: Pending, evaluation: Evaluation) -> None:
        self.pending = [other for other in self.pending if other is not pending]
        self.history.append(evaluation)

    def _evaluation(self, pending: Pending, given: Any, variance: float | None = None) -> Evaluation:
        """The record of a point with what it gave; None is a failed evaluation, and so is what is not finite."""
        found = None if given is None else self.problem.measure(given, "value is")
        trouble = "the value was None" if found is None else found.trouble
        if found is None or trouble:
            return Evaluation(pending.unit, None, trouble, pending.origin, pending.diagnostics)
        return Evaluation(
            pending.unit,
            found.values[0],
            "",
            pending.origin,
            pending.diagnostics,
            self._variance(pending.unit, found) if variance is None else variance,
            values=found.values if len(found.values) > 1 else (),
            measured=dict(found.measured),
        )

    def _meant(self, point: Any) -> Pending:
        """The pending point that is meant; one of the user's own if it is none, or nearer to one told before."""
        index, distance = nearest(self.space, self._points(self.pending), point)
        if index is None or (distance and nearest(self.space, self._points(self.history), point)[1] < distance):
            return Pending(self._unit(point), "user")
        return self.pending[index]

    def _points(self, known: Sequence[Pending | Evaluation]) -> Iterator[Any]:
        """Points as the user gets them, rounding included."""
        return (self.space.from_unit(np.array(entry.unit)) for entry in known)

    def _data(self, earlier: Sequence[Evaluation] = ()) -> Data:
        dims = self.space.dims
        finished = [*earlier, *(e for e in self.history if not e.failed)]
        losses = np.array([self.problem.losses(e.numbers) for e in finished], dtype=np.float64)
        losses = losses.reshape(len(finished), len(self.problem.objectives))
        variances = np.array([np.nan if e.variance is None else e.variance for e in finished])
        excess = np.array([self.problem.excess(e.measured) for e in finished], dtype=np.float64)
        return Data(
            points=stack([e.unit for e in finished], dims),
            values=losses if losses.shape[1] > 1 else losses[:, 0],
            failed=stack([e.unit for e in self.history if e.failed], dims),
            pending=stack([p.unit for p in self.pending], dims),
            variances=variances if losses.shape[1] == 1 else np.tile(variances[:, None], losses.shape[1]),
            constraints=excess,
            steps=(
                *(Step(e.origin, self.problem.losses(e.numbers)[0] if e.numbers else None) for e in self.history),
                *(Step(p.origin, None, under_way=True) for p in self.pending),
            ),
            asked=np.array([e.origin in MODELLED for e in finished], dtype=bool),
            earlier=np.arange(len(finished)) < len(earlier),
            profiles=self.space.profiles,
        )

    def _check_failures(self) -> None:
        last = self.evaluated[-self.config.max_failures :]
        if len(last) == self.config.max_failures and all(e.failed for e in last):
            raise TooManyFailuresError(
                f"the last {len(last)} evaluations failed, the most recent one because {last[-1].error}; "
                "everything so far is in the result. Check the objective or the bounds, or raise max_failures."
            )


def _check_numbers(evaluation: Evaluation, problem: Problem, place: str) -> None:
    """Refuse a stored evaluation that lacks a value of an objective or of a constraint."""
    if evaluation.failed:
        return
    if len(evaluation.numbers) != len(problem.objectives):
        raise ValueError(f"{place} has {len(evaluation.numbers)} values, expected {len(problem.objectives)}.")
    missing = [name for name in problem.measured if name not in evaluation.measured]
    if missing:
        raise ValueError(f"{place} has nothing for the constraint {missing[0]!r}.")
