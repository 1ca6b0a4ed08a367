"""What the model says: which parameters matter, predictions along one of them, its hyperparameters over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from betabo.report.figures.look import (
    BLUE,
    GREEN,
    GREY,
    PALETTE,
    finite,
    log_ticks,
    new_axis,
    new_figure,
    plain,
    prefers_log,
    short,
    strip,
    value_axis,
)
from betabo.report.importance import Importance
from betabo.report.predictions import Slice
from betabo.report.text import show
from betabo.report.traces import Trace


def importance(table: Importance, most: int) -> go.Figure:
    """First-order and total Sobol indices of the `most` most important parameters, these with intervals."""
    names, first, total = table.parameters[:most][::-1], table.first[:most][::-1], table.total[:most][::-1]
    low, high = table.low[:most][::-1], table.high[:most][::-1]
    figure = new_figure(
        height=110 + 30 * len(names),
        xaxis=new_axis("share of the variance of the prediction", range=[0, 1.02], tickformat=".0%"),
        yaxis=new_axis("", type="category", automargin=True, showgrid=False),
        barmode="overlay",
        bargap=0.35,
    )
    for label, values, colour in (
        ("with interactions (total)", total, "#a8c6ec"),
        ("alone (first order)", first, BLUE),
    ):
        figure.add_bar(
            x=values,
            y=[plain(short(name)) for name in names],
            orientation="h",
            name=label,
            marker={"color": colour, "line": {"width": 0}},
            customdata=[plain(name) for name in names],
            hovertemplate="%{customdata}: %{x:.1%}<extra>" + label + "</extra>",
        )
    figure.add_scatter(
        x=total,
        y=[plain(short(name)) for name in names],
        mode="markers",
        marker={"color": GREY, "size": 12, "symbol": "line-ew-open"},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [b - t for b, t in zip(high, total, strict=True)],
            "arrayminus": [t - a for a, t in zip(low, total, strict=True)],
            "color": GREY,
            "thickness": 1.5,
            "width": 5,
        },
        name="90 % interval of the total",
        text=[f"{a:.1%} to {b:.1%}" for a, b in zip(low, high, strict=True)],
        hovertemplate="%{text}<extra>90 % interval of the total</extra>",
    )
    return figure


def posterior_slice(
    table: Slice,
    label: str,
    here: tuple[Any, float] | None,
    log: tuple[bool, bool],
    limits: tuple[float, float],
    rug: Sequence[Any],
) -> go.Figure:
    """Predictions along one parameter: median, half of the probability, nine tenths of it.

    Args:
        table: The predictions.
        label: Name of the objective.
        here: Value of the parameter and of the objective at the point through which the slice goes.
        log: Whether the axes of the parameter and of the objective are logarithmic.
        limits: Least and largest value to show.
        rug: Values of the parameter in all complete trials.
    """
    numeric = all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in table.inputs)
    inputs = list(table.inputs) if numeric else [plain(short(str(x), 14)) for x in table.inputs]
    kind = "log" if log[0] else "linear" if numeric else "category"
    across = log_ticks(table.inputs[0], table.inputs[-1]) if log[0] else {}
    shown = [math.log10(limit) for limit in limits] if log[1] else list(limits)
    low, lower, median, upper, high = (finite(row) for row in table.quantiles.tolist())
    figure = new_figure(
        height=250,
        xaxis=new_axis(table.parameter, type=kind, showgrid=False, **across),
        yaxis=new_axis("", range=shown, **({"type": "log", **log_ticks(*limits)} if log[1] else {})),
        showlegend=False,
        margin={"l": 45, "r": 12, "t": 10, "b": 45},
    )
    tip = [f"5 % to 95 %: {show(a)} to {show(b)}" for a, b in zip(low, high, strict=True)]
    hover = {"text": tip, "hovertemplate": f"%{{x}}: %{{y:.5g}}<br>%{{text}}<extra>{plain(label)}</extra>"}
    if table.is_discrete:
        for bottom, top, width in ((low, high, 2), (lower, upper, 7)):
            figure.add_scatter(
                x=[x for value in inputs for x in (value, value, None)],
                y=[y for a, b in zip(bottom, top, strict=True) for y in (a, b, None)],
                mode="lines",
                line={"color": BLUE, "width": width},
                opacity=0.45,
                hoverinfo="skip",
            )
        figure.add_scatter(x=inputs, y=median, mode="markers", marker={"color": BLUE, "size": 8}, **hover)
    else:
        for bottom, top, opacity in ((low, high, 0.15), (lower, upper, 0.25)):
            figure.add_scatter(x=inputs, y=bottom, mode="lines", line={"width": 0}, hoverinfo="skip")
            fill = f"rgba(63,131,214,{opacity})"
            figure.add_scatter(
                x=inputs, y=top, mode="lines", line={"width": 0}, fill="tonexty", fillcolor=fill, hoverinfo="skip"
            )
        figure.add_scatter(x=inputs, y=median, mode="lines", line={"color": BLUE, "width": 2}, **hover)
    if here is not None:
        at = here[0] if numeric else plain(short(str(here[0]), 14))
        figure.add_scatter(
            x=[at],
            y=finite([here[1]]),
            mode="markers",
            marker={"color": GREEN, "size": 11, "symbol": "star"},
            hovertemplate="the trial: %{y:.6g}<extra></extra>",
        )
    if numeric:
        figure.add_scatter(
            x=list(rug),
            y=[0.02] * len(rug),
            yaxis="y2",
            mode="markers",
            marker={"symbol": "line-ns-open", "size": 7, "color": GREY},
            opacity=0.7,
            hoverinfo="skip",
        )
        figure.update_layout(yaxis2=strip())
    return figure


def trace(table: Trace) -> go.Figure:
    """One hyperparameter over the trials."""
    values = [v for line in table.lines.values() for v in line if v is not None]
    figure = new_figure(
        height=300,
        xaxis=new_axis("trial"),
        yaxis=value_axis("", values) if prefers_log(values) else new_axis("", rangemode="tozero"),
        showlegend=len(table.lines) > 1,
    )
    for index, (label, line) in enumerate(table.lines.items()):
        figure.add_scatter(
            x=table.numbers,
            y=line,
            mode="lines+markers",
            line={"color": PALETTE[index % len(PALETTE)], "width": 1.8},
            marker={"size": 4},
            name=plain(short(label)),
            hovertemplate=f"trial %{{x}}: %{{y:.4g}}<extra>{plain(label)}</extra>",
        )
    return figure
