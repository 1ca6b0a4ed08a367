"""The live table of a running study: a picture of what is known, drawn anew from scratch each time.

`render` is a function of a `Snapshot`, the time and the size of the terminal. The number of lines depends on the size,
the parameters and the number of workers alone, so that the table stands still.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from betabo.cli.tables import clock, duration, number, table, values_text
from betabo.optuna.best import best_trials
from betabo.optuna.trials import TrialRecord
from betabo.space import Categorical, Float, Int, Space

_LAST_TRIALS = 8  # rows of the table
_LINES_AROUND = 10  # all but the rows of the table and the best point, with a line for the prompt
_LINES_OF_POINT = 3  # that the best point takes at the most
_INDENT = 6  # columns before its lines
_SEPARATOR = 2  # columns between those of the table
_STATE_STYLES = {"failed": "red", "running": "cyan", "interrupted": "yellow"}
_MARKS = {"lower": "▼", "upper": "▲"}


@dataclass(frozen=True)
class Snapshot:
    """What is known about a running study.

    Attributes:
        study: Its name.
        subtitle: How it is run.
        directions: `"minimize"` or `"maximize"` for each objective.
        columns: Parameters in their order, with the width of their values.
        trials: All trials so far.
        total: Number of trials that the study should reach.
        finished_before: Number of trials that had been finished when the command started.
        elapsed: Seconds since the command started.
        working: Seconds since the first worker was ready.
        workers: Number of worker processes.
        note: What the last line says.
    """

    study: str
    subtitle: str
    directions: Sequence[str]
    columns: Mapping[str, int]
    trials: Sequence[TrialRecord]
    total: int
    finished_before: int
    elapsed: float
    working: float
    workers: int
    note: str

    @property
    def finished(self) -> int:
        """Number of trials that count towards the total."""
        return sum(trial.counts for trial in self.trials)

    @property
    def seconds_left(self) -> float | None:
        """Estimate from the pace so far, None before the first trial of this command is finished."""
        done = self.finished - self.finished_before
        if done < 1:
            return None
        return max(self.total - self.finished, 0) * self.working / done


def column_widths(space: Space) -> dict[str, int]:
    """How many characters the values of each parameter need, constants left out."""
    widths = {}
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Float):
            widths[name] = len("1.234e-05") + 1 + (parameter.low < 0)
        elif isinstance(parameter, Int):
            widths[name] = max(len(str(parameter.low)), len(str(parameter.high))) + 1
        elif isinstance(parameter, Categorical):
            widths[name] = min(max(len(number(choice, 4)) for choice in parameter.choices), 12)
    return widths


def render(snapshot: Snapshot, width: int, height: int, now: datetime) -> RenderableType:
    """The picture of a running study for a terminal of `width` columns and `height` lines."""
    best = _best(snapshot, width)
    return Group(
        _title(snapshot),
        _progress(snapshot, width),
        Text(),
        *best,
        _counts(snapshot),
        Text(),
        _trials(snapshot, width, height - _LINES_AROUND - len(best), now),
        Text(),
        _line(snapshot.note, style="dim"),
    )


def _title(snapshot: Snapshot) -> RenderableType:
    line = Table.grid(expand=True)
    line.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    line.add_column(no_wrap=True, justify="right")
    line.add_row(Text(snapshot.study, style="bold"), Text(snapshot.subtitle, style="dim"))
    return line


def _progress(snapshot: Snapshot, width: int) -> RenderableType:
    left = snapshot.seconds_left
    digits = len(str(snapshot.total))
    count = Text(f"{snapshot.finished:{digits}}/{snapshot.total}", style="bold")
    times = Text(f"{clock(snapshot.elapsed):>7}  {'?' if left is None else clock(left):>7} left", style="dim")
    line = Table.grid(padding=(0, _SEPARATOR, 0, 0))
    line.add_column(width=max(width - len(count) - len(times) - 2 * _SEPARATOR, 10))
    line.add_column(no_wrap=True)
    line.add_column(no_wrap=True)
    bar = ProgressBar(total=max(snapshot.total, 1), completed=snapshot.finished, complete_style="cyan")
    line.add_row(bar, count, times)
    return line


def _best(snapshot: Snapshot, width: int) -> list[Text]:
    """The best value and its point, or the front and its ends; always the same number of lines."""
    found = best_trials(snapshot.trials, snapshot.directions)
    if len(snapshot.directions) > 1:
        ends = "  to  ".join(values_text(trial.values, 4) for trial in (found[0], found[-1])) if found else ""
        return [_line(Text.assemble("front ", (f"{len(found)} trials", "bold green"))), _line(" " * _INDENT + ends)]
    needed = sum(len(name) + cell + 1 + _SEPARATOR for name, cell in snapshot.columns.items())
    lines = min(-(-needed // max(width - _INDENT, 1)), _LINES_OF_POINT)
    if not found:
        return [_line("best  none yet"), *(Text() for _ in range(lines))]
    best = found[0]
    head = Text.assemble("best  ", (values_text(best.values), "bold green"), (f"  trial {best.number}", "dim"))
    return [_line(head), *_point(best, snapshot.columns, width, lines)]


def _point(trial: TrialRecord, columns: Mapping[str, int], width: int, lines: int) -> list[Text]:
    """The parameters of a trial on so many lines."""
    point = [Text(" " * _INDENT)]
    for name in columns:
        if name in trial.parameters:
            item = Text.assemble((f"{name}=", "dim"), _cell(trial, name, digits=5), " " * _SEPARATOR)
            if len(point[-1]) + len(item) > width + _SEPARATOR and len(point[-1]) > _INDENT and len(point) < lines:
                point.append(Text(" " * _INDENT))
            point[-1].append_text(item)
    for line in point:
        line.rstrip()
    return [_line(line) for line in point] + [Text() for _ in range(lines - len(point))]


def _counts(snapshot: Snapshot) -> Text:
    proposed = [trial for trial in snapshot.trials if trial.is_modelled]
    faces = sum(bool(trial.faces) for trial in proposed)
    line = Text(" " * _INDENT)
    said = f"{faces} of {len(proposed)} proposals of the model on a face" if proposed else "starting points so far"
    line.append(said, style="dim")
    for state in ("failed", "interrupted"):
        count = sum(trial.state == state for trial in snapshot.trials)
        if count:
            line.append(f"  {count} {state}", style=_STATE_STYLES[state])
    return _line(line)


def _trials(snapshot: Snapshot, width: int, room: int, now: datetime) -> RenderableType:
    """Running trials first, then the last finished ones, newest on top; always the same number of rows."""
    rows = max(min(snapshot.workers + _LAST_TRIALS, room), 1)
    running = [trial for trial in snapshot.trials if trial.state == "running"][::-1]
    over = [trial for trial in snapshot.trials if trial.finished is not None]
    over.sort(key=lambda trial: (trial.finished, trial.number), reverse=True)
    shown = (running + over)[:rows]
    best = best_trials(snapshot.trials, snapshot.directions) if len(snapshot.directions) == 1 else []
    value_width = 11 if len(snapshot.directions) == 1 else min(11 * len(snapshot.directions), 33)
    columns, hidden = _fitting(snapshot.columns, width - 5 - value_width - 7 - 3 * _SEPARATOR)

    listing = table()
    listing.add_column("trial", justify="right", width=5, no_wrap=True)
    listing.add_column("value" if len(snapshot.directions) == 1 else "values", width=value_width, no_wrap=True)
    listing.add_column("time", justify="right", width=7, no_wrap=True)
    for name, cell in columns.items():
        listing.add_column(Text(name), width=cell, no_wrap=True, overflow="ellipsis")
    listing.add_column(Text(f"+{hidden}" if hidden else "", style="dim"), no_wrap=True)
    for trial in shown:
        listing.add_row(
            Text(str(trial.number)),
            _value(trial, is_best=trial in best),
            Text(duration(_seconds(trial, now)), style="dim"),
            *(_cell(trial, name, digits=4) for name in columns),
        )
    for _ in range(rows - len(shown)):
        listing.add_row("")
    return listing


def _fitting(columns: Mapping[str, int], room: int) -> tuple[dict[str, int], int]:
    """The parameters that have room, with the widths of their columns, and how many have not."""
    fitting: dict[str, int] = {}
    for name, cell in columns.items():
        width = max(min(len(name), 12), cell)
        is_last = len(fitting) == len(columns) - 1
        if width + _SEPARATOR > room - (0 if is_last else len("+99")):
            break
        fitting[name] = width
        room -= width + _SEPARATOR
    return fitting, len(columns) - len(fitting)


def _value(trial: TrialRecord, is_best: bool) -> Text:
    if trial.state != "complete":
        return Text(trial.state, style=_STATE_STYLES.get(trial.state, ""))
    return _line(Text(values_text(trial.values, 5 if len(trial.values) == 1 else 4), "bold green" if is_best else ""))


def _cell(trial: TrialRecord, name: str, digits: int) -> Text:
    if name not in trial.parameters:
        return Text()
    bound = trial.faces.get(name)
    return Text(number(trial.parameters[name], digits) + _MARKS.get(bound or "", ""), style="magenta" if bound else "")


def _line(text: str | Text, style: str = "") -> Text:
    """Text that stays on one line."""
    line = Text(text, style=style) if isinstance(text, str) else text
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def _seconds(trial: TrialRecord, now: datetime) -> float | None:
    if trial.state == "running" and trial.started is not None:
        return max((now - trial.started).total_seconds(), 0.0)
    return trial.seconds
