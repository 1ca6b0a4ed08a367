"""Constraints that are known beforehand: no proposal violates one.

Each says of points in the user's units whether it holds, and, where it can, by how much it is violated, with slopes.
One that is text is stored with a study and written in a file; a function of Python and SciPy's are not.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import LinearConstraint, NonlinearConstraint

from betabo.problem.duals import Dual
from betabo.problem.expressions import CLOSE, Expression, is_text
from betabo.space import Categorical, Int, Parameter, Space

Gaps: TypeAlias = "list[tuple[Dual, bool]]"

KnownLike: TypeAlias = "str | Callable[[Any], Any] | LinearConstraint | NonlinearConstraint | Mapping[str, Any]"
"""Text, a function of a point that says whether it is allowed, or a constraint of SciPy."""


class KnownConstraint(Protocol):
    """What every known constraint can be asked."""

    @property
    def text(self) -> str:
        """The constraint for people; of one that is written as text, the text."""

    def admits(self, point: Any) -> bool:
        """Whether it holds at a point in the user's units."""

    def holds(self, values: Mapping[str, Any], count: int) -> npt.NDArray[np.bool_]:
        """Whether it holds at `count` points, given an array for each parameter."""

    def gaps(self, values: Mapping[str, Any]) -> Gaps:
        """By how much each part is violated, see `Expression.gaps`; none where that is not known."""


@dataclass(frozen=True)
class Written:
    """A constraint that is written as an expression."""

    expression: Expression
    text: str
    names: tuple[str, ...]  # of the space, in order

    def admits(self, point: Any) -> bool:
        """Whether it holds at a point in the user's units."""
        values = point if isinstance(point, Mapping) else dict(zip(self.names, (float(x) for x in point), strict=True))
        if any(name not in values for name in self.expression.names):
            return True  # of a parameter that does not exist at this point
        return bool(self.expression.holds(values))

    def holds(self, values: Mapping[str, Any], count: int) -> npt.NDArray[np.bool_]:
        """Whether it holds at each of many points."""
        return np.broadcast_to(np.asarray(self.expression.holds(values), dtype=bool), count)

    def gaps(self, values: Mapping[str, Any]) -> Gaps:
        """By how much each part is violated."""
        return self.expression.gaps(values)


@dataclass(frozen=True)
class AtMost:
    """At most so many of some parameters are not zero.

    Attributes:
        most: How many.
        names: The parameters, whose values are numbers, or True and False.
        all_names: Those of the space.
    """

    most: int
    names: tuple[str, ...]
    all_names: tuple[str, ...]

    @property
    def text(self) -> str:
        """The constraint for people."""
        return at_most(self.most, *self.names)

    def admits(self, point: Any) -> bool:
        """Whether it holds at a point in the user's units."""
        values = point if isinstance(point, Mapping) else dict(zip(self.all_names, point, strict=True))
        return sum(bool(values.get(name, 0) != 0) for name in self.names) <= self.most

    def holds(self, values: Mapping[str, Any], count: int) -> npt.NDArray[np.bool_]:
        """Whether it holds at each of many points."""
        used = np.stack([np.broadcast_to(np.asarray(values[name]) != 0, count) for name in self.names])
        return np.asarray(used.sum(axis=0) <= self.most)

    def gaps(self, values: Mapping[str, Any]) -> Gaps:  # noqa: ARG002 - it has no slopes; the region sets zeros itself
        """By how much each part is violated."""
        return []


