"""Limits of what an evaluation measures beside its value: a temperature that stays below 80."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from betabo.space.checks import finite_number

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_BOUND = re.compile(rf"(<=|>=)\s*({_NUMBER})")
_RANGE = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})")
_NAMED = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*(.*?)\s*")
_FORMS = "'<= 80', '>= 20' or '20..80'"

LimitsLike: TypeAlias = "Mapping[str, str | tuple[float, float] | Limit] | Iterable[str | Limit]"
"""A limit for each name, such as `{"temperature": "<= 80"}`, or texts such as `["temperature <= 80"]`."""


@dataclass(frozen=True)
class Limit:
    """A constraint on something that an evaluation measures.

    Attributes:
        name: What is measured.
        low: Smallest value that is allowed; minus infinity for none.
        high: Largest value that is allowed; infinity for none.
    """

    name: str
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"a constraint's name is {self.name!r}, expected some text.")
        for side in ("low", "high"):
            bound = getattr(self, side)
            if not (isinstance(bound, float) and math.isinf(bound)):
                object.__setattr__(self, side, finite_number(f"constraint {self.name}: {side}", bound))
        if not self.low <= self.high or not (math.isfinite(self.low) or math.isfinite(self.high)):
            raise ValueError(f"constraint {self.name} is {self.low:g}..{self.high:g}, expected {_FORMS}.")

    def __str__(self) -> str:
        if math.isfinite(self.low) and math.isfinite(self.high):
            return f"{self.low!r}..{self.high!r}"
        return f"<= {self.high!r}" if math.isfinite(self.high) else f">= {self.low!r}"

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each number of `excess`."""
        sides = [f"{self.name} >= {self.low!r}"] * math.isfinite(self.low)
        return (*sides, *[f"{self.name} <= {self.high!r}"] * math.isfinite(self.high))

    def excess(self, value: float) -> tuple[float, ...]:
        """By how much each bound is exceeded, lower one first; at most 0 where it holds."""
        sides = [self.low - value] * math.isfinite(self.low)
        return (*sides, *[value - self.high] * math.isfinite(self.high))

    @classmethod
    def parse(cls, name: str, text: object) -> Limit:
        """The limit that is meant by a text such as `"<= 80"`, or by a pair of bounds."""
        if isinstance(text, Limit):
            return text
        if isinstance(text, tuple | list) and len(text) == 2:
            return cls(name, *(float(bound) for bound in text))
        if isinstance(text, str):
            if match := _BOUND.fullmatch(text.strip()):
                bound = float(match[2])
                return cls(name, high=bound) if match[1] == "<=" else cls(name, low=bound)
            if match := _RANGE.fullmatch(text.strip()):
                return cls(name, float(match[1]), float(match[2]))
        raise ValueError(f"constraint {name} is {text!r}, expected {_FORMS}.")


def as_limits(limits: LimitsLike) -> tuple[Limit, ...]:
    """The limits that are meant.

    Raises:
        TypeError: It is neither a mapping nor a list.
        ValueError: A text cannot be read, or a name is there twice.
    """
    if isinstance(limits, str) or not isinstance(limits, Iterable):
        raise TypeError(f"constraints is {limits!r}, expected a dict such as {{'temperature': '<= 80'}}.")
    if isinstance(limits, Mapping):
        return tuple(Limit.parse(name, text) for name, text in limits.items())
    found: dict[str, Limit] = {}
    for entry in limits:
        limit = entry if isinstance(entry, Limit) else _parse_named(entry)
        if limit.name in found:
            raise ValueError(f"constraint {limit.name} is given twice; write both bounds as one, such as 20..80.")
        found[limit.name] = limit
    return tuple(found.values())


def _parse_named(text: object) -> Limit:
    match = _NAMED.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"a constraint is {text!r}, expected a name and a bound, such as 'temperature <= 80'.")
    return Limit.parse(match[1], match[2].removeprefix("=") if ".." in match[2] else match[2])
