"""When a search ends before its budget: after a time, at a target, when nothing moves, when little is left."""

from __future__ import annotations

import math
import re
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from betabo.problem.front import MOST_OBJECTIVES
from betabo.space.checks import finite_number, integer
from betabo.suggestions import did_you_mean

if TYPE_CHECKING:
    from betabo.optimizer.remaining import RemainingGain

_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:min|[smhd]))+", re.ASCII)
_FEWEST = 4  # values before the model is asked what is left
_EVERY = 4  # evaluations between two questions to the model


@dataclass(frozen=True)
class Progress:
    """What a rule sees of a search.

    Attributes:
        values: The value of each evaluation in order, less being better; None where it failed or violates a constraint.
            Of several objectives, the volume that the front dominates, with the sign changed.
        dims: Number of coordinates.
        design: Number of starting points.
        remaining: Asks the model what is still to be gained.
    """

    values: Sequence[float | None]
    dims: int
    design: int
    remaining: Callable[[], RemainingGain]

    @property
    def finite(self) -> list[float]:
        """The values that there are."""
        return [value for value in self.values if value is not None]

    @property
    def spread(self) -> float:
        """From the best value to the median of the starting points: what counts as a large difference.

        Later points crowd around the best one, and their median would come nearer and nearer to it.
        """
        return statistics.median(self.finite[: max(self.design, _FEWEST)]) - min(self.finite)


class StopRule(Protocol):
    """Decides after each evaluation whether to stop, and says why."""

    def reason(self, progress: Progress) -> str:
        """Why the search should end; empty if it should go on."""
        ...


StopChoice: TypeAlias = str | StopRule | Sequence[str | StopRule] | None
"""Rules by name, such as `"plateau"`, `"plateau=30"`, `"regret"` and `"regret=0.01"`, or made by their classes."""


@dataclass(frozen=True)
class Plateau:
    """Stops when the best value has hardly improved for many evaluations.

    Attributes:
        evaluations: How many; None is 20, or four times the number of coordinates if that is more. Starting points do
            not count.
        tolerance: What counts as hardly: this share of the distance from the best value to the median of the
            starting points.
    """

    evaluations: int | None = None
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        if self.evaluations is not None and integer("evaluations", self.evaluations) < 1:
            raise ValueError(f"evaluations is {self.evaluations}, expected at least 1.")
        if finite_number("tolerance", self.tolerance) < 0:
            raise ValueError(f"tolerance is {self.tolerance!r}, expected a number >= 0.")

    def reason(self, progress: Progress) -> str:
        """Why the search should end; empty if it should go on."""
        count = max(20, 4 * progress.dims) if self.evaluations is None else self.evaluations
        before = [value for value in progress.values[:-count] if value is not None]
        if len(progress.values) < progress.design + count or not before:
            return ""
        gained = min(before) - min(progress.finite)
        return f"the best value has not improved for {count} evaluations" if self._is_little(gained, progress) else ""

    def _is_little(self, gained: float, progress: Progress) -> bool:
        return gained <= self.tolerance * progress.spread


