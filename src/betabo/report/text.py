"""Numbers, durations and ranges as short texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution


def show(value: Any) -> str:
    """A value as a short text: six digits of a float, other values as they are."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def show_seconds(seconds: float) -> str:
    """A duration in the unit that suits it: `320 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 59.95:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def show_range(distribution: BaseDistribution) -> str:
    """The values that a parameter may take: `0.001 to 0.1, log`, `1 to 9, step 2`, `relu, tanh`."""
    if isinstance(distribution, CategoricalDistribution):
        return ", ".join(map(str, distribution.choices))
    if not isinstance(distribution, (FloatDistribution, IntDistribution)):
        return str(distribution)
    notes = ["log"] if distribution.log else []
    if distribution.step is not None and not (isinstance(distribution, IntDistribution) and distribution.step == 1):
        notes.append(f"step {show(distribution.step)}")
    return ", ".join([f"{show(distribution.low)} to {show(distribution.high)}", *notes])


def counted(count: int, noun: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(items: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
