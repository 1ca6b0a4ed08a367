"""The parts of the page that are words and tables: summary, key figures, best point, Pareto front, all trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from betabo.optuna.trials import TrialRecord
from betabo.report.boundary import NEAR, ParameterFacts
from betabo.report.facts import StudyFacts, best_so_far, note_of, seconds_by_kind
from betabo.report.text import counted, listed, show, show_range, show_seconds

_MOST_FRONT = 50  # rows of a table; the figure and the export have all
_MOST_COLUMNS = 12  # of a table that fits on a screen


def summary(facts: StudyFacts, parameters: Sequence[ParameterFacts]) -> str:
    """The study in two or three sentences."""
    if not facts.trials:
        return "The study has no trials yet."
    goals = listed(_goals(facts, "maximizes", "minimizes"))
    count = counted(len(facts.trials) if facts.planned is None else facts.planned, "trial")
    sentences = [f"The study {goals}; {len(facts.complete)} of its {count} finished."]
    if not facts.best:
        return f"{sentences[0]} {why_no_best(facts)}"
    if not facts.has_one_objective:
        verb = "makes" if len(facts.best) == 1 else "make"
        return f"{sentences[0]} {counted(len(facts.best), 'trial')} {verb} up the Pareto front."
    best, (numbers, bests) = facts.best[0], best_so_far(facts)
    sentence = f"The best value is {show(bests[-1])}, found in trial {best.number}"
    if (recommended := facts.recommended) is not None and recommended.estimate is not None:
        estimate = f"{show(recommended.estimate.mean)} ± {recommended.estimate.deviation:.2g}"
        sentences.append(f"There is noise: by the model trial {best.number} is best, with a value of {estimate}.")
        sentence = f"The best value measured, often a lucky one, is {show(bests[-1])} in trial {recommended.observed}"
    if bests[0] != bests[-1]:
        sentence += f", {'up' if facts.maximize[0] else 'down'} from {show(bests[0])} in trial {numbers[0]}"
    sentences.append(f"{sentence}.")
    numeric = [p for p in parameters if p.best_position is not None]
    faces = [p for p in numeric if p.on_face]
    if faces:
        verb = "is" if len(faces) == 1 else "are"
        sentences.append(f"{len(faces)} of its {counted(len(numeric), 'numeric parameter')} {verb} on a bound.")
    elif numeric:
        sentences.append("The best point lies inside the box.")
    return " ".join(sentences)


def why_no_best(facts: StudyFacts) -> str:
    """Why there is no best trial; empty if there is one."""
    if facts.best:
        return ""
    if not facts.trials:
        return "The study has no trials yet."
    if not facts.complete:
        return "No trial has finished with a value yet."
    least = min(facts.complete, key=lambda t: t.violation or 0.0)
    return (
        "No finished trial satisfies all constraints, so there is no best one. "
        f"Trial {least.number} comes closest: it violates them by {show(least.violation)} in sum."
    )


def tiles(facts: StudyFacts, centre: TrialRecord | None) -> list[dict[str, str]]:
    """Key figures: label, value and a note for each."""
    goals = ", ".join(_goals(facts, "maximize", "minimize"))
    if not facts.has_one_objective:
        found = [_tile("Pareto front", counted(len(facts.best), "trial"), goals)]
    elif centre is None:
        found = [_tile(f"best {facts.objectives[0]}", "none", goals)]
    else:
        value, note = show(centre.values[0]), f"trial {centre.number}, {goals}"
        if facts.recommended is not None and facts.recommended.estimate is not None:
            value, note = show(facts.recommended.estimate.mean), f"estimated, {note}"
        found = [_tile(f"best {facts.objectives[0]}", value, note)]
    others = [f"{count} {state}" for state, count in facts.counts.items() if state != "complete"]
    note = ", ".join(others) or ("all complete" if facts.trials else "nothing to show yet")
    found.append(_tile("trials", str(len(facts.trials)), note))
    if facts.constrained:
        feasible = sum(t.is_feasible for t in facts.complete)
        found.append(_tile("feasible", str(feasible), f"of {counted(len(facts.complete), 'finished trial')}"))
    seconds = seconds_by_kind(facts)
    if seconds["trials"]:
        own = seconds["fit"] + seconds["acquisition"]
        note = f"{show_seconds(own)} of it in the sampler" if own else "summed over all trials"
        found.append(_tile("time in trials", show_seconds(seconds["trials"]), note))
    started = [t.started for t in facts.trials if t.started]
    if started:
        first, last = min(started), max(started)
        is_one_day = first.date() == last.date()
        note = f"{first:%H:%M} to {last:%H:%M}" if is_one_day else f"last trial {show_day(last)}"
        found.append(_tile("started", show_day(first), note))
    return found


def show_day(moment: datetime) -> str:
    """A date as `3 Nov 2026`."""
    return f"{moment.day} {moment:%b %Y}"


def parameter_table(facts: StudyFacts, parameters: Sequence[ParameterFacts]) -> dict[str, Any] | None:
    """A row for each parameter: best value, range, and where in it the best trials are; None without parameters."""
    if not parameters:
        return None
    has_shares = any(p.model_lower is not None for p in parameters)
    group = f"the best {counted(len(facts.leading), 'trial')}" if facts.has_one_objective else "the Pareto front"
    dot = "best" if facts.has_one_objective else "balanced"
    caption = (
        "Each bar runs from the lower to the upper bound, on a log scale for log parameters. The dot is the "
        f"{dot} trial, the ticks are {group}. On a face means within {NEAR:.0%} of a bound."
    )
    return {
        "heading": "best value" if facts.has_one_objective else "balanced trial",
        "has_shares": has_shares,
        "rows": [_parameter_row(p) for p in parameters],
        "caption": caption if facts.best else "Each range is the one of the most recent trial.",
    }


def front_table(facts: StudyFacts, centre: TrialRecord | None) -> dict[str, Any] | None:
    """The trials of the Pareto front; None with one objective, or without a front."""
    if facts.has_one_objective or not facts.best:
        return None
    names = list(facts.distributions)[:_MOST_COLUMNS]
    rows = [
        {
            "number": trial.number,
            "values": [show(v) for v in trial.values],
            "params": [show(trial.parameters[name]) if name in trial.parameters else "" for name in names],
            "is_centre": trial is centre,
        }
        for trial in sorted(facts.best, key=lambda t: t.values)[:_MOST_FRONT]
    ]
    caption = (
        "The marked trial is the balanced one: nearest to the best value of every objective, each scaled to its range "
        "on the front."
    )
    if len(facts.best) > _MOST_FRONT:
        caption += f" {_MOST_FRONT} of {len(facts.best)} trials are shown; the table of trials below has all."
    columns = [{"name": name, "numeric": hasattr(facts.distributions[name], "low")} for name in names]
    return {"columns": columns, "rows": rows, "caption": caption}


def trial_table(facts: StudyFacts) -> dict[str, Any]:
    """Columns and rows of the table of all trials, as JSON types."""
    names = list(dict.fromkeys(name for trial in facts.trials for name in trial.parameters))
    has_notes = any(note_of(trial) for trial in facts.trials)
    columns: list[dict[str, Any]] = [
        {"label": "trial", "numeric": True},
        {"label": "state", "role": "state"},
        {"label": "origin"},
        *({"label": o, "numeric": True, "down": up} for o, up in zip(facts.objectives, facts.maximize, strict=True)),
        *([{"label": "violation", "numeric": True}] if facts.constrained else []),
        {"label": "seconds", "numeric": True, "digits": 3},
        {"label": "boundary", "numeric": True, "digits": 3},
        *({"label": name, "numeric": hasattr(facts.distributions.get(name), "low")} for name in names),
        *([{"label": "note"}] if has_notes else []),
    ]
    best = {trial.number for trial in facts.best}
    rows = []
    for trial in facts.trials:
        has_values = len(trial.values) == len(facts.objectives)
        cells = [
            trial.number,
            trial.state,
            trial.origin or None,
            *(trial.values if has_values else [None] * len(facts.objectives)),
            *([trial.violation] if facts.constrained else []),
            trial.seconds,
            trial.boundary_distance,
            *(trial.parameters.get(name) for name in names),
            *([note_of(trial) or None] if has_notes else []),
        ]
        rows.append({"cells": [_cell(cell) for cell in cells], "best": trial.number in best})
    return {"columns": columns, "rows": rows}


def _goals(facts: StudyFacts, up_word: str, down_word: str) -> list[str]:
    return [f"{up_word if up else down_word} {o}" for o, up in zip(facts.objectives, facts.maximize, strict=True)]


def _tile(label: str, value: str, note: str) -> dict[str, str]:
    return {"label": label, "value": value, "note": note}


def _parameter_row(p: ParameterFacts) -> dict[str, Any]:
    at = p.best_position
    shares = [share for share in (p.model_lower, p.model_upper) if share is not None]
    return {
        "name": p.name,
        "best": show(p.best) if p.has_best else "",
        "range": show_range(p.distribution),
        "at": None if at is None else f"{100 * at:.1f}",
        "marks": [f"{100 * mark:.1f}" for mark in p.leading_positions],
        "aria": "" if at is None else f"at {at:.0%} of the range",
        "face": p.on_face,
        "shares": " / ".join(f"{share:.0%}" for share in shares),
    }


def _cell(value: Any) -> Any:
    """A value as JSON can hold it and JavaScript reads it without loss."""
    if value is None or isinstance(value, str):
        return value
    is_exact = isinstance(value, int) and abs(value) <= 2**53
    is_finite = isinstance(value, float) and math.isfinite(value)
    return value if (is_exact or is_finite) and not isinstance(value, bool) else str(value)
