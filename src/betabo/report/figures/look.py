"""What all figures have in common: colours, axes, and text that is no markup. The page adds text and grid colours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go

# In the middle of the scale of lightness: readable on white and on black.
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#3f83d6", "#e08a3c", "#1f9e7a", "#d9556a", "#9a76c9", "#8a93a3"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, RED, "#3aa5b8", "#b5952f", "#c96fa8", GREY, "#6f8f3f", "#7a86e0", "#a9745b")


def new_figure(**layout: Any) -> go.Figure:
    """A figure with nothing in it yet."""
    return go.Figure(layout=new_layout(**layout))


def new_layout(**changes: Any) -> dict[str, Any]:
    """What all figures have in common, and the changes to it."""
    has_legend = changes.get("showlegend", True)
    common: dict[str, Any] = {
        "template": "none",
        "margin": {"l": 60, "r": 16, "t": 36 if has_legend else 14, "b": 48},
        "hovermode": "closest",
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "showlegend": True,
        "font": {"size": 12},
        "dragmode": "zoom",
    }
    return {**common, **changes}


def new_axis(title: str, **changes: Any) -> dict[str, Any]:
    """An axis with a title, which is the user's text."""
    heading = {"title": {"text": plain(short(title, 40)), "standoff": 8, "font": {"size": 13}}} if title else {}
    return {"zeroline": False, "automargin": True, **heading, **changes}


def value_axis(title: str, values: Sequence[float]) -> dict[str, Any]:
    """An axis for these values, logarithmic where they are of several sizes."""
    log = prefers_log(values)
    return new_axis(title, type="log", exponentformat="power") if log else new_axis(title)


def log_ticks(low: float, high: float) -> dict[str, Any]:
    """A few ticks of a logarithmic axis: 1, 2, 5 within two decades, else powers of ten."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(decades) <= 3 else (1,)
    ticks = [step * 10.0**decade for decade in decades[:: max(1, len(decades) // 5)] for step in steps]
    ticks = [tick for tick in ticks if low <= tick * (1 + 1e-9) and tick <= high * (1 + 1e-9)]
    return {"tickvals": ticks, "ticktext": [f"{tick:.4g}" for tick in ticks]}


def strip() -> dict[str, Any]:
    """An axis over the whole height for marks at the lower edge."""
    return {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True}


def prefers_log(values: Iterable[float], ratio: float = 100.0) -> bool:
    """Whether values are positive and the largest is more than `ratio` times the smallest."""
    finite = [v for v in values if math.isfinite(v)]
    return bool(finite) and min(finite) > 0 and max(finite) / min(finite) > ratio


def finite(values: Iterable[float]) -> list[float | None]:
    """Values as JSON can hold them."""
    return [v if math.isfinite(v) else None for v in values]


def plain(text: str) -> str:
    """The user's text, which plotly would otherwise read as markup or as a template."""
    return escape(text, quote=False).replace("%{", "%&#123;")


def short(text: str, most: int = 28) -> str:
    """Text of at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def four_digits(value: Any) -> str:
    """A float with four digits, other values as they are."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
