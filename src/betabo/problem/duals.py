"""Numbers that carry their slopes, so that an expression is differentiated as it is evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Dual:
    """Values at `n` points with their slopes.

    Attributes:
        value: Of shape `n`.
        slope: Of shape `n x d`.
    """

    value: Array
    slope: Array

    __array_priority__ = 1000  # NumPy's arrays leave operations with a Dual to it

    def along(self, value: Array, rate: Array) -> Dual:
        """A function of this one, with its value and its derivative by this one."""
        return Dual(value, rate[:, None] * self.slope)

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    def __add__(self, other: Any) -> Dual:
        value, slope = _parts(other)
        return Dual(self.value + value, self.slope + slope)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dual:
        value, slope = _parts(other)
        return Dual(self.value - value, self.slope - slope)

    def __rsub__(self, other: Any) -> Dual:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Dual:
        value, slope = _parts(other)
        return Dual(self.value * value, self.slope * _column(value) + _column(self.value) * slope)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        value, slope = _parts(other)
        quotient = self.value / value
        return Dual(quotient, (self.slope - _column(quotient) * slope) / _column(value))

    def __rtruediv__(self, other: Any) -> Dual:
        return self.along(other / self.value, -other / self.value**2)

    def __pow__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            power = self.value**other.value
            by_base = other.value * self.value ** (other.value - 1)
            logarithm = np.log(np.where(self.value > 0, self.value, 1.0))
            return Dual(power, _column(by_base) * self.slope + _column(power * logarithm) * other.slope)
        return self.along(self.value**other, other * self.value ** (other - 1.0))

    def __rpow__(self, other: Any) -> Dual:
        power = other**self.value
        return self.along(power, power * np.log(other))

    def __mod__(self, other: Any) -> Dual:
        value, slope = _parts(other)
        return Dual(self.value % value, self.slope - _column(self.value // value) * slope)

    def __floordiv__(self, other: Any) -> Dual:
        value, _ = _parts(other)
        return Dual(self.value // value, np.zeros_like(self.slope))

    def __rmod__(self, other: Any) -> Dual:
        return self.along(other % self.value, -(other // self.value))

    def __rfloordiv__(self, other: Any) -> Dual:
        return Dual(other // self.value, np.zeros_like(self.slope))

    def __abs__(self) -> Dual:
        return self.along(abs(self.value), np.sign(self.value))


def choose(where: npt.NDArray[np.bool_], one: Dual, other: Dual) -> Dual:
    """One of two at each point."""
    return Dual(np.where(where, one.value, other.value), np.where(where[:, None], one.slope, other.slope))


def as_dual(number: Any, like: Dual) -> Dual:
    """A number, or values at the points of `like`, which may be without slopes."""
    if isinstance(number, Dual):
        return number
    return Dual(np.broadcast_to(np.asarray(number, dtype=np.float64), like.value.shape), np.zeros_like(like.slope))


def _parts(number: Any) -> tuple[Any, Any]:
    return (number.value, number.slope) if isinstance(number, Dual) else (number, 0.0)


def _column(number: Any) -> Any:
    return number[:, None] if isinstance(number, np.ndarray) else number
