"""Predictions over two parameters as a picture, with the trials on it."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from betabo.report.figures.look import GREEN, four_digits, log_ticks, new_axis, new_figure, plain, prefers_log, short
from betabo.report.planes import Plane, Side
from betabo.report.text import show

Array = npt.NDArray[np.float64]

_SCALE = "Viridis"
_PIXELS = 16  # of a cell of a discrete parameter, which stays a cell when the picture is stretched
_MOST_HOVERED = 17  # points along a side that have a tooltip
_MOST_TICKS = 8  # choices that are written along a side


def plane(
    table: Plane, values: Array, label: str, trials: Sequence[Mapping[str, Any]], here: Mapping[str, Any]
) -> go.Figure:
    """One quantity of the prediction over two parameters.

    Args:
        table: The predictions.
        values: What is shown of them, `len(up) x len(across)`: the median or the width.
        label: What it is called.
        trials: Parameters of the trials to mark.
        here: Parameters of the trial through which the plane goes.
    """
    log = prefers_log(values.ravel().tolist(), ratio=10.0)
    colours = np.log10(values) if log else values
    low, high = float(colours.min()), float(colours.max())
    span = high - low or 1.0
    figure = new_figure(
        height=360,
        xaxis=new_axis(table.across.parameter, range=[0, 1], showgrid=False, **_ticks(table.across)),
        yaxis=new_axis(table.up.parameter, range=[0, 1], showgrid=False, **_ticks(table.up)),
        showlegend=False,
        margin={"l": 60, "r": 10, "t": 14, "b": 48},
    )
    (left, width), (bottom, height) = _extent(table.across), _extent(table.up)
    figure.add_layout_image(
        source=_picture((colours - low) / span, table),
        x=left,
        y=bottom,
        sizex=width,
        sizey=height,
        xref="x",
        yref="y",
        xanchor="left",
        yanchor="bottom",
        sizing="stretch",
        layer="below",
    )
    rows, columns = (_few(len(side.inputs)) for side in (table.up, table.across))
    figure.add_scatter(
        x=[table.across.place(table.across.inputs[column]) for _ in rows for column in columns],
        y=[table.up.place(table.up.inputs[row]) for row in rows for _ in columns],
        mode="markers",
        marker={
            "size": 14,
            "opacity": 0,
            "color": [float(colours[row, column]) for row in rows for column in columns],
            "cmin": low,
            "cmax": low + span,
            "colorscale": _SCALE,
            "showscale": True,
            "colorbar": {"thickness": 10, "outlinewidth": 0, "len": 1, **_bar_ticks(low, low + span, log)},
        },
        text=[
            f"{_said(table.across, column)}<br>{_said(table.up, row)}<br>{plain(label)}: "
            f"<b>{show(float(values[row, column]))}</b>"
            for row in rows
            for column in columns
        ],
        hovertemplate="%{text}<extra></extra>",
    )
    _mark(figure, table, trials, {"color": "rgba(255,255,255,0.85)", "size": 6, "line": {"color": "#333", "width": 1}})
    _mark(figure, table, [here], {"color": GREEN, "size": 14, "symbol": "star", "line": {"color": "#fff", "width": 1}})
    return figure


def png(colours: npt.NDArray[np.uint8]) -> bytes:
    """A picture of `height x width x 3` bytes of red, green and blue, the top row first."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = colours.shape
    lines = b"".join(b"\0" + row.tobytes() for row in colours)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")


def _picture(shares: Array, table: Plane) -> str:
    """Shares from 0 to 1 in the colours of the scale, as the address of a picture."""
    steps = [tuple(map(float, c.strip("rgb()").split(","))) for c in sample_colorscale(_SCALE, np.linspace(0, 1, 256))]
    palette = np.array(steps).round().astype(np.uint8)
    for axis, side in enumerate((table.up, table.across)):
        if side.is_discrete:
            shares = np.repeat(shares, _PIXELS, axis=axis)
    colours = palette[(255 * shares).round().astype(int)][::-1]  # the first row is the lowest
    return "data:image/png;base64," + base64.b64encode(png(colours)).decode()


def _extent(side: Side) -> tuple[float, float]:
    """Where the picture begins and how long it is: cells fill the side, points are in the middle of their pixels."""
    half = 0.0 if side.is_discrete else 0.5 / (len(side.inputs) - 1)
    return -half, 1 + 2 * half


def _ticks(side: Side) -> dict[str, Any]:
    if side.is_discrete:
        chosen = side.inputs[:: math.ceil(len(side.inputs) / _MOST_TICKS)]
        shown = chosen if all(isinstance(value, (int, float)) for value in chosen) else list(map(str, chosen))
    else:
        chosen = _round_numbers(side)
        shown = chosen
    places = [side.place(value) for value in chosen]
    return {"tickvals": places, "ticktext": [plain(short(four_digits(value), 12)) for value in shown]}


def _round_numbers(side: Side) -> list[Any]:
    low, high = side.inputs[0], side.inputs[-1]
    if side.is_log:
        return list(log_ticks(low, high)["tickvals"]) or [low, high]
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= (high - low) / 5.5)
    return [round(k * step, 12) for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _bar_ticks(low: float, high: float, log: bool) -> dict[str, Any]:
    places = np.linspace(low, high, 5).tolist()
    return {"tickvals": places, "ticktext": [f"{10**place if log else place:.3g}" for place in places]}


def _few(count: int) -> list[int]:
    return sorted(set(np.linspace(0, count - 1, min(count, _MOST_HOVERED)).round().astype(int).tolist()))


def _said(side: Side, index: int) -> str:
    return f"{plain(short(side.parameter))}: {plain(short(show(side.inputs[index])))}"


def _mark(figure: go.Figure, table: Plane, trials: Sequence[Mapping[str, Any]], marker: dict[str, Any]) -> None:
    sides = (table.across, table.up)
    places = [
        tuple(side.place(trial[side.parameter]) for side in sides)
        for trial in trials
        if all(side.parameter in trial for side in sides)
    ]
    known = [place for place in places if None not in place]
    figure.add_scatter(
        x=[x for x, _ in known], y=[y for _, y in known], mode="markers", marker=marker, hoverinfo="skip"
    )
