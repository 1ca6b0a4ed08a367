"""What the model predicts of each trial without it, against what was observed."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from betabo.report.figures.look import BLUE, GREY, RED, finite, log_ticks, new_axis, new_figure, plain, prefers_log
from betabo.report.goodness import Goodness
from betabo.report.predictions import LEVELS
from betabo.report.text import show

_MOST_DIGITS = 307  # of a number, so that ten times as much is one too


def predicted_against_observed(table: Goodness, label: str) -> go.Figure:
    """A mark and an interval for each trial; on the line both are equal.

    Args:
        table: The trials of one objective.
        label: Name of the objective.
    """
    low, middle, high = (table.predicted[row] for row in (0, len(LEVELS) // 2, -1))
    log = prefers_log([*table.observed.tolist(), *middle.tolist()], ratio=10.0)
    centre = np.concatenate([table.observed, middle])
    ends = _ends(np.log10(centre) if log else centre)
    shown = [10.0 ** min(end, _MOST_DIGITS) for end in ends] if log else ends
    kind = {"type": "log", **log_ticks(*shown)} if log else {}
    figure = new_figure(
        height=400,
        xaxis=new_axis(f"predicted {label}, without the trial", range=ends, **kind),
        yaxis=new_axis(f"observed {label}", range=ends, **kind),
    )
    figure.add_scatter(
        x=shown,
        y=shown,
        mode="lines",
        line={"color": GREY, "dash": "dot", "width": 1.5},
        name="equal",
        hoverinfo="skip",
    )
    span = shown[1] - shown[0]
    reach = (shown[0] / 10, shown[1] * 10) if log else (shown[0] - span, shown[1] + span)  # a band may be endless
    inside = (low <= table.observed) & (table.observed <= high)
    for chosen, name, colour in ((inside, "in its 90 % interval", BLUE), (~inside, "outside", RED)):
        rows = np.flatnonzero(chosen)
        if not len(rows):
            continue
        figure.add_scatter(
            x=[x for row in rows for x in (*np.clip([low[row], high[row]], *reach).tolist(), None)],
            y=[y for row in rows for y in (*finite([table.observed[row]] * 2), None)],
            mode="lines",
            line={"color": colour, "width": 1.5},
            opacity=0.35,
            legendgroup=name,
            showlegend=False,
            hoverinfo="skip",
        )
        figure.add_scatter(
            x=finite(middle[rows].tolist()),
            y=finite(table.observed[rows].tolist()),
            mode="markers",
            marker={"color": colour, "size": 7},
            name=name,
            legendgroup=name,
            text=[
                f"<b>trial {table.trials[row]}</b><br>observed {show(float(table.observed[row]))}"
                f"<br>predicted {show(float(middle[row]))}<br>5 % to 95 %: {show(float(low[row]))} to "
                f"{show(float(high[row]))}"
                for row in rows
            ],
            hovertemplate=f"%{{text}}<extra>{plain(label)}</extra>",
        )
    return figure


def _ends(values: np.ndarray) -> list[float]:
    finite_values = values[np.isfinite(values)]
    low, high = (float(finite_values.min()), float(finite_values.max())) if len(finite_values) else (0.0, 1.0)
    room = 0.06 * (high - low) or 1.0
    return [low - room, high + room]
