"""A problem: where to search, what for, and under which constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias, get_args

from betabo.problem.known import AtMost, KnownConstraint, KnownLike, Written, as_known
from betabo.problem.limits import Limit, LimitsLike, as_limits
from betabo.problem.measurement import VALUE, Measurement, read_measurement
from betabo.problem.region import Region
from betabo.schema import listing, one_of, record, table, text
from betabo.space import Space, SpaceLike, as_space
from betabo.suggestions import did_you_mean

Direction: TypeAlias = Literal["minimize", "maximize"]

DIRECTIONS: tuple[Direction, ...] = get_args(Direction)

ObjectivesLike: TypeAlias = "Direction | Mapping[str, Direction]"
"""A direction, or one for each named objective, such as `{"loss": "minimize", "speed": "maximize"}`."""


def _texts(value: Any, place: str) -> None:
    """Texts by name, or a list of texts."""
    (table(text) if isinstance(value, Mapping) else listing(text))(value, place)


_MEASURED = record({}, {"objectives": table(one_of(DIRECTIONS)), "constraints": _texts, "known": listing(text)})


@dataclass(frozen=True)
class Problem:
    """What is searched for, the same for `minimize`, `Optimizer`, `BetaSampler` and `betabo minimize`.

    Args:
        space: Bounds as pairs, a `scipy.optimize.Bounds`, a dictionary of parameters, or a `Space`.
        objectives: A direction, or the name and direction of each objective.
        constraints: Limits of what the objective measures beside its value, such as `{"temperature": "<= 80"}`.
        known: Constraints on the parameters that no proposal violates: text such as `"x + y <= 1"`,
            `simplex("a", "b")`, `at_most(2, "a", "b", "c")`, a function of a point that returns True or False, or
            SciPy's of a box.
        initial: Points to evaluate first, in the user's units.
        known_points: Results that are known already, see `minimize`.
        earlier: Results of an earlier task, which may be another one, see `minimize`.

    Example:
        >>> Problem({"x": Float(0, 1)}, objectives={"loss": "minimize"}, constraints={"temperature": "<= 80"})
    """

    space: Space
    objectives: Mapping[str, Direction] = field(default_factory=lambda: {VALUE: "minimize"})
    constraints: tuple[Limit, ...] = ()
    known: tuple[KnownConstraint, ...] = ()
    initial: tuple[Any, ...] = ()
    known_points: Any = ()
    earlier: Any = ()

    def __init__(
        self,
        space: SpaceLike,
        *,
        objectives: ObjectivesLike = "minimize",
        constraints: LimitsLike = (),
        known: KnownLike | Iterable[KnownLike] = (),
        initial: Iterable[Any] = (),
        known_points: Any = (),
        earlier: Any = (),
    ) -> None:
        object.__setattr__(self, "space", as_space(space))
        object.__setattr__(self, "objectives", _as_objectives(objectives))
        object.__setattr__(self, "constraints", as_limits(constraints))
        object.__setattr__(self, "known", as_known(known, self.space))
        if isinstance(initial, str | Mapping) or not isinstance(initial, Iterable):
            raise TypeError(f"initial is {initial!r}, expected a list of points.")
        object.__setattr__(self, "initial", tuple(initial))
        object.__setattr__(self, "known_points", known_points)
        object.__setattr__(self, "earlier", earlier)

    @classmethod
    def of(cls, space: SpaceLike | Problem, **more: Any) -> Problem:
        """A problem that is given as a whole, or else the one of its parts.

        Raises:
            ValueError: Both are given.
        """
        more = {name: value for name, value in more.items() if not _is_default(name, value)}
        if not isinstance(space, Problem):
            return cls(space, **more)
        if more:
            raise ValueError(f"a Problem is given together with {', '.join(more)}; put everything into the Problem.")
        return space

    def without_points(self) -> Problem:
        """The same objectives and measured constraints in the same space: what a model of results needs."""
        return Problem(self.space, objectives=self.objectives, constraints=self.constraints)

    def without_results(self) -> Problem:
        """The same problem without points to begin with, and without what is known."""
        return replace(self, initial=(), known_points=(), earlier=())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the objectives."""
        return tuple(self.objectives)

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The direction of each objective."""
        return tuple(self.objectives.values())

    @property
    def signs(self) -> tuple[float, ...]:
        """1 for each objective that is minimized, -1 for each that is maximized."""
        return tuple(-1.0 if direction == "maximize" else 1.0 for direction in self.directions)

    @property
    def measured(self) -> tuple[str, ...]:
        """The names of what the constraints are about."""
        return tuple(limit.name for limit in self.constraints)

    def measure(self, given: Any, source: str = "the objective returned") -> Measurement:
        """The numbers that an objective returned, see `read_measurement`."""
        if isinstance(given, Measurement):
            return given
        return read_measurement(given, self.names, self.measured, source)

    def region(self, seed: int = 0) -> Region | None:
        """Where all known constraints hold; None without them.

        Args:
            seed: Seed of the points with which the region is explored.

        Raises:
            ValueError: An initial point violates one, or none was found that satisfies them all.
        """
        if not self.known:
            return None
        region = Region(self.space, self.known, seed)
        for point in self.initial:
            violated = region.violated(self.space.to_unit(point))
            if violated:
                raise ValueError(f"the initial point {point!r} violates {violated}.")
        _ = region.pool  # which says that there is no point
        return region

    def admits(self, point: Any) -> bool:
        """Whether a point, in the user's units, violates no known constraint."""
        return all(constraint.admits(point) for constraint in self.known)

    def losses(self, values: Iterable[float]) -> tuple[float, ...]:
        """The values, with the sign changed where they are to be maximized, so that less is better."""
        return tuple(sign * value for sign, value in zip(self.signs, values, strict=True))

    def excess(self, measured: Mapping[str, float]) -> tuple[float, ...]:
        """By how much each bound of each constraint is exceeded; a constraint holds where it is at most 0."""
        return tuple(e for limit in self.constraints for e in limit.excess(measured[limit.name]))

    def violation(self, measured: Mapping[str, float]) -> float:
        """Sum of the amounts by which constraints are violated; 0 without constraints."""
        return sum(max(excess, 0.0) for excess in self.excess(measured))

    def to_json(self) -> dict[str, Any]:
        """What is more than the space, as plain JSON types, see `from_json`; empty for one unnamed value."""
        described: dict[str, Any] = {}
        if self.objectives != {VALUE: "minimize"}:
            described["objectives"] = dict(self.objectives)
        if self.constraints:
            described["constraints"] = {limit.name: str(limit) for limit in self.constraints}
        if self.known:
            described["known"] = [_as_text(constraint) for constraint in self.known]
        return described

    @classmethod
    def from_json(cls, space: Space, data: Mapping[str, Any]) -> Problem:
        """The problem in a space that `to_json` described; without points."""
        _MEASURED(data, "problem")
        return cls(space, **data)


