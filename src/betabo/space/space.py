"""The search space: named parameters, or a box, and its map to the unit cube."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from scipy.optimize import Bounds

from betabo.space.boundary import Side, boundary_distance, faces
from betabo.space.checks import Array, finite_number
from betabo.space.conditions import Activity
from betabo.space.parameters import Categorical, Float, Parameter, Scalar, parameter_from_json
from betabo.space.profiles import Profile, profiles_of

Point: TypeAlias = dict[str, Scalar] | Array

SpaceLike: TypeAlias = "Space | Mapping[str, Parameter | Profile] | Sequence[Sequence[float]] | Array | Bounds"
"""A `Space`, a dict of parameters, `n` pairs (low, high), an `n x 2` array, or `scipy.optimize.Bounds`."""


class Space:
    """A search space of named parameters, and its map to the unit cube.

    Points are dicts with a value for each name, or NumPy arrays in a box, see `Space.from_bounds`.

    Args:
        parameters: A `Float`, `Int`, `Categorical`, `Fixed` or `Profile` for each name. Their order is that of the
            coordinates.

    Example:
        >>> space = Space({"lr": Float(1e-5, 1e-1, log=True), "act": Categorical(["relu", "tanh"])})
        >>> space.to_unit({"lr": 1e-3, "act": "tanh"})
        array([0.5, 0. , 1. ])
        >>> space.from_unit([0.0, 0.9, 0.2])
        {'lr': 1e-05, 'act': 'relu'}
    """

    def __init__(self, parameters: Mapping[str, Parameter | Profile]) -> None:
        if not isinstance(parameters, Mapping):
            raise TypeError(
                f"parameters is {parameters!r}, expected a dict such as {{'lr': Float(0.0, 1.0)}}; "
                "use Space.from_bounds for (low, high) pairs."
            )
        parameters = _expanded(parameters)
        for name, parameter in parameters.items():
            if not isinstance(name, str):
                raise TypeError(f"A parameter's name is {name!r}, expected a string.")
            if not name:
                raise ValueError("A parameter's name is the empty string, expected a non-empty one.")
            if not isinstance(parameter, Parameter):
                raise TypeError(
                    f"{name}: the parameter is {parameter!r}, expected Float, Int, Categorical or Fixed, "
                    "such as Float(0.0, 1.0)."
                )
        if not any(parameter.width for parameter in parameters.values()):
            raise ValueError(
                f"The space has no free parameter: it is {dict(parameters)!r}; "
                "add at least one Float, Int or Categorical."
            )
        self._parameters = dict(parameters)
        self._is_box = False
        self._slices: dict[str, slice] = {}
        start = 0
        for name, parameter in self._parameters.items():
            self._slices[name] = slice(start, start + parameter.width)
            start += parameter.width
        self._dims = start
        activity = Activity(self._parameters, self._slices)
        self._activity = activity if activity.conditional else None

    @classmethod
    def from_bounds(cls, bounds: Sequence[Sequence[float]] | Array | Bounds) -> Space:
        """A box, whose points are NumPy arrays rather than dicts.

        Args:
            bounds: `n` pairs (low, high), an `n x 2` array of them, or `scipy.optimize.Bounds`. Rows are coordinates:
                a `2 x 2` array holds two pairs (low, high). BoTorch's `2 x n` tensors are refused rather than guessed.

        Returns:
            A space of `n` parameters `Float(low, high)` with the names `x0`, `x1`, ...
        """
        floats = {}
        for index, pair in enumerate(_pairs(bounds)):
            with _about(f"bounds[{index}]"):
                low, high = (finite_number(name, bound) for name, bound in zip(("low", "high"), pair, strict=True))
                if low == high:
                    raise ValueError(
                        f"low and high are both {low!r}, expected low < high; leave the coordinate out of the box, "
                        "or name the parameters and use Fixed."
                    )
                floats[f"x{index}"] = Float(low, high)
        if not floats:
            raise ValueError(f"The space has no free parameter: bounds is {bounds!r}; expected at least one pair.")
        space = cls(floats)
        space._is_box = True
        return space

    @property
    def dims(self) -> int:
        """Number of coordinates in the unit cube."""
        return self._dims

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in the order of their coordinates."""
        return tuple(self._parameters)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters by name, read-only."""
        return MappingProxyType(self._parameters)

    @property
    def coordinates(self) -> list[str]:
        """A name for each of the `dims` coordinates, such as `lr`, or `act=relu` for a choice."""
        return [label for name, parameter in self._parameters.items() for label in parameter.labels(name)]

    @property
    def numeric(self) -> npt.NDArray[np.bool_]:
        """Which of the coordinates belong to a number and not to a choice, of shape `dims`."""
        kinds = [not isinstance(p, Categorical) for p in self._parameters.values() for _ in range(p.width)]
        return np.array(kinds, dtype=bool)

    @property
    def profiles(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the coordinates of each profile of at least eight numbers, see `Profile`."""
        return profiles_of(self._parameters)

    @property
    def is_box(self) -> bool:
        """Whether points are arrays, as in a space that was made by `Space.from_bounds`, rather than dicts."""
        return self._is_box

    @property
    def is_continuous(self) -> bool:
        """Whether every free parameter is a `Float`."""
        return not any(parameter.is_discrete for parameter in self._parameters.values())

    def count(self) -> int | None:
        """Number of distinct points, None if there is a `Float`, or a parameter that exists only under a choice."""
        if self._activity is not None:
            return None
        counts = [parameter.count for parameter in self._parameters.values()]
        finite = [count for count in counts if count is not None]
        return math.prod(finite) if len(finite) == len(counts) else None

    def to_unit(self, point: Mapping[str, Any] | Sequence[float] | Array) -> Array:
        """Coordinates of a point.

        Args:
            point: A dict with a value for each name, where a `Fixed` may be left out; in a box, `n` numbers.

        Returns:
            The canonical coordinates of the point, of shape `dims`.

        Raises:
            TypeError: The point or a value has the wrong type.
            ValueError: A name or number is missing or too many, or a value outside its bounds.
        """
        values = self._box_values(point) if self.is_box else self._named_values(point)
        u = np.empty(self.dims)
        if self._activity is not None:
            for name, parameter in self._parameters.items():
                u[self._slices[name]] = self._activity.rest(parameter)
        for name, value in values.items():
            with _about(name):
                u[self._slices[name]] = self._parameters[name].to_unit(value)
        return u

    def from_unit(self, u: ArrayLike) -> Point:
        """The point at the coordinates `u`, of shape `dims`.

        Returns:
            A dict with a value for each name, constants included; in a box, a float64 array of shape `n`. Values never
            lie outside their bounds.
        """
        row = self._row(u)
        values: dict[str, Scalar] = {}
        for name, parameter in self._parameters.items():
            with _about(name):
                values[name] = parameter.from_unit(row[self._slices[name]])
        values = {name: values[name] for name in self.active(values)}
        return np.array(list(values.values()), dtype=np.float64) if self.is_box else values

    def snap(self, u: ArrayLike) -> Array:
        """The canonical coordinates of the points that rows of the cube decode to.

        Args:
            u: Points of the unit cube, `n x dims`.

        Returns:
            Points of the unit cube, `n x dims`: a `Float` keeps its coordinate, an `Int` takes that of the nearest
            integer, a `Categorical` is 1 for its choice and 0 for the others.
        """
        points = self._rows(u)
        snapped = np.empty_like(points)
        for name, parameter in self._parameters.items():
            with _about(name):
                snapped[:, self._slices[name]] = parameter.snap(points[:, self._slices[name]])
        return snapped if self._activity is None else self._activity.settle(snapped)

    def neighbours(self, u: ArrayLike) -> Array:
        """Points one discrete step away.

        Args:
            u: Coordinates of a point, of shape `dims`; they are snapped first.

        Returns:
            Canonical points, `k x dims`, that differ from the point in exactly one discrete parameter: the next smaller
            and larger value of an `Int`, every other choice of a `Categorical`. None, `0 x dims`, without such a
            parameter.
        """
        (here,) = self.snap(self._row(u)[None, :])
        steps = [np.empty((0, self.dims))]
        for name in self._names_at(here):
            near = self._parameters[name].neighbours(here[self._slices[name]])
            step = np.tile(here, (len(near), 1))
            step[:, self._slices[name]] = near
            steps.append(step if self._activity is None else self.snap(step))  # what it brings into being too
        return np.concatenate(steps)

    def active(self, values: Mapping[str, Any]) -> list[str]:
        """The names of the parameters that exist where the choices have these values."""
        return list(self._parameters) if self._activity is None else self._activity.names_at(values)

    def exists(self, u: ArrayLike) -> dict[str, npt.NDArray[np.bool_]]:
        """At which of many snapped points of the cube, `n x dims`, each parameter exists."""
        points = self._rows(u)
        if self._activity is None:
            return {name: np.ones(len(points), dtype=bool) for name in self._parameters}
        return self._activity.exists(points)

    @property
    def is_conditional(self) -> bool:
        """Whether some parameters exist only under a choice."""
        return self._activity is not None

    @property
    def most_dims(self) -> int:
        """The largest number of coordinates that exist at one of 256 random points; `dims` without conditions."""
        if self._activity is None:
            return self.dims
        rows = np.random.default_rng(0).random((256, self.dims))
        return max(sum(self._parameters[name].width for name in self._names_at(row)) for row in rows)

    def _names_at(self, row: Array) -> list[str]:
        """The names of the parameters that exist at a point of the cube."""
        return (
            list(self._parameters) if self._activity is None else list(cast("Mapping[str, Any]", self.from_unit(row)))
        )

    def positions(self, u: ArrayLike) -> dict[str, float]:
        """Where a point lies in the range of each of its numbers: 0 at the lower bound, 1 at the upper one.

        Choices and constants have no bounds, and a number of two values has nothing else; all these are left out, and
        so is what does not exist at the point.

        Args:
            u: Coordinates of the point, of shape `dims`.
        """
        row = self._row(u)
        names = [name for name in self._names_at(row) if self._parameters[name].has_faces]
        return {name: float(row[self._slices[name]][0]) for name in names}

    def faces(self, u: ArrayLike, within: float = 0.0) -> dict[str, Side]:
        """On which faces of the box a point lies.

        Args:
            u: Coordinates of the point, of shape `dims`.
            within: How far from a bound still counts as on it, as a share of the range.

        Returns:
            `"lower"` or `"upper"` for the name of each number that is on a bound, see `positions`.
        """
        return faces(self.positions(u), within)

    def boundary_distance(self, u: ArrayLike) -> float | None:
        """Normalized distance of a point to the boundary of the box.

        Args:
            u: Coordinates of the point, of shape `dims`.

        Returns:
            1 at the centre and 0 on a face, of the number nearest to a bound; None without numbers, see `positions`.
        """
        return boundary_distance(self.positions(u).values())

    def to_json(self) -> dict[str, Any]:
        """A description of plain JSON types, see `Space.from_json`."""
        described = [{"name": name, **parameter.to_json()} for name, parameter in self._parameters.items()]
        return {"box": self.is_box, "parameters": described}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Space:
        """The space that `Space.to_json` described."""
        if not isinstance(data, Mapping):
            raise TypeError(f"A space's description is {data!r}, expected the dict that Space.to_json returned.")
        if data.keys() != {"box", "parameters"}:
            raise ValueError(
                f"A space's description has the keys {', '.join(map(repr, data)) or 'none'}, "
                "expected 'box' and 'parameters'."
            )
        if not isinstance(data["box"], bool):
            raise TypeError(f"'box' is {data['box']!r}, expected true or false.")
        if not isinstance(data["parameters"], list):
            raise TypeError(f"'parameters' is {data['parameters']!r}, expected a list of descriptions.")
        parameters: dict[str, Parameter] = {}
        for index, described in enumerate(data["parameters"]):
            with _about(f"parameters[{index}]"):
                if not isinstance(described, Mapping) or "name" not in described:
                    raise ValueError(f"the description is {described!r}, expected a dict with a 'name'.")
                name = described["name"]
                if name in parameters:
                    raise ValueError(f"'name' is {name!r}, expected one that no other parameter has.")
                parameters[name] = parameter_from_json({k: v for k, v in described.items() if k != "name"})
        if not data["box"]:
            return cls(parameters)
        bounds = [(p.low, p.high) for p in parameters.values() if isinstance(p, Float)]
        space = cls.from_bounds(bounds)
        if space._parameters != parameters:
            raise ValueError("'box' is true, expected only parameters of type 'float' with the names x0, x1, ...")
        return space

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        same_parameters = list(self._parameters.items()) == list(other._parameters.items())
        return self.is_box == other.is_box and same_parameters

    def __repr__(self) -> str:
        if self.is_box:
            pairs = [(p.low, p.high) for p in self._parameters.values() if isinstance(p, Float)]
            return f"Space.from_bounds({pairs})"
        return f"Space({self._parameters})"

    def _named_values(self, point: object) -> dict[str, Any]:
        """The given values by name, in which only constants may be missing."""
        if not isinstance(point, Mapping):
            raise TypeError(f"The point is {point!r}, expected a dict with the names {_listed(self.names)}.")
        unknown = [name for name in point if name not in self._parameters]
        if unknown:
            raise ValueError(f"The point has the unknown names {_listed(unknown)}; expected {_listed(self.names)}.")
        active = self.active(point)
        missing = [name for name in active if self._parameters[name].width and name not in point]
        if missing:
            raise ValueError(f"The point lacks the names {_listed(missing)}; expected {_listed(active)}.")
        if len(active) < len(self._parameters) and (idle := [name for name in point if name not in active]):
            raise ValueError(f"The point has {_listed(idle)}, which does not exist there; expected {_listed(active)}.")
        return dict(point)

    def _box_values(self, point: Any) -> dict[str, Any]:
        """The numbers of a point in a box by name."""
        values = point.tolist() if hasattr(point, "tolist") else point  # arrays, and tensors without importing torch
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise TypeError(f"The point is {point!r}, expected a list or array of {self.dims} numbers.")
        if len(values) != self.dims:
            raise ValueError(f"The point has {len(values)} numbers, expected {self.dims}: {point!r}.")
        return dict(zip(self.names, values, strict=True))

    def _row(self, u: ArrayLike) -> Array:
        """One point of the cube, of shape `dims`."""
        row = np.asarray(u, dtype=np.float64)
        if row.shape != (self.dims,):
            raise ValueError(f"The coordinates have shape {row.shape}, expected ({self.dims},), one point of the cube.")
        return row

    def _rows(self, u: ArrayLike) -> Array:
        """Points of the cube, `n x dims`."""
        points = np.asarray(u, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != self.dims:
            raise ValueError(f"The points have shape {points.shape}, expected (n, {self.dims}), one point in each row.")
        return points


def _expanded(parameters: Mapping[str, Parameter | Profile]) -> dict[str, Parameter]:
    """The parameters with floats in the place of profiles."""
    expanded: dict[str, Parameter] = {}
    for name, parameter in parameters.items():
        members = parameter.floats(name) if isinstance(parameter, Profile) else {name: parameter}
        for member, each in members.items():
            if member in expanded:
                raise ValueError(f"{member} is there twice, by itself and in a profile; expected each name once.")
            expanded[member] = each
    return expanded


def as_space(space: SpaceLike) -> Space:
    """The search space that is meant.

    Args:
        space: A `Space`, a dict of parameters, `n` pairs (low, high), an `n x 2` array, or `scipy.optimize.Bounds`.

    Returns:
        The space itself, `Space(...)` of a dict, or `Space.from_bounds(...)` of the others.

    Raises:
        TypeError: It is none of these.
    """
    if isinstance(space, Space):
        return space
    if isinstance(space, Mapping):
        return Space(space)
    return Space.from_bounds(space)


def _pairs(bounds: Any) -> Iterable[tuple[Any, Any]]:
    """The pairs (low, high) that bounds consist of, their numbers not yet checked."""
    if isinstance(bounds, Bounds):
        low, high = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
        return zip(low, high, strict=True)
    if isinstance(bounds, str | bytes) or not isinstance(bounds, Sequence | np.ndarray):
        raise TypeError(
            f"The space is {bounds!r}, expected a Space, a dict of parameters, a list of (low, high) pairs, an n x 2 "
            "array or scipy.optimize.Bounds; BoTorch's 2 x n tensor of bounds becomes pairs by bounds.T.tolist()."
        )
    if isinstance(bounds, np.ndarray) and bounds.ndim != 2:
        raise ValueError(f"bounds has shape {bounds.shape}, expected n x 2, a pair (low, high) for each coordinate.")
    if len(bounds) == 2 and all(_is_row(row) and len(row) != 2 for row in bounds):
        raise ValueError(
            f"bounds is 2 x {len(bounds[0])}, expected n x 2, a pair (low, high) for each coordinate; "
            "pass list(zip(*bounds)) if it holds all lower and then all upper bounds."
        )
    for index, row in enumerate(bounds):
        if not _is_row(row) or len(row) != 2:
            raise ValueError(f"bounds[{index}] is {row!r}, expected a pair (low, high): bounds are n x 2.")
    return [(row[0], row[1]) for row in bounds]


def _is_row(row: object) -> bool:
    is_sequence = isinstance(row, Sequence) and not isinstance(row, str | bytes)
    return is_sequence or (isinstance(row, np.ndarray) and row.ndim == 1)


@contextmanager
def _about(name: str) -> Iterator[None]:
    """Errors inside say which parameter they are about."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error


def _listed(names: Iterable[object]) -> str:
    return ", ".join(map(repr, names))
