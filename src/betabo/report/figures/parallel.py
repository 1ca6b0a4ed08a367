"""Parallel coordinates: a line for each trial across the axes of its parameters and objectives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go

from betabo.optuna.trials import TrialRecord
from betabo.report.facts import StudyFacts
from betabo.report.figures.look import BLUE, GREEN, GREY, ORANGE, four_digits, new_figure, plain, prefers_log, short
from betabo.report.figures.trials import tooltip


def parallel(facts: StudyFacts, parameters: Sequence[str], trials: Sequence[TrialRecord]) -> go.Figure:
    """A line for each trial across the axes of its parameters and objectives, the best on top.

    Args:
        facts: The study.
        parameters: The parameters to show, in this order.
        trials: Complete trials to show, the best first; each has all these parameters.
    """
    axes: list[_Scale] = [_Scale.of_parameter(facts, name) for name in parameters]
    axes += [_Scale.of_values(label, [t.values[i] for t in trials]) for i, label in enumerate(facts.objectives)]
    figure = new_figure(
        height=430,
        xaxis={
            "tickvals": list(range(len(axes))),
            "ticktext": [f"<b>{plain(short(axis.label, 16))}</b>" for axis in axes],
            "range": [-0.35, len(axes) - 0.65],
            "showgrid": True,
            "zeroline": False,
            "side": "top",
            "fixedrange": True,
        },
        yaxis={"visible": False, "range": [-0.1, 1.1], "fixedrange": True},
        margin={"l": 20, "r": 20, "t": 70, "b": 20},
        legend={"orientation": "h", "y": -0.02, "yanchor": "top", "x": 0, "traceorder": "reversed"},
    )
    for label, group, colour, width, opacity in _ranks(facts, trials):
        xs: list[Any] = []
        ys: list[Any] = []
        texts: list[str] = []
        for trial in group:
            row = [*(trial.parameters[name] for name in parameters), *trial.values]
            xs += [*range(len(axes)), None]
            ys += [*(axis.at(value) for axis, value in zip(axes, row, strict=True)), None]
            texts += [tooltip(facts, trial)] * len(axes) + [""]
        figure.add_scatter(
            x=xs,
            y=ys,
            mode="lines+markers",
            line={"color": colour, "width": width},
            marker={"size": 4, "color": colour},
            opacity=opacity,
            name=label,
            text=texts,
            hovertemplate="%{text}<extra></extra>",
            connectgaps=False,
        )
    for index, axis in enumerate(axes):
        for y, text in axis.ticks:
            below = y < 0.02
            figure.add_annotation(
                x=index,
                y=y,
                text=plain(short(text, 14)),
                showarrow=False,
                yanchor="top" if below else "bottom" if y > 0.98 else "middle",
                xanchor="center" if below or y > 0.98 else "left",
                xshift=0 if below or y > 0.98 else 5,
                font={"size": 11},
            )
    return figure


class _Scale:
    """One axis of parallel coordinates: where a value lies between 0 and 1, and what is written there."""

    def __init__(self, label: str, ticks: list[tuple[float, str]], places: dict[str, float] | None = None) -> None:
        self.label, self.ticks, self._places = label, ticks, places
        self._low, self._high, self._log = 0.0, 1.0, False

    @classmethod
    def of_parameter(cls, facts: StudyFacts, name: str) -> _Scale:
        distribution = facts.distributions[name]
        choices = getattr(distribution, "choices", None)
        if choices is None:
            return cls._numeric(name, distribution.low, distribution.high, distribution.log)  # type: ignore[attr-defined]
        places = {str(choice): i / max(len(choices) - 1, 1) for i, choice in enumerate(choices)}
        return cls(name, [(at, text) for text, at in places.items()], places)

    @classmethod
    def of_values(cls, label: str, values: Sequence[float]) -> _Scale:
        finite = [v for v in values if math.isfinite(v)] or [0.0]
        return cls._numeric(label, min(finite), max(finite), prefers_log(finite))

    @classmethod
    def _numeric(cls, label: str, low: float, high: float, log: bool) -> _Scale:
        ticks = [(0.0, four_digits(low)), (1.0, four_digits(high))] if high > low else [(0.0, four_digits(low))]
        scale = cls(label, ticks)
        scale._low, scale._high, scale._log = low, high, log
        return scale

    def at(self, value: Any) -> float | None:
        """Where the value lies, None if it is not on the axis."""
        if self._places is not None:
            return self._places.get(str(value))
        if not math.isfinite(value) or (self._log and value <= 0):
            return None
        if self._high <= self._low:
            return 0.0
        if self._log:
            return (math.log(value) - math.log(self._low)) / (math.log(self._high) - math.log(self._low))
        return float((value - self._low) / (self._high - self._low))


def _ranks(facts: StudyFacts, trials: Sequence[TrialRecord]) -> list[tuple[str, list[TrialRecord], str, float, float]]:
    """Trials in groups from the worst to the best, with the colour, width and opacity of their lines."""
    styles = [(GREEN, 2.2, 0.95), (BLUE, 1.4, 0.75), (ORANGE, 1.0, 0.5), (GREY, 0.8, 0.35)]
    if not facts.has_one_objective:
        numbers = {t.number for t in facts.best}
        groups = [("Pareto front", [t for t in trials if t.number in numbers])]
        groups.append(("dominated or infeasible", [t for t in trials if t.number not in numbers]))
        styles = [styles[0], styles[3]]
    else:
        ends = [0, *(math.ceil(len(trials) * share) for share in (0.1, 0.25, 0.5, 1))]
        labels = ["best 10 %", "next 15 %", "next 25 %", "the rest"]
        groups = [(label, list(trials[a:b])) for label, (a, b) in zip(labels, pairwise(ends), strict=True)]
    styled = [(label, group, *style) for (label, group), style in zip(groups, styles, strict=True) if group]
    return styled[::-1]