def _as_text(constraint: KnownConstraint) -> str:
    if not isinstance(constraint, Written | AtMost):
        raise ValueError(f"known constraint {constraint.text} cannot be saved; write it as text, such as 'x + y <= 1'.")
    return constraint.text


def _as_objectives(objectives: Any) -> dict[str, Direction]:
    if isinstance(objectives, str):
        objectives = {VALUE: objectives}
    if not isinstance(objectives, Mapping):
        raise TypeError(
            f"objectives is {objectives!r}, expected 'minimize', 'maximize' or a dict such as "
            "{'loss': 'minimize', 'speed': 'maximize'}."
        )
    if not objectives:
        raise ValueError("objectives is empty, expected a name and a direction for each.")
    for name, direction in objectives.items():
        if not isinstance(name, str) or not name:
            raise ValueError(f"an objective's name is {name!r}, expected some text.")
        if direction not in DIRECTIONS:
            hint = did_you_mean(direction, DIRECTIONS) if isinstance(direction, str) else ""
            what = "direction" if name == VALUE else f"objective {name}"
            raise ValueError(f"{what} is {direction!r}, expected 'minimize' or 'maximize'.{hint}")
    return dict(objectives)


def _is_default(name: str, value: Any) -> bool:
    """Whether a part of a problem is what it is when nobody says anything."""
    if name not in {entry.name for entry in fields(Problem)}:
        return False
    if name == "objectives":
        return bool(isinstance(value, str) and value == "minimize")
    return isinstance(value, tuple | list) and not value
