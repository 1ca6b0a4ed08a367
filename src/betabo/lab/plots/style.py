"""The look that all figures share: quiet axes, colours that colour-blind readers can tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from betabo.extras import needs_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"
SKY = "#56B4E9"
BLACK = "#1A1A1A"
GREY = "#8A8A8A"

COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK)
"""Colours of Okabe and Ito for things without an order."""

KERNEL_COLOURS = {"beta": BLUE, "matern": VERMILION, "rbf": BLACK}
"""A kernel has the same colour in every figure."""

SURFACE = "cividis"
"""Colour map of surfaces."""

_SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#4D4D4D",
    "axes.grid": True,
    "axes.labelcolor": BLACK,
    "axes.labelsize": 10,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "figure.dpi": 100,
    "font.size": 9.5,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "mathtext.fontset": "dejavusans",
    "savefig.dpi": 150,
    "xtick.color": "#4D4D4D",
    "xtick.labelcolor": BLACK,
    "xtick.labelsize": 9,
    "ytick.color": "#4D4D4D",
    "ytick.labelcolor": BLACK,
    "ytick.labelsize": 9,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw and save figures in the common style inside this context."""
    matplotlib = _matplotlib()
    with matplotlib.rc_context(_SETTINGS):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of so many inches, which no window system and no global state knows about."""
    _matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def shades(count: int) -> list[tuple[float, float, float, float]]:
    """Colours for `count` values in order, from dark to light, all of them readable on white."""
    matplotlib = _matplotlib()
    colours = matplotlib.colormaps["viridis"]
    return [colours(0.88 * i / max(count - 1, 1)) for i in range(count)]


def _matplotlib() -> Any:
    with needs_extra("plot", "figures need matplotlib"):
        import matplotlib
    return matplotlib