@dataclass(frozen=True)
class Predicate:
    """A function of a point in the user's units that says whether the point is allowed."""

    function: Callable[[Any], Any]
    space: Space

    @property
    def text(self) -> str:
        """The constraint for people."""
        return f"function {getattr(self.function, '__qualname__', type(self.function).__qualname__)}"

    def admits(self, point: Any) -> bool:
        """Whether it holds at a point in the user's units."""
        answer = self.function(point.copy())
        if not isinstance(answer, bool | np.bool_):
            raise TypeError(f"known {self.text} returned {answer!r} at {point!r}, expected True or False.")
        return bool(answer)

    def holds(self, values: Mapping[str, Any], count: int) -> npt.NDArray[np.bool_]:
        """Whether it holds at each of many points."""
        columns = [
            _as_the_user_has_them(parameter, np.broadcast_to(np.asarray(values[name]), count).tolist())
            for name, parameter in self.space.parameters.items()
        ]
        points = (dict(zip(self.space.names, row, strict=True)) for row in zip(*columns, strict=True))
        if self.space.is_box:
            return np.array([self.admits(np.array(list(point.values()))) for point in points], dtype=bool)
        return np.array([self.admits(point) for point in points], dtype=bool)

    def gaps(self, values: Mapping[str, Any]) -> Gaps:  # noqa: ARG002 - a function says nothing of how far
        """By how much each part is violated."""
        return []