@dataclass
class Regret:
    """Stops when the model believes that little is left to be gained.

    The chance is calibrated on test problems, see `betabo.optimizer.remaining`. The model is asked after every fourth
    evaluation.

    Attributes:
        gain: What counts as little, in units of the objective; None is a hundredth of the distance from the best value
            to the median of the starting points.
        risk: How likely it may be that more than that is left. Below an eighth the search never stops: no model knows
            of a narrow valley that it has not met.
    """

    gain: float | None = None
    risk: float = 0.2
    _asked: int = field(default=0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.gain is not None and finite_number("gain", self.gain) <= 0:
            raise ValueError(f"gain is {self.gain!r}, expected a number > 0.")
        if not 0 < finite_number("risk", self.risk) < 1:
            raise ValueError(f"risk is {self.risk!r}, expected a number between 0 and 1.")

    def reason(self, progress: Progress) -> str:
        """Why the search should end; empty if it should go on."""
        count = len(progress.values)
        if len(progress.finite) < _FEWEST or count < progress.design + _FEWEST or 0 <= count - self._asked < _EVERY:
            return ""
        self._asked = count
        gain = self.gain if self.gain is not None else 0.01 * progress.spread
        chance = progress.remaining().probability(gain)
        if chance > self.risk:
            return ""
        return f"the chance that more than {gain:.3g} is still to be gained is {chance:.1%}"


RULES: dict[str, Callable[[float | None], StopRule]] = {
    "plateau": lambda number: Plateau(None if number is None else _whole(number)),
    "regret": lambda number: Regret(number),
}
"""The rules by name, each made of the number behind `=`, if there is one."""


@dataclass(frozen=True)
class Stopping:
    """All that may end a search before its budget.

    Attributes:
        timeout: Seconds, counted from when the object was made; None for no limit.
        target: Value that is good enough; None for none.
        maximized: Whether larger values are better.
        rules: Further rules.
    """

    timeout: float | None = None
    target: float | None = None
    maximized: bool = False
    rules: tuple[StopRule, ...] = ()
    _began: float = field(default_factory=time.monotonic, repr=False, compare=False)

    @classmethod
    def of(
        cls, timeout: float | str | None, target: float | None, stop: StopChoice, directions: Sequence[str]
    ) -> Stopping:
        """What is meant by the arguments of `minimize`, in a search with the directions `directions`.

        Raises:
            TypeError: One of them is of another type.
            ValueError: One of them makes no sense; the message says what was expected.
        """
        given = [stop] if isinstance(stop, str) or not isinstance(stop, Iterable) else list(stop)
        rules = tuple(parse_rule(rule) if isinstance(rule, str) else rule for rule in given if rule is not None)
        for rule in rules:
            if not callable(getattr(rule, "reason", None)) or isinstance(rule, type):
                raise TypeError(f"stop is {rule!r}, expected {_EXPECTED}.")
        if len(directions) > 1 and (target is not None or any(isinstance(rule, Regret) for rule in rules)):
            raise ValueError(f"there are {len(directions)} objectives, expected one for a target or for stop='regret'.")
        if len(directions) > MOST_OBJECTIVES and rules:
            raise ValueError(
                f"there are {len(directions)} objectives, expected at most {MOST_OBJECTIVES} for a rule to stop by: "
                "the volume of more takes too long to follow."
            )
        seconds = None if timeout is None else parse_duration(timeout)
        good = None if target is None else finite_number("target", target)
        return cls(seconds, good, directions[0] == "maximize", rules)

    @property
    def is_empty(self) -> bool:
        """Whether nothing ends the search before its budget."""
        return self.timeout is None and self.target is None and not self.rules

    def reason(self, progress: Progress) -> str:
        """Why the search should end now; empty if it should go on."""
        finite = progress.finite
        if self.target is not None and finite and min(finite) <= (-self.target if self.maximized else self.target):
            return f"the target of {self.target:g} is reached"
        if self.timeout is not None and time.monotonic() - self._began >= self.timeout:
            return f"the time of {show_duration(self.timeout)} is used up"
        return next((why for rule in self.rules if (why := rule.reason(progress))), "")


_EXPECTED = "'plateau', 'plateau=EVALUATIONS', 'regret', 'regret=GAIN', Plateau(...), Regret(...) or several of them"


def parse_rule(text: str) -> StopRule:
    """The rule with a name, such as `plateau`, `plateau=30`, `regret` or `regret=0.01`.

    Raises:
        ValueError: There is no such rule, or its number makes no sense.
    """
    name, equals, number = text.strip().partition("=")
    if name not in RULES:
        raise ValueError(f"stop is {text!r}, expected {_EXPECTED}.{did_you_mean(name, RULES)}")
    try:
        return RULES[name](float(number) if equals else None)
    except ValueError as error:
        raise ValueError(f"stop is {text!r}: {error}") from error


def parse_duration(duration: float | str) -> float:
    """Seconds of a duration.

    Args:
        duration: Seconds, or text such as `90`, `90s`, `15m`, `2h`, `1h30m` and `1.5d`.

    Raises:
        TypeError: It is neither.
        ValueError: It is no duration above 0.
    """
    seconds = math.nan
    if isinstance(duration, str):
        text = duration.strip().replace(" ", "").lower()
        if _DURATION.fullmatch(text):
            parts = re.findall(r"(\d+(?:\.\d+)?)(min|[smhd])", text)
            seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
        elif re.fullmatch(r"\d+(?:\.\d+)?", text, re.ASCII):
            seconds = float(text)
    else:
        seconds = finite_number("timeout", duration)
    if not 0 < seconds < math.inf:
        raise ValueError(
            f"timeout is {duration!r}, expected seconds > 0, or text such as '90s', '15m', '2h' or '1h30m'."
        )
    return seconds


def show_duration(seconds: float) -> str:
    """A duration as people say it: `90 s`, `15 min`, `2 h`, `1.5 h`."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size or seconds == size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def _whole(number: float) -> int:
    if not number.is_integer():
        raise ValueError(f"{number:g} is given, expected a whole number of evaluations.")
    return int(number)
