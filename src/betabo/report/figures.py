"""Tables of a study as plotly figures. The page gives them the colours of text and grid, light or dark."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import combinations, pairwise
from typing import Any

from betabo.extras import needs_extra

with needs_extra("report", "A report needs plotly"):
    import plotly.graph_objects as go

from betabo.optuna.trials import TrialRecord
from betabo.report.facts import StudyFacts, note_of
from betabo.report.predictions import Importance, Slice
from betabo.report.text import show
from betabo.report.traces import Trace

# In the middle of the scale of lightness: readable on white and on black.
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#3f83d6", "#e08a3c", "#1f9e7a", "#d9556a", "#9a76c9", "#8a93a3"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, RED, "#3aa5b8", "#b5952f", "#c96fa8", GREY, "#6f8f3f", "#7a86e0", "#a9745b")

ORIGINS = {
    "start": ("starting design", ORANGE, "diamond"),
    "model": ("proposed by the model", BLUE, "circle"),
    "local": ("near the best point", GREEN, "circle"),
    "enqueued": ("enqueued", PURPLE, "square"),
    "": ("trials", "#3aa5b8", "circle"),
}
"""Origin of a trial -> what it is called, its colour and its symbol."""

_MOST_HOVERED = 10  # parameters that a tooltip lists


def library() -> str:
    """plotly.js, from the installed package."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


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
    axis = _value_axis(name, [t.values[0] for t in facts.complete])
    if view is not None:
        axis["range"] = list(view)
    figure = _figure(height=400, xaxis=_axis("trial"), yaxis=axis)
    for trials, label, marker in _groups(facts):
        figure.add_scatter(
            x=[t.number for t in trials],
            y=_finite(t.values[0] for t in trials),
            mode="markers",
            name=label,
            marker=marker,
            legendrank=_rank(label),
            **_hover(facts, trials),
        )
    figure.add_scatter(
        x=best[0],
        y=_finite(best[1]),
        mode="lines",
        line={"shape": "hv", "color": GREEN, "width": 2.5},
        name="best so far",
        hovertemplate=f"best up to trial %{{x}}: %{{y:.6g}}<extra>{_plain(name)}</extra>",
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
    figure.update_layout(_layout(height=420 if rows == 1 else 360 * rows))
    on_front = sorted(facts.best, key=lambda t: t.values)
    numbers = {trial.number for trial in on_front}
    for panel, (i, j) in enumerate(pairs):
        place = {"row": panel // columns + 1, "col": panel % columns + 1}
        for trials, label, marker in _groups(facts):
            rest = [t for t in trials if t.number not in numbers and len(t.values) == len(facts.objectives)]
            _add_pair(figure, facts, rest, (i, j), place, name=label, marker=marker, mode="markers", opacity=0.7)
        line = {"mode": "lines+markers", "line": {"shape": "vh" if facts.maximize[i] else "hv", "color": GREEN}}
        style = line if len(facts.objectives) == 2 else {"mode": "markers"}
        marker = {"color": GREEN, "size": 9}
        _add_pair(figure, facts, on_front, (i, j), place, name="Pareto front", marker=marker, **style)
        figure.update_xaxes(_axis(facts.objectives[i]), **place)
        figure.update_yaxes(_axis(facts.objectives[j]), **place)
    return figure


def hypervolume(numbers: Sequence[int], volumes: Sequence[float]) -> go.Figure:
    """The dominated volume after each trial."""
    figure = _figure(height=300, xaxis=_axis("trial"), yaxis=_axis("hypervolume", rangemode="tozero"), showlegend=False)
    figure.add_scatter(
        x=list(numbers),
        y=_finite(volumes),
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
    axis = _axis("distance to the boundary", range=[-0.03, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1])
    axis["ticktext"] = ["0 face", "0.25", "0.5", "0.75", "1 centre"]
    figure = _figure(height=320, xaxis=_axis("trial"), yaxis=axis)
    for trials, label, marker in _groups(facts):
        inside = [t for t in trials if t.boundary_distance is not None]
        figure.add_scatter(
            x=[t.number for t in inside],
            y=[t.boundary_distance for t in inside],
            mode="markers",
            name=label,
            marker=marker,
            legendrank=_rank(label),
            **_hover(facts, inside),
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


def importance(table: Importance, most: int) -> go.Figure:
    """First-order and total Sobol indices of the `most` most important parameters."""
    names, first, total = table.parameters[:most][::-1], table.first[:most][::-1], table.total[:most][::-1]
    figure = _figure(
        height=110 + 30 * len(names),
        xaxis=_axis("share of the variance of the prediction", range=[0, 1.02], tickformat=".0%"),
        yaxis=_axis("", type="category", automargin=True, showgrid=False),
        barmode="overlay",
        bargap=0.35,
    )
    for label, values, colour in (
        ("with interactions (total)", total, "#a8c6ec"),
        ("alone (first order)", first, BLUE),
    ):
        figure.add_bar(
            x=values,
            y=[_plain(_short(name)) for name in names],
            orientation="h",
            name=label,
            marker={"color": colour, "line": {"width": 0}},
            customdata=[_plain(name) for name in names],
            hovertemplate="%{customdata}: %{x:.1%}<extra>" + label + "</extra>",
        )
    return figure


def parallel(facts: StudyFacts, parameters: Sequence[str], trials: Sequence[TrialRecord]) -> go.Figure:
    """A line for each trial across the axes of its parameters and objectives, the best on top.

    Args:
        facts: The study.
        parameters: The parameters to show, in this order.
        trials: Complete trials to show, the best first; each has all these parameters.
    """
    axes: list[_Scale] = [_Scale.of_parameter(facts, name) for name in parameters]
    axes += [_Scale.of_values(label, [t.values[i] for t in trials]) for i, label in enumerate(facts.objectives)]
    figure = _figure(
        height=430,
        xaxis={
            "tickvals": list(range(len(axes))),
            "ticktext": [f"<b>{_plain(_short(axis.label, 16))}</b>" for axis in axes],
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
            texts += [_tooltip(facts, trial)] * len(axes) + [""]
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
                text=_plain(_short(text, 14)),
                showarrow=False,
                yanchor="top" if below else "bottom" if y > 0.98 else "middle",
                xanchor="center" if below or y > 0.98 else "left",
                xshift=0 if below or y > 0.98 else 5,
                font={"size": 11},
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
    inputs = list(table.inputs) if numeric else [_plain(_short(str(x), 14)) for x in table.inputs]
    kind = "log" if log[0] else "linear" if numeric else "category"
    across = _log_ticks(table.inputs[0], table.inputs[-1]) if log[0] else {}
    shown = [math.log10(limit) for limit in limits] if log[1] else list(limits)
    low, lower, median, upper, high = (_finite(row) for row in table.quantiles.tolist())
    figure = _figure(
        height=250,
        xaxis=_axis(table.parameter, type=kind, showgrid=False, **across),
        yaxis=_axis("", range=shown, **({"type": "log", **_log_ticks(*limits)} if log[1] else {})),
        showlegend=False,
        margin={"l": 45, "r": 12, "t": 10, "b": 45},
    )
    tip = [f"5 % to 95 %: {show(a)} to {show(b)}" for a, b in zip(low, high, strict=True)]
    hover = {"text": tip, "hovertemplate": f"%{{x}}: %{{y:.5g}}<br>%{{text}}<extra>{_plain(label)}</extra>"}
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
        at = here[0] if numeric else _plain(_short(str(here[0]), 14))
        figure.add_scatter(
            x=[at],
            y=_finite([here[1]]),
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
        figure.update_layout(yaxis2=_strip())
    return figure


def trace(table: Trace) -> go.Figure:
    """One hyperparameter over the trials."""
    values = [v for line in table.lines.values() for v in line if v is not None]
    figure = _figure(
        height=300,
        xaxis=_axis("trial"),
        yaxis=_value_axis("", values) if prefers_log(values) else _axis("", rangemode="tozero"),
        showlegend=len(table.lines) > 1,
    )
    for index, (label, line) in enumerate(table.lines.items()):
        figure.add_scatter(
            x=table.numbers,
            y=line,
            mode="lines+markers",
            line={"color": PALETTE[index % len(PALETTE)], "width": 1.8},
            marker={"size": 4},
            name=_plain(_short(label)),
            hovertemplate=f"trial %{{x}}: %{{y:.4g}}<extra>{_plain(label)}</extra>",
        )
    return figure


def prefers_log(values: Iterable[float], ratio: float = 100.0) -> bool:
    """Whether values are positive and the largest is more than `ratio` times the smallest."""
    finite = [v for v in values if math.isfinite(v)]
    return bool(finite) and min(finite) > 0 and max(finite) / min(finite) > ratio


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
        ticks = [(0.0, _four(low)), (1.0, _four(high))] if high > low else [(0.0, _four(low))]
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


def _groups(facts: StudyFacts) -> list[tuple[list[TrialRecord], str, dict[str, Any]]]:
    """Trials with a value by what they are: pruned, infeasible, or feasible of each origin."""
    valued = [t for t in facts.trials if t.values and t.state in ("complete", "pruned")]
    pruned = [t for t in valued if t.state == "pruned"]
    infeasible = [t for t in valued if t.is_complete and not t.is_feasible]
    groups = [
        (pruned, "pruned", {"color": GREY, "size": 6, "symbol": "triangle-down"}),
        (infeasible, "violates a constraint", {"color": RED, "size": 7, "symbol": "circle-open"}),
    ]
    origins = {t.origin: None for t in valued}
    for origin in sorted(origins, key=lambda o: list(ORIGINS).index(o) if o in ORIGINS else 99):
        label, colour, symbol = ORIGINS.get(origin, (_plain(origin), PALETTE[5], "circle"))
        label = "origin not recorded" if not origin and len(origins) > 1 else label
        chosen = [t for t in valued if t.is_complete and t.is_feasible and t.origin == origin]
        groups.append((chosen, label, {"color": colour, "size": 7, "symbol": symbol, "opacity": 0.8}))
    return [group for group in groups if group[0]]


def _rank(label: str) -> int:
    """Place in the legend: what is out of the ordinary comes last."""
    return 2000 if label in ("pruned", "violates a constraint", "failed", "interrupted", "running") else 1000


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
                legendrank=_rank(state),
                marker={"symbol": symbol, "color": colour, "size": 8},
                **_hover(facts, trials),
            )
            figure.update_layout(yaxis2=_strip())


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
            x=_finite(t.values[pair[0]] for t in trials),
            y=_finite(t.values[pair[1]] for t in trials),
            legendgroup=group,
            legendrank=_rank(group),
            showlegend=not any(old.legendgroup == group for old in figure.data),
            **style,
            **_hover(facts, trials),
            **place,
        )


def _hover(facts: StudyFacts, trials: Sequence[TrialRecord]) -> dict[str, Any]:
    texts = [_tooltip(facts, trial) for trial in trials]
    return {"text": texts, "hovertemplate": "%{text}<extra></extra>"}


def _tooltip(facts: StudyFacts, trial: TrialRecord) -> str:
    lines = [f"<b>trial {trial.number}</b>" + ("" if trial.is_complete else f" ({trial.state})")]
    if len(trial.values) == len(facts.objectives):
        lines += [f"{_plain(name)}: <b>{show(v)}</b>" for name, v in zip(facts.objectives, trial.values, strict=True)]
    if trial.violation:
        lines.append(f"violates constraints by {show(trial.violation)}")
    if note_of(trial):
        lines.append(_plain(_short(note_of(trial), 80)))
    lines += [
        f"{_plain(_short(k))}: {_plain(_short(show(v)))}" for k, v in list(trial.parameters.items())[:_MOST_HOVERED]
    ]
    left_out = len(trial.parameters) - _MOST_HOVERED
    return "<br>".join([*lines, f"and {left_out} more"] if left_out > 0 else lines)


def _figure(**layout: Any) -> go.Figure:
    return go.Figure(layout=_layout(**layout))


def _layout(**changes: Any) -> dict[str, Any]:
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


def _axis(title: str, **changes: Any) -> dict[str, Any]:
    heading = {"title": {"text": _plain(_short(title, 40)), "standoff": 8, "font": {"size": 13}}} if title else {}
    return {"zeroline": False, "automargin": True, **heading, **changes}


def _value_axis(title: str, values: Sequence[float]) -> dict[str, Any]:
    log = prefers_log(values)
    return _axis(title, type="log", exponentformat="power") if log else _axis(title)


def _log_ticks(low: float, high: float) -> dict[str, Any]:
    """A few ticks of a logarithmic axis: 1, 2, 5 within two decades, else powers of ten."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(decades) <= 3 else (1,)
    ticks = [step * 10.0**decade for decade in decades[:: max(1, len(decades) // 5)] for step in steps]
    ticks = [tick for tick in ticks if low <= tick * (1 + 1e-9) and tick <= high * (1 + 1e-9)]
    return {"tickvals": ticks, "ticktext": [f"{tick:.4g}" for tick in ticks]}


def _strip() -> dict[str, Any]:
    """An axis over the whole height for marks at the lower edge."""
    return {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True}


def _finite(values: Iterable[float]) -> list[float | None]:
    """Values as JSON can hold them."""
    return [v if math.isfinite(v) else None for v in values]


def _plain(text: str) -> str:
    """The user's text, which plotly would otherwise read as markup or as a template."""
    return escape(text, quote=False).replace("%{", "%&#123;")


def _short(text: str, most: int = 28) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _four(value: float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
