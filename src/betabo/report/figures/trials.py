"""Trials as marks of a figure: what they are called, how they look, and what is said of one that is pointed at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from betabo.optuna.trials import TrialRecord
from betabo.report.facts import StudyFacts, note_of
from betabo.report.figures.look import BLUE, GREEN, GREY, ORANGE, PALETTE, PURPLE, RED, plain, short
from betabo.report.text import show

ORIGINS = {
    "start": ("starting design", ORANGE, "diamond"),
    "model": ("proposed by the model", BLUE, "circle"),
    "local": ("near the best point", GREEN, "circle"),
    "enqueued": ("enqueued", PURPLE, "square"),
    "": ("trials", "#3aa5b8", "circle"),
}
"""Origin of a trial -> what it is called, its colour and its symbol."""

_MOST_HOVERED = 10  # parameters that a tooltip lists


def kinds(facts: StudyFacts) -> list[tuple[list[TrialRecord], str, dict[str, Any]]]:
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
        label, colour, symbol = ORIGINS.get(origin, (plain(origin), PALETTE[5], "circle"))
        label = "origin not recorded" if not origin and len(origins) > 1 else label
        chosen = [t for t in valued if t.is_complete and t.is_feasible and t.origin == origin]
        groups.append((chosen, label, {"color": colour, "size": 7, "symbol": symbol, "opacity": 0.8}))
    return [group for group in groups if group[0]]


def place_in_legend(label: str) -> int:
    """Place in the legend: what is out of the ordinary comes last."""
    return 2000 if label in ("pruned", "violates a constraint", "failed", "interrupted", "running") else 1000


def hover(facts: StudyFacts, trials: Sequence[TrialRecord]) -> dict[str, Any]:
    """What plotly shows of the trial that is pointed at."""
    texts = [tooltip(facts, trial) for trial in trials]
    return {"text": texts, "hovertemplate": "%{text}<extra></extra>"}


def tooltip(facts: StudyFacts, trial: TrialRecord) -> str:
    """A trial in a few lines of plotly's markup."""
    lines = [f"<b>trial {trial.number}</b>" + ("" if trial.is_complete else f" ({trial.state})")]
    if len(trial.values) == len(facts.objectives):
        lines += [f"{plain(name)}: <b>{show(v)}</b>" for name, v in zip(facts.objectives, trial.values, strict=True)]
    if trial.violation:
        lines.append(f"violates constraints by {show(trial.violation)}")
    if note_of(trial):
        lines.append(plain(short(note_of(trial), 80)))
    lines += [f"{plain(short(k))}: {plain(short(show(v)))}" for k, v in list(trial.parameters.items())[:_MOST_HOVERED]]
    left_out = len(trial.parameters) - _MOST_HOVERED
    return "<br>".join([*lines, f"and {left_out} more"] if left_out > 0 else lines)
