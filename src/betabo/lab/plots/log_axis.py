"""Logarithmic axes with plain numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MANY_DECADES = 30.0  # ratio of the limits from which powers of ten are ticks enough


def make_logarithmic(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with ticks such as 0.1, 0.2, 0.5, 1, or powers of ten where it spans many."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set(**{f"{which}scale": "log"})
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < _MANY_DECADES else (1.0,)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
