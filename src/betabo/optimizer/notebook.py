"""How a search looks in a notebook: the best point, what it cost, and how it converged, as a piece of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from betabo.visible import visible

if TYPE_CHECKING:
    from betabo.optimizer.result import SearchResult

_WIDTH, _HEIGHT = 360, 90


def as_html(result: SearchResult) -> str:
    """A search as a piece of HTML without scripts."""
    point = result.x
    if isinstance(point, np.ndarray):
        point = {f"x{index}": value for index, value in enumerate(point.tolist())}
    values = result.front[0].values if result.front else {}
    value = ", ".join(f"{name} {number:.6g}" for name, number in values.items())
    title = f"best {value}" if len(result.problem.objectives) == 1 else f"front of {len(result.front)} points"
    head = f"{title if result.front else 'no value yet'} after {result.nfev} evaluations"
    if result.nfail:
        head += f", {result.nfail} failed"
    rows = "".join(f"<tr><td>{_text(name)}</td><td>{_text(_shown(v))}</td></tr>" for name, v in (point or {}).items())
    if result.hypervolume is not None:
        line = [-volume for volume in result.hypervolume]
    else:
        sign = result.problem.signs[0]
        line = [sign * row["best"] for row in result.rows() if np.isfinite(row["best"])]
    return f"<div><p><b>{_text(head)}</b><br/>{_text(result.message)}</p><table>{rows}</table>{_curve(line)}</div>"


def _curve(values: Sequence[float]) -> str:
    """The best value after each evaluation as a small drawing."""
    if len(values) < 2:
        return ""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    places = [
        (4 + (_WIDTH - 8) * i / (len(values) - 1), 4 + (_HEIGHT - 8) * (high - value) / span)
        for i, value in enumerate(values)
    ]
    steps = f"M{places[0][0]:.1f},{places[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in places[1:])
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="best value so far">'
        f'<path d="{steps}" fill="none" stroke="#0072B2" stroke-width="1.6"/></svg>'
    )


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _text(text: str) -> str:
    return escape(visible(text))
