"""Parameters: how one value in the user's units becomes coordinates of the unit cube, and back."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from betabo.space.checks import (
    Array,
    as_coordinates,
    as_points,
    check_inside,
    check_interval,
    check_scalar,
    finite_number,
    integer,
)
from betabo.space.conditions import ConditionsLike, as_conditions
from betabo.space.steps import Steps

Scalar: TypeAlias = str | int | float | bool | None

# What a choice or a constant may be compared with: scalars, and NumPy's, which JSON does not know.
_VALUE_TYPES = str | int | float | np.integer | np.floating | np.bool_ | None

# Integers up to here, and their differences, are exact in float64.
_LARGEST_INT = 2**52


class Parameter(ABC):
    """One named value of a search space, with `width` coordinates of the unit cube.

    A coordinate may lie outside [0, 1] by rounding (1e-9) and is then moved to the bound; further out is an error.
    """

    kind: ClassVar[str]

    @property
    def is_discrete(self) -> bool:
        """Whether the coordinates take certain values only."""
        return self.width > 0 and self.count is not None

    @property
    def has_faces(self) -> bool:
        """Whether a value may lie on a bound or off it: so for numbers, unless there are only two of them."""
        return False

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of coordinates in the unit cube."""

    @property
    @abstractmethod
    def count(self) -> int | None:
        """Number of distinct values, None for a continuum."""

    @abstractmethod
    def to_unit(self, value: Any) -> Array:
        """Coordinates of a value.

        Args:
            value: A value in the user's units.

        Returns:
            The canonical coordinates of the value, of shape `width`.

        Raises:
            TypeError: The value has the wrong type.
            ValueError: The parameter cannot take the value.
        """

    @abstractmethod
    def from_unit(self, u: ArrayLike) -> Scalar:
        """The value at the coordinates `u`, of shape `width`: never outside the bounds, as a plain Python object."""

    @abstractmethod
    def snap(self, u: ArrayLike) -> Array:
        """The canonical coordinates of the values that the points decode to.

        Args:
            u: Points, `n x width`.

        Returns:
            Points, `n x width`, with `snap(u)[i] == to_unit(from_unit(u[i]))`. A `Float` leaves points where they are.
        """

    @abstractmethod
    def neighbours(self, u: ArrayLike) -> Array:
        """Canonical coordinates, `k x width`, of the values one step from the one at `u`; none for a continuum."""

    @abstractmethod
    def labels(self, name: str) -> list[str]:
        """Names of the `width` coordinates of a parameter that is called `name`."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """A description of plain JSON types, see `parameter_from_json`."""


class Number(Parameter):
    """What a `Float` and an `Int` share: one coordinate between two bounds, with or without steps."""

    low: float
    high: float
    step: float | None

    @property
    def has_faces(self) -> bool:
        """Whether there is a value between the bounds."""
        return self.count is None or self.count > 2

    @property
    def width(self) -> int:
        """One coordinate."""
        return 1

    def labels(self, name: str) -> list[str]:
        """The name itself."""
        return [name]

    @cached_property
    def _grid(self) -> Steps | None:
        """The values, where they are a grid of their own: not those of a continuum, nor all integers."""
        if self.step is None or (isinstance(self.step, int) and self.step == 1):
            return None
        return Steps(self.low, self.high, self.step)


@dataclass(frozen=True, repr=False)
class Float(Number):
    """A real number in [`low`, `high`].

    The bounds are exactly 0 and 1 in the unit cube, and back. A value returns from the cube to within rounding of the
    larger bound, and with `log=True` to within 1e-12 of itself.

    Args:
        low: Smallest value.
        high: Largest value.
        log: Whether the logarithm of the value, rather than the value, is spread evenly over [0, 1].
        step: Distance between values, counted from `low`; None for a continuum. Not together with `log`.
        when: Choices under which the parameter exists, such as `{"model": "svm"}`; None for always.

    Example:
        >>> Float(1e-5, 1e-1, log=True).to_unit(1e-3)
        array([0.5])
        >>> Float(0.0, 1.0, step=0.25).from_unit([0.3])
        0.25
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None
    when: ConditionsLike = None

    kind: ClassVar[str] = "float"

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", as_conditions(self.when))
        object.__setattr__(self, "low", finite_number("low", self.low))
        object.__setattr__(self, "high", finite_number("high", self.high))
        check_interval(self.low, self.high, self.log)
        if self.step is not None:
            object.__setattr__(self, "step", finite_number("step", self.step))
            _check_no_log(self.log, self.step)
        _ = self._grid  # which refuses bad steps

    def __repr__(self) -> str:
        return _show_interval(self)

    @property
    def count(self) -> int | None:
        """Number of steps, None for a continuum."""
        return None if self._grid is None else self._grid.count

    def to_unit(self, value: Any) -> Array:
        """Coordinate of a number in [`low`, `high`], of shape 1."""
        number = finite_number("value", value)
        check_inside(number, self.low, self.high)
        if self._grid is not None:
            return self._grid.coordinate(np.array([self._grid.index(number)]))
        if self.log:
            position = _log_ratio(number, self.low) / _log_ratio(self.high, self.low)
        elif math.isinf(self.high - self.low):
            position = (number / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        else:
            position = (number - self.low) / (self.high - self.low)
        return np.array([min(position, 1.0)])  # not every platform's logarithm is monotone to the last digit

    def from_unit(self, u: ArrayLike) -> float:
        """The number at the coordinate `u`, of shape 1."""
        coordinates = as_coordinates(u, self.width)
        if self._grid is not None:
            return self._grid.value(int(self._grid.nearest(coordinates)[0]))
        position = float(coordinates[0])
        if not self.log:
            value = self.low * (1 - position) + self.high * position
        else:
            # From the nearer bound, which is thereby exact; in two factors, as one could overflow.
            bound, distance = (self.low, position) if position < 0.5 else (self.high, position - 1)
            root = math.exp(distance * _log_ratio(self.high, self.low) / 2)
            value = bound * root * root
        return min(max(value, self.low), self.high)

    def snap(self, u: ArrayLike) -> Array:
        """The points themselves, `n x 1`, of a continuum; with a step, the nearest ones of the grid."""
        points = as_points(u, self.width)
        return points if self._grid is None else self._grid.coordinate(self._grid.nearest(points))

    def neighbours(self, u: ArrayLike) -> Array:
        """None, `0 x 1`, in a continuum; with a step, the next smaller and larger value."""
        coordinates = as_coordinates(u, self.width)
        return np.empty((0, 1)) if self._grid is None else self._grid.beside(coordinates)

    def to_json(self) -> dict[str, Any]:
        """A description of plain JSON types."""
        step = {} if self.step is None else {"step": self.step}
        return {"type": self.kind, "low": self.low, "high": self.high, "log": self.log, **step, **_when_to_json(self)}


@dataclass(frozen=True, repr=False)
class Int(Number):
    """An integer from `low` to `high`, both included.

    The bounds are exactly 0 and 1 in the unit cube. A point between two integers' coordinates decodes to the nearer
    one, in the coordinate and thus in the logarithm with `log=True`; half-way, to the smaller one. Every integer
    returns exactly from the cube; only with `log=True` and beyond about 1e13, where neighbours are closer together than
    floating-point numbers, to within 1e-13 of itself.

    Args:
        low: Smallest value, at least -2**52.
        high: Largest value, at most 2**52.
        log: Whether the logarithm of the value, rather than the value, is spread evenly over [0, 1].
        step: Distance between values, counted from `low`. Only 1 together with `log`.
        when: Choices under which the parameter exists, such as `{"model": "svm"}`; None for always.

    Example:
        >>> Int(1, 100, log=True).from_unit([0.5])
        10
        >>> Int(32, 256, step=32).from_unit([0.5])
        128
    """

    low: int
    high: int
    log: bool = False
    step: int = 1
    when: ConditionsLike = None

    kind: ClassVar[str] = "int"

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", as_conditions(self.when))
        object.__setattr__(self, "low", integer("low", self.low))
        object.__setattr__(self, "high", integer("high", self.high))
        for name, bound in (("low", self.low), ("high", self.high)):
            if abs(bound) > _LARGEST_INT:
                raise ValueError(f"{name} is {bound}, expected an integer from -2**52 to 2**52; use Float and round.")
        check_interval(self.low, self.high, self.log)
        object.__setattr__(self, "step", integer("step", self.step))
        if self.step != 1:
            _check_no_log(self.log, self.step)
        _ = self._grid  # which refuses bad steps

    def __repr__(self) -> str:
        return _show_interval(self)

    @property
    def count(self) -> int:
        """Number of values from `low` to `high`."""
        return (self.high - self.low) // self.step + 1

    def to_unit(self, value: Any) -> Array:
        """Coordinate of an integer from `low` to `high`, of shape 1."""
        number = integer("value", value)
        check_inside(number, self.low, self.high)
        if self._grid is not None:
            return self._grid.coordinate(np.array([self._grid.index(number)]))
        return self._coordinate(np.array([number], dtype=np.float64))

    def from_unit(self, u: ArrayLike) -> int:
        """The integer at the coordinate `u`, of shape 1."""
        coordinates = as_coordinates(u, self.width)
        if self._grid is not None:
            return self.low + self.step * int(self._grid.nearest(coordinates)[0])
        return int(self._nearest(coordinates)[0])

    def snap(self, u: ArrayLike) -> Array:
        """The coordinates of the nearest values, `n x 1`."""
        if self._grid is not None:
            return self._grid.coordinate(self._grid.nearest(as_points(u, self.width)))
        return self._coordinate(self._nearest(as_points(u, self.width)[:, 0]))[:, None]

    def neighbours(self, u: ArrayLike) -> Array:
        """Coordinates, `k x 1` with `k` at most 2, of the next smaller and the next larger value."""
        if self._grid is not None:
            return self._grid.beside(as_coordinates(u, self.width))
        here = self._nearest(as_coordinates(u, self.width))
        near = np.concatenate([here - 1, here + 1])
        steps = self._coordinate(near[(self.low <= near) & (near <= self.high)])
        return np.asarray(steps[steps != self._coordinate(here)][:, None])

    def to_json(self) -> dict[str, Any]:
        """A description of plain JSON types."""
        step = {} if self.step == 1 else {"step": self.step}
        return {"type": self.kind, "low": self.low, "high": self.high, "log": self.log, **step, **_when_to_json(self)}

    def _coordinate(self, value: Array) -> Array:
        """Coordinates of integers, of any shape."""
        span = self.high - self.low
        position = (value - self.low) / span
        if self.log:
            position = np.log1p((value - self.low) / self.low) / math.log1p(span / self.low)
        # Only the bound itself lies on the face, however many integers round to it.
        return np.where(value == self.high, 1.0, np.minimum(position, 1 - 2**-53))

    def _nearest(self, u: Array) -> Array:
        """The integers with the nearest coordinates, of the shape `n` of `u`."""
        span = self.high - self.low
        if self.log:
            log_span = math.log1p(span / self.low)
            estimate = np.where(u < 0.5, self.low * np.exp(u * log_span), self.high * np.exp((u - 1) * log_span))
            error = self.high * (log_span + 4) * 2**-51
        else:
            estimate = self.low + u * span
            error = span * 2**-51
        # The estimate is right to within its rounding error; of the integers around it the nearest is taken.
        reach = 1 + int(error)
        candidates: Array = np.rint(estimate)[:, None] + np.arange(-reach, reach + 1)
        candidates = candidates.clip(self.low, self.high)
        nearest = np.abs(self._coordinate(candidates) - u[:, None]).argmin(axis=1)
        return np.take_along_axis(candidates, nearest[:, None], axis=1)[:, 0]


@dataclass(frozen=True)
class Categorical(Parameter):
    """One of several choices without an order, with one coordinate each (one-hot).

    A point decodes to the choice with the largest coordinate, the first of them if several are equal. Choices are
    compared with `==`, so that 1 and True are the same one.

    Args:
        choices: At least two distinct strings, numbers, booleans or None.
        when: Choices under which the parameter exists, such as `{"model": "svm"}`; None for always.

    Example:
        >>> Categorical(["relu", "tanh"]).to_unit("tanh")
        array([0., 1.])
    """

    choices: tuple[Scalar, ...]
    when: ConditionsLike = None

    kind: ClassVar[str] = "categorical"

    def __init__(self, choices: Sequence[Scalar], when: ConditionsLike = None) -> None:
        if isinstance(choices, str | bytes) or not isinstance(choices, Sequence):
            raise TypeError(f"choices is {choices!r}, expected a list or tuple such as ['relu', 'tanh'].")
        for index, choice in enumerate(choices):
            check_scalar(f"choices[{index}]", choice)
            if choice in choices[:index]:
                raise ValueError(
                    f"choices[{index}] is {choice!r}, equal to choices[{choices.index(choice)}], which is "
                    f"{choices[choices.index(choice)]!r}; expected distinct choices, so remove one of them."
                )
        if not choices:
            raise ValueError(f"choices is {choices!r}, expected at least two choices.")
        if len(choices) == 1:
            raise ValueError(
                f"choices is {choices!r}, expected at least two choices; use Fixed({choices[0]!r}) for a constant."
            )
        object.__setattr__(self, "choices", tuple(choices))
        object.__setattr__(self, "when", as_conditions(when))

    def __repr__(self) -> str:
        return f"Categorical(choices={self.choices!r}{_show_when(self)})"

    @property
    def width(self) -> int:
        """One coordinate for each choice."""
        return len(self.choices)

    @property
    def count(self) -> int:
        """Number of choices."""
        return len(self.choices)

    def to_unit(self, value: Any) -> Array:
        """Coordinates of a choice, of shape `width`: 1 for the choice and 0 for the others."""
        if not isinstance(value, _VALUE_TYPES):
            raise TypeError(f"value is {value!r}, expected one of the choices {self._listed()}.")
        if value not in self.choices:
            raise ValueError(f"value is {value!r}, expected one of the choices {self._listed()}.")
        return np.asarray(np.eye(self.width)[self.choices.index(value)])

    def from_unit(self, u: ArrayLike) -> Scalar:
        """The choice at the coordinates `u`, of shape `width`."""
        return self.choices[int(as_coordinates(u, self.width).argmax())]

    def snap(self, u: ArrayLike) -> Array:
        """The coordinates of the choices with the largest coordinates, `n x width`."""
        return np.asarray(np.eye(self.width)[as_points(u, self.width).argmax(axis=1)])

    def neighbours(self, u: ArrayLike) -> Array:
        """Coordinates of all other choices, `(width - 1) x width`."""
        return np.delete(np.eye(self.width), as_coordinates(u, self.width).argmax(), axis=0)

    def labels(self, name: str) -> list[str]:
        """One label for each choice, such as `act=relu`."""
        return [f"{name}={choice}" for choice in self.choices]

    def to_json(self) -> dict[str, Any]:
        """A description of plain JSON types."""
        return {"type": self.kind, "choices": list(self.choices), **_when_to_json(self)}

    def _listed(self) -> str:
        return ", ".join(map(repr, self.choices))


@dataclass(frozen=True)
class Fixed(Parameter):
    """A constant that is handed to the objective and has no coordinate.

    Args:
        value: A string, a finite number, a boolean or None.
    """

    value: Scalar

    kind: ClassVar[str] = "fixed"

    def __post_init__(self) -> None:
        check_scalar("value", self.value)

    @property
    def width(self) -> int:
        """No coordinate."""
        return 0

    @property
    def count(self) -> int:
        """One value."""
        return 1

    def to_unit(self, value: Any) -> Array:
        """No coordinates, of shape 0, once the value is known to be the constant."""
        if not isinstance(value, _VALUE_TYPES):
            raise TypeError(f"value is {value!r}, expected the constant {self.value!r}.")
        if value != self.value:
            raise ValueError(f"value is {value!r}, expected the constant {self.value!r}; leave it out or change Fixed.")
        return np.empty(0)

    def from_unit(self, u: ArrayLike) -> Scalar:
        """The constant; `u` is empty."""
        as_coordinates(u, self.width)
        return self.value

    def snap(self, u: ArrayLike) -> Array:
        """The points themselves, `n x 0`."""
        return as_points(u, self.width)

    def neighbours(self, u: ArrayLike) -> Array:
        """None, `0 x 0`."""
        as_coordinates(u, self.width)
        return np.empty((0, 0))

    def labels(self, name: str) -> list[str]:  # noqa: ARG002
        """No labels, for there are no coordinates."""
        return []

    def to_json(self) -> dict[str, Any]:
        """A description of plain JSON types."""
        return {"type": self.kind, "value": self.value}


_KINDS: dict[str, type[Float] | type[Int] | type[Categorical] | type[Fixed]] = {
    "float": Float,
    "int": Int,
    "categorical": Categorical,
    "fixed": Fixed,
}


def parameter_from_json(data: Mapping[str, Any]) -> Parameter:
    """The parameter that `Parameter.to_json` described.

    Args:
        data: The arguments of the parameter and its `"type"`: `"float"`, `"int"`, `"categorical"` or `"fixed"`.

    Returns:
        A parameter equal to the described one.

    Raises:
        TypeError: The description is not a dict, or an argument has the wrong type.
        ValueError: The type is unknown, or an argument is missing, unknown or out of range.
    """
    if not isinstance(data, Mapping):
        raise TypeError(f"A parameter's description is {data!r}, expected a dict such as {Float(0, 1).to_json()}.")
    kind = data.get("type")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"'type' is {kind!r}, expected one of {', '.join(map(repr, _KINDS))}.")
    cls = _KINDS[kind]
    arguments = {key: value for key, value in data.items() if key != "type"}
    known = {field.name for field in fields(cls)}
    required = {field.name for field in fields(cls) if field.default is MISSING}
    if not required <= arguments.keys() <= known:
        raise ValueError(
            f"A description of type {kind!r} has the arguments {_names(arguments)}, expected {_names(known)}."
        )
    return cls(**arguments)


def _show_interval(parameter: Float | Int) -> str:
    log = ", log=True" if parameter.log else ""
    step = f", step={parameter.step!r}" if parameter.step not in (None, 1) or isinstance(parameter.step, float) else ""
    return f"{type(parameter).__name__}({parameter.low!r}, {parameter.high!r}{log}{step}{_show_when(parameter)})"


def _show_when(parameter: Float | Int | Categorical) -> str:
    return f", when={dict(as_conditions(parameter.when))!r}" if parameter.when else ""


def _when_to_json(parameter: Float | Int | Categorical) -> dict[str, Any]:
    conditions = as_conditions(parameter.when)
    return {"when": {name: list(values) for name, values in conditions}} if conditions else {}


def _check_no_log(log: bool, step: float) -> None:
    if log:
        raise ValueError(f"log is True and step is {step!r}, expected one of them: a log scale has no even steps.")


def _log_ratio(value: float, low: float) -> float:
    """Logarithm of `value / low`, accurate for a ratio near 1 and for one that overflows."""
    excess = (value - low) / low
    return math.log(value) - math.log(low) if math.isinf(excess) else math.log1p(excess)


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(map(repr, names))) or "none"
