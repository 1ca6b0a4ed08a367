"""The end of a run: what was found, what to think about it, what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from betabo.cli.tables import assignments, number, table, values_text
from betabo.optuna.best import best_trials
from betabo.optuna.trials import TrialRecord

if TYPE_CHECKING:
    from betabo.optimizer.beyond import GainBeyond
    from betabo.optuna.recommendation import Recommended

_FRONT_LINES = 10  # trials of a front that are listed


def print_best(
    screen: Console,
    trials: Sequence[TrialRecord],
    directions: Sequence[str],
    points: bool = True,
    recommended: Recommended | None = None,
    names: Sequence[str] | None = None,
) -> None:
    """Print the best value with its point, or the trials of the front.

    Args:
        screen: Where to.
        trials: The trials of a study.
        directions: Direction of each objective.
        points: Whether to print parameters, too.
        recommended: What the model believes best where it sees noise; it then comes first.
        names: Names of the objectives, where they have some.
    """
    found = best_trials(trials, directions)
    if len(directions) > 1:
        trials_of = f"{len(found)} trial{'' if len(found) == 1 else 's'}"
        screen.print(f"Pareto front of {trials_of}" + (":" if found and points else ""))
        if found and points:
            _print_front(screen, found, "values" if names is None else ", ".join(names))
        return
    if not found:
        any_value = any(trial.is_complete for trial in trials)
        screen.print("no trial satisfies all constraints" if any_value else "no trial has a value yet")
        return
    best = found[0]
    if recommended is not None and recommended.estimate is not None:
        estimate = recommended.estimate
        shown = values_text([estimate.mean], errors=[estimate.deviation])
        screen.print(Text.assemble("best estimate ", (shown, "bold green"), f"  trial {recommended.trial}"))
        if points:
            chosen = next((trial for trial in trials if trial.number == recommended.trial), best)
            print_point(screen, chosen.parameters, chosen.faces)
        lucky = "" if best.number == recommended.trial else ": with noise the best of many values is often a lucky one"
        shown = values_text(best.values, errors=best.errors)
        screen.print(f"best value {shown}  trial {best.number}{lucky}", soft_wrap=True)
        return
    screen.print(
        Text.assemble(
            "best value ", (values_text(best.values, errors=best.errors), "bold green"), f"  trial {best.number}"
        )
    )
    if points:
        print_point(screen, best.parameters, best.faces)


def print_point(screen: Console, parameters: Mapping[str, object], on_bound: Mapping[str, str]) -> None:
    """Print parameters below one another, and which of them sit on a bound."""
    width = max(map(len, parameters), default=0)
    for name, value in parameters.items():
        line = Text(f"  {name:{width}}  {number(value, 6)}")
        if name in on_bound:
            line.append(f"  on its {on_bound[name]} bound", style="magenta")
        screen.print(line)


def print_bound_hint(
    screen: Console,
    on_bound: Mapping[str, str],
    study: str,
    gains: Sequence[GainBeyond] = (),
    storage_option: str = "",
) -> None:
    """Say that the box may be too small where the best point touches it, and what lies beyond.

    Args:
        screen: Where to print.
        on_bound: The bounds that the best point is on.
        study: Name of the study.
        gains: Estimates of what a wider box would gain.
        storage_option: What a command needs to find the study, empty for the default storage.
    """
    if not on_bound:
        return
    sides = ", ".join(f"{name} ({side})" for name, side in on_bound.items())
    verb = "sit on bounds" if len(on_bound) > 1 else "sits on a bound"
    wrap = not screen.is_terminal
    screen.print(f"{sides} {verb}: the box may be too small there", style="magenta", soft_wrap=wrap)
    for gain in gains:
        from betabo.optimizer.beyond import describe_gain

        screen.print(f"  {describe_gain(gain)}", style="magenta", soft_wrap=wrap)
    ranges = shlex.join(f"{name}=LOW..HIGH" for name in on_bound)  # whoever made the study chose the names
    screen.print(
        f"if values beyond make sense: betabo widen {shlex.quote(study)} {ranges}{storage_option}",
        style="magenta",
        soft_wrap=wrap,
    )


def print_next(screen: Console, study: str, storage_option: str) -> None:
    """Print the commands to go on with."""
    name = shlex.quote(study)
    screen.print("next:")
    for command, meaning in (
        (f"betabo report {name}{storage_option}", "an HTML page with plots"),
        (f"betabo show {name}{storage_option}", "the trials"),
        (f"betabo export {name} --to csv{storage_option}", "the trials as a file"),
    ):
        screen.print(Text.assemble(f"  {command}", (f"  # {meaning}", "dim")), soft_wrap=True)


def _print_front(screen: Console, front: Sequence[TrialRecord], head: str) -> None:
    listing = table()
    for column in ("trial", head, "parameters"):
        listing.add_column(Text(column), no_wrap=column != "parameters")
    for trial in front[:_FRONT_LINES]:
        listing.add_row(str(trial.number), values_text(trial.values), assignments(trial.parameters))
    screen.print(listing)
    if len(front) > _FRONT_LINES:
        screen.print(f"and {len(front) - _FRONT_LINES} more")