@dataclass(frozen=True)
class FromSciPy:
    """A constraint of SciPy on the numbers of a box: `low <= function(x) <= high`.

    Attributes:
        function: From an array of `d` numbers to `k`.
        low: `k` bounds.
        high: `k` bounds, the same as `low` for equations.
        names: The names of the box.
    """

    function: Callable[[Any], Any]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    names: tuple[str, ...]

    @property
    def text(self) -> str:
        """The constraint for people."""
        return f"SciPy's constraint {self.low.tolist()} <= f(x) <= {self.high.tolist()}"

    def admits(self, point: Any) -> bool:
        """Whether it holds at a point in the user's units."""
        return bool(self._inside(np.atleast_1d(self.function(np.asarray(point, dtype=np.float64)))).all())

    def holds(self, values: Mapping[str, Any], count: int) -> npt.NDArray[np.bool_]:
        """Whether it holds at each of many points."""
        rows = np.stack([np.broadcast_to(values[name], count) for name in self.names], axis=1)
        return np.array([self.admits(row) for row in rows], dtype=bool)

    def gaps(self, values: Mapping[str, Any]) -> Gaps:
        """By how much each part is violated."""
        rows = np.stack([values[name].value for name in self.names], axis=1)
        found = np.stack([np.atleast_1d(self.function(row)) for row in rows])  # n x k
        step = 1e-7 * np.maximum(1.0, abs(rows))
        slope = np.zeros((*found.shape, values[self.names[0]].slope.shape[1]))
        for column, name in enumerate(self.names):
            moved = rows.copy()
            moved[:, column] += step[:, column]
            there = np.stack([np.atleast_1d(self.function(row)) for row in moved])
            rate = (there - found) / step[:, [column]]
            slope += rate[:, :, None] * values[name].slope[:, None, :]
        gaps: Gaps = []
        for part, (low, high) in enumerate(zip(*np.broadcast_arrays(self.low, self.high, found[0])[:2], strict=True)):
            output = Dual(found[:, part], slope[:, part])
            if low == high:
                gaps.append((output - low, True))
                continue
            gaps += [(low - output, False)] if np.isfinite(low) else []
            gaps += [(output - high, False)] if np.isfinite(high) else []
        return gaps

    def _inside(self, found: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        same = (self.low == self.high) & (abs(found - self.low) <= CLOSE * np.maximum(1.0, abs(found)))
        return np.asarray(same | ((self.low <= found) & (found <= self.high)))


def _as_the_user_has_them(parameter: Parameter, values: list[Any]) -> list[Any]:
    """The values of a column as the types that the user's points have."""
    if isinstance(parameter, Int):
        return [int(value) for value in values]
    if isinstance(parameter, Categorical):
        return [parameter.choices[parameter.choices.index(value)] for value in values]
    return values


def simplex(*names: str, total: float = 1.0) -> str:
    """The constraint that parameters add up to a number, as the shares of a mixture do.

    Args:
        names: The parameters.
        total: What they add up to.
    """
    if len(names) < 2:
        raise ValueError(f"simplex has the parameters {', '.join(names) or 'none'}, expected at least two.")
    return f"{' + '.join(names)} == {total!r}"


def at_most(most: int, *names: str) -> str:
    """The constraint that at most so many parameters are not zero (or not False).

    Args:
        most: How many.
        names: The parameters.
    """
    return f"at_most({most}, {', '.join(names)})"


def as_known(known: KnownLike | Iterable[KnownLike], space: Space) -> tuple[KnownConstraint, ...]:
    """The known constraints that are meant.

    Raises:
        TypeError: One is neither text nor a function nor a constraint of SciPy.
        ValueError: One cannot be read, or does not fit the space.
    """
    several = known if isinstance(known, Iterable) and not isinstance(known, str | Mapping) else [known]
    return tuple(_as_one(one, space) for one in several)


def _as_one(known: Any, space: Space) -> KnownConstraint:
    if isinstance(known, Written | AtMost | Predicate | FromSciPy):
        return known
    if isinstance(known, str):
        return _parse(known, space)
    if isinstance(known, LinearConstraint | NonlinearConstraint | Mapping):
        return _from_scipy(known, space)
    if callable(known):
        return Predicate(known, space)
    raise TypeError(f"known constraint {known!r}, expected text such as 'x + y <= 1', or a function of a point.")


def _parse(text: str, space: Space) -> KnownConstraint:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None  # the expression says what is wrong
    match tree:
        case ast.Call(func=ast.Name(id="simplex"), args=args, keywords=[]) if all(
            isinstance(a, ast.Name) for a in args
        ):
            expression = Expression.parse(simplex(*(a.id for a in args if isinstance(a, ast.Name))), space)
            return Written(expression, text.strip(), space.names)
        case ast.Call(func=ast.Name(id="at_most"), args=[ast.Constant(value=int() as most), *rest], keywords=[]):
            return _at_most(most, [a.id for a in rest if isinstance(a, ast.Name)], len(rest), text, space)
    return Written(Expression.parse(text, space), text.strip(), space.names)


def _at_most(most: int, names: list[str], count: int, text: str, space: Space) -> AtMost:
    if most < 1 or isinstance(most, bool) or not most < count or len(names) != count or len(set(names)) != count:
        raise ValueError(f"known constraint {text!r}, expected fewer than the parameters, as in at_most(2, a, b, c).")
    for name in names:
        parameter = space.parameters.get(name)
        if parameter is None or is_text(parameter):
            raise ValueError(f"known constraint {text!r} has {name}, expected names of parameters that are numbers.")
        try:
            parameter.to_unit(False if hasattr(parameter, "choices") else 0)
        except ValueError as error:
            raise ValueError(f"known constraint {text!r}: {name} can never be 0: {error}") from error
    return AtMost(most, tuple(names), space.names)


def _from_scipy(known: LinearConstraint | NonlinearConstraint | Mapping[str, Any], space: Space) -> FromSciPy:
    if not space.is_box:
        raise ValueError("a constraint of SciPy is of a box; with named parameters write it as 'x + y <= 1'.")
    if isinstance(known, Mapping):
        if known.get("type") not in ("ineq", "eq") or not callable(known.get("fun")):
            raise ValueError(f"known constraint {known!r}, expected {{'type': 'ineq' or 'eq', 'fun': function}}.")
        function, args = known["fun"], tuple(known.get("args", ()))
        most = 0.0 if known["type"] == "eq" else np.inf
        return FromSciPy(lambda x: function(x, *args), np.zeros(1), np.full(1, most), space.names)
    low, high = np.atleast_1d(known.lb).astype(float), np.atleast_1d(known.ub).astype(float)
    if isinstance(known, LinearConstraint):
        matrix = np.atleast_2d(known.A.toarray() if hasattr(known.A, "toarray") else known.A)
        if matrix.shape[1] != len(space.names):
            raise ValueError(f"LinearConstraint has {matrix.shape[1]} columns, expected {len(space.names)}.")
        return FromSciPy(lambda x: matrix @ x, low, high, space.names)
    return FromSciPy(known.fun, low, high, space.names)
