"""A chart of lines and points as SVG, in the colours of the page that it stands in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 150, 14, 44
_COLOURS = ("#3f83d6", "#1f9e7a", "#e08a3c", "#9a76c9", "#d9556a")  # readable on white and on black


@dataclass(frozen=True)
class Series:
    """What is drawn in one colour.

    Attributes:
        name: What it is called.
        points: Pairs of x and y, in the order of a line.
        line: Whether points are joined, and not marked.
    """

    name: str
    points: Sequence[tuple[float, float]]
    line: bool = False


def chart(series: Sequence[Series], x: str, y: str) -> str:
    """Draw some series in one pair of axes; points that are no numbers are left out.

    Args:
        series: What is drawn, at least one point in all.
        x: What the horizontal axis is.
        y: What the vertical axis is.
    """
    shown = [[(a, b) for a, b in one.points if math.isfinite(a) and math.isfinite(b)] for one in series]
    every = [point for points in shown for point in points]
    xs, ys = ticks([a for a, _ in every]), ticks([b for _, b in every])

    def across(value: float) -> float:
        return _LEFT + (value - xs[0]) / (xs[-1] - xs[0]) * (WIDTH - _LEFT - _RIGHT)

    def up(value: float) -> float:
        return HEIGHT - _BOTTOM - (value - ys[0]) / (ys[-1] - ys[0]) * (HEIGHT - _TOP - _BOTTOM)

    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    parts = [f'<line class="axis" x1="{_LEFT}" y1="{up(v):.1f}" x2="{right}" y2="{up(v):.1f}"/>' for v in ys]
    parts += [f'<text x="{_LEFT - 8}" y="{up(v) + 4:.1f}" text-anchor="end">{v:g}</text>' for v in ys]
    parts += [f'<text x="{across(v):.1f}" y="{bottom + 18}" text-anchor="middle">{v:g}</text>' for v in xs]
    parts.append(f'<text x="{(_LEFT + right) / 2:.0f}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x)}</text>')
    middle = (_TOP + bottom) / 2
    turned = f'transform="rotate(-90 14 {middle:.0f})"'
    parts.append(f'<text x="14" y="{middle:.0f}" text-anchor="middle" {turned}>{escape(y)}</text>')
    for number, (one, points) in enumerate(zip(series, shown, strict=True)):
        colour = _COLOURS[number % len(_COLOURS)]
        if one.line:
            path = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in points)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        else:
            label = escape(one.name)
            parts += [
                f'<circle cx="{across(a):.1f}" cy="{up(b):.1f}" r="5" fill="{colour}">'
                f"<title>{label}: {a:.4g}, {b:.4g}</title></circle>"
                for a, b in points
            ]
        line = _TOP + 14 + 20 * number
        parts.append(f'<circle cx="{right + 16}" cy="{line - 4}" r="5" fill="{colour}"/>')
        parts.append(f'<text x="{right + 26}" y="{line}">{escape(one.name)}</text>')
    label = escape(f"{y} against {x}")
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def ticks(values: Sequence[float], about: int = 5) -> list[float]:
    """Round numbers at equal distances around some values.

    Args:
        values: At least one.
        about: How many are wanted, more or less.
    """
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]
