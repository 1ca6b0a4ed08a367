"""How a study went, trial by trial: values, the Pareto front, hypervolume, distance to the boundary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import plotly.graph_objects as go

from betabo.optuna.trials import TrialRecord
from betabo.report.facts import StudyFacts
from betabo.report.figures.look import (
    GREEN,
    GREY,
    ORANGE,
    RED,
    finite,
    new_axis,
    new_figure,
    new_layout,
    plain,
    strip,
    value_axis,
)
from betabo.report.figures.trials import hover, kinds, place_in_legend


def convergence(
    facts: StudyFacts, best: tuple[list[int], list[float]], view: tuple[float, float] | None = None
) -> go.Figure:
    """The value of each trial and the best so far, for one objective.

    Args:
        facts: The study.
        best: Trial numbers and the best feasible value after each.
        view: Least and largest value to show at first, None for all.
    """
    name = facts.objectives[0]
    axis = value_axis(name, [t.values[0] for t in facts.complete])
    if view is not None:
        axis["range"] = list(view)
    figure = new_figure(height=400, xaxis=new_axis("trial"), yaxis=axis)
    for trials, label, marker in kinds(facts):
        figure.add_scatter(
            x=[t.number for t in trials],
            y=finite(t.values[0] for t in trials),
            mode="markers",
            name=label,
            marker=marker,
            legendrank=place_in_legend(label),
            **hover(facts, trials),
        )
    figure.add_scatter(
        x=best[0],
        y=finite(best[1]),
        mode="lines",
        line={"shape": "hv", "color": GREEN, "width": 2.5},
        name="best so far",
        hovertemplate=f"best up to trial %{{x}}: %{{y:.6g}}<extra>{plain(name)}</extra>",
    )
    _add_lost(figure, facts)
    return figure


def front(facts: StudyFacts) -> go.Figure:
    """Every two of the objectives against one another, with the Pareto front; six panels at most."""
    from plotly.subplots import make_subplots

    pairs = list(combinations(range(len(facts.objectives)), 2))[:6]
    columns = min(len(pairs), 3)
    rows = math.ceil(len(pairs) / columns)
    figure = make_subplots(rows=rows, cols=columns, horizontal_spacing=0.09, vertical_spacing=0.14)
    figure.update_layout(new_layout(height=420 if rows == 1 else 360 * rows))
    on_front = sorted(facts.best, key=lambda t: t.values)
    numbers = {trial.number for trial in on_front}
    for panel, (i, j) in enumerate(pairs):
        place = {"row": panel // columns + 1, "col": panel % columns + 1}
        for trials, label, marker in kinds(facts):
            rest = [t for t in trials if t.number not in numbers and len(t.values) == len(facts.objectives)]
            _add_pair(figure, facts, rest, (i, j), place, name=label, marker=marker, mode="markers", opacity=0.7)
        line = {"mode": "lines+markers", "line": {"shape": "vh" if facts.maximize[i] else "hv", "color": GREEN}}
        style = line if len(facts.objectives) == 2 else {"mode": "markers"}
        marker = {"color": GREEN, "size": 9}
        _add_pair(figure, facts, on_front, (i, j), place, name="Pareto front", marker=marker, **style)
        figure.update_xaxes(new_axis(facts.objectives[i]), **place)
        figure.update_yaxes(new_axis(facts.objectives[j]), **place)
    return figure


def hypervolume(numbers: Sequence[int], volumes: Sequence[float]) -> go.Figure:
    """The dominated volume after each trial."""
    figure = new_figure(
        height=300, xaxis=new_axis("trial"), yaxis=new_axis("hypervolume", rangemode="tozero"), showlegend=False
    )
    figure.add_scatter(
        x=list(numbers),
        y=finite(volumes),
        mode="lines",
        line={"shape": "hv", "color": GREEN, "width": 2.5},
        name="hypervolume",
        hovertemplate="after trial %{x}: %{y:.6g}<extra></extra>",
    )
    return figure


def boundary(facts: StudyFacts, medians: tuple[Sequence[int], Sequence[float]], expected: float | None) -> go.Figure:
    """Distance of each trial to the boundary of the box.

    Args:
        facts: The study.
        medians: Trial numbers and the running median of the distances.
        expected: The mean distance of uniform random points, None if parameters come and go.
    """
    axis = new_axis("distance to the boundary", range=[-0.03, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1])
    axis["ticktext"] = ["0 face", "0.25", "0.5", "0.75", "1 centre"]
    figure = new_figure(height=320, xaxis=new_axis("trial"), yaxis=axis)
    for trials, label, marker in kinds(facts):
        inside = [t for t in trials if t.boundary_distance is not None]
        figure.add_scatter(
            x=[t.number for t in inside],
            y=[t.boundary_distance for t in inside],
            mode="markers",
            name=label,
            marker=marker,
            legendrank=place_in_legend(label),
            **hover(facts, inside),
        )
    figure.add_scatter(
        x=list(medians[0]),
        y=list(medians[1]),
        mode="lines",
        line={"color": GREEN, "width": 2.5},
        name="running median",
        hovertemplate="median up to trial %{x}: %{y:.3g}<extra></extra>",
    )
    if expected is not None and facts.trials:
        figure.add_scatter(
            x=[facts.trials[0].number, facts.trials[-1].number],
            y=[expected, expected],
            mode="lines",
            line={"color": GREY, "dash": "dot", "width": 1.5},
            name="random points, on average",
            hovertemplate="uniform random points: %{y:.3g} on average<extra></extra>",
        )
    return figure


def _add_lost(figure: go.Figure, facts: StudyFacts) -> None:
    """Marks at the lower edge for trials that have no value."""
    symbols = {"failed": ("x", RED), "interrupted": ("x-open", ORANGE), "running": ("circle-open", GREY)}
    for state, (symbol, colour) in symbols.items():
        trials = [t for t in facts.trials if t.state == state]
        if trials:
            figure.add_scatter(
                x=[t.number for t in trials],
                y=[0.02] * len(trials),
                yaxis="y2",
                mode="markers",
                name=state,
                legendrank=place_in_legend(state),
                marker={"symbol": symbol, "color": colour, "size": 8},
                **hover(facts, trials),
            )
            figure.update_layout(yaxis2=strip())


def _add_pair(
    figure: go.Figure,
    facts: StudyFacts,
    trials: Sequence[TrialRecord],
    pair: tuple[int, int],
    place: dict[str, int],
    **style: Any,
) -> None:
    if trials:
        group = style["name"]
        figure.add_scatter(
            x=finite(t.values[pair[0]] for t in trials),
            y=finite(t.values[pair[1]] for t in trials),
            legendgroup=group,
            legendrank=place_in_legend(group),
            showlegend=not any(old.legendgroup == group for old in figure.data),
            **style,
            **hover(facts, trials),
            **place,
        )
