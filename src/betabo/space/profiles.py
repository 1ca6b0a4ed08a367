"""Profiles: many numbers in an order, of which neighbours act alike, such as a schedule or a spectrum."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from betabo.space.checks import Array, integer
from betabo.space.parameters import Float, Parameter

SHORTEST = 8
"""Fewest numbers that count as a profile; fewer can be learned one by one."""

_MEMBER = re.compile(r"(.+)\[(\d+)\]")


@dataclass(frozen=True)
class Profile:
    """Numbers in an order, of which neighbours act alike: a control, a schedule, a spectrum.

    In a space it stands for as many `Float`s with the names `name[0]`, `name[1]`, ..., and so it does wherever points
    have names. Floats with such names and one range are a profile however they came about, in an Optuna study for
    instance; from eight of them on, the default kernel looks for smooth changes along it.

    Args:
        count: How many numbers there are, at least two.
        low: Smallest value of each.
        high: Largest value.
        log: Whether the logarithm of the values is spread evenly.

    Example:
        >>> space = Space({"u": Profile(20, -1.0, 1.0), "gain": Float(0.1, 10.0, log=True)})
        >>> point = space.from_unit([0.5] * 21)
        >>> Profile.values(point, "u").shape
        (20,)
    """

    count: int
    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if integer("count", self.count) < 2:
            raise ValueError(f"count is {self.count}, expected at least 2 numbers; use Float for one.")
        Float(self.low, self.high, self.log)  # which refuses bad bounds

    def floats(self, name: str) -> dict[str, Float]:
        """The parameters that it stands for."""
        return {f"{name}[{number}]": Float(self.low, self.high, self.log) for number in range(self.count)}

    @staticmethod
    def members(names: Iterable[str]) -> dict[str, list[str]]:
        """The names `u[0]`, `u[1]`, ... among these, in their order, under the name before the bracket."""
        found: dict[str, list[str]] = {}
        for name in names:
            if match := _MEMBER.fullmatch(name):
                found.setdefault(match[1], []).append(name)
        return {base: sorted(some, key=_number) for base, some in found.items()}

    @staticmethod
    def values(point: Mapping[str, Any], name: str) -> Array:
        """The numbers of a profile of a point, in their order.

        Raises:
            KeyError: The point has no profile of that name.
        """
        found: list[float] = []
        while (member := f"{name}[{len(found)}]") in point:
            found.append(float(point[member]))
        if not found:
            raise KeyError(
                f"the point has no profile {name!r}; expected one of {', '.join(map(repr, Profile.members(point)))}."
            )
        return np.array(found)


def profiles_of(parameters: Mapping[str, Parameter]) -> tuple[tuple[int, ...], ...]:
    """The numbers of the coordinates of each profile: of floats `u[0]`, `u[1]`, ... with one range, in any order."""
    members: dict[str, dict[int, tuple[int, Parameter]]] = {}
    place = 0
    for name, parameter in parameters.items():
        if match := _MEMBER.fullmatch(name):
            members.setdefault(match[1], {})[int(match[2])] = place, parameter
        place += parameter.width
    found: list[tuple[int, ...]] = []
    for each in members.values():
        first = each.get(0, (0, None))[1]
        alike = isinstance(first, Float) and all(parameter == first for _, parameter in each.values())
        if alike and len(each) >= SHORTEST and max(each) == len(each) - 1:
            found.append(tuple(each[number][0] for number in range(len(each))))
    return tuple(found)


def _number(member: str) -> int:
    return int(member[member.rindex("[") + 1 : -1])
