"""What a campaign shows while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from statistics import mean
from typing import Any

from betabo.lab.bench.executor import Event, Failed, Finished, Progressed, Started
from betabo.lab.bench.extras import require
from betabo.lab.bench.run import Run


class Display:
    """Shows nothing."""

    @contextmanager
    def showing(self, runs: Sequence[Run], kept: int, workers: int) -> Iterator[None]:  # noqa: ARG002
        """Show the campaign: the runs to be done, how many were done before, how many are done at a time."""
        yield

    def show(self, event: Event) -> None:
        """Called after each event."""


class Forecast:
    """Guesses the time that a campaign still takes, from the runs that are done.

    A run is expected to take as long as the mean of those of the same optimizer on the same problem; else of the same
    optimizer; else of all.

    Args:
        runs: What is to be done.
        workers: Runs at a time.
        clock: Seconds.
    """

    def __init__(self, runs: Sequence[Run], workers: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.waiting = {run.key: run for run in runs}
        self.running: dict[str, tuple[Run, float]] = {}
        self._workers = workers
        self._clock = clock
        self._times: list[tuple[Run, float]] = []

    def note(self, event: Event) -> None:
        """Take note of what happened."""
        key = event.run.key
        if isinstance(event, Started):
            self.running[key] = (self.waiting.pop(key), self._clock())
        elif isinstance(event, Finished | Failed):
            run, began = self.running.pop(key)
            if isinstance(event, Finished):
                self._times.append((run, self._clock() - began))

    def elapsed(self, key: str) -> float:
        """Seconds since a run started."""
        return self._clock() - self.running[key][1]

    def seconds_left(self) -> float | None:
        """Seconds until all runs are done, None while no run is done."""
        if not self._times:
            return None
        waiting = sum(self._expected(run) for run in self.waiting.values())
        running = [max(0.0, self._expected(run) - (self._clock() - began)) for run, began in self.running.values()]
        return max([(waiting + sum(running)) / self._workers, *running])

    def _expected(self, run: Run) -> float:
        same = [s for r, s in self._times if (r.optimizer, r.problem) == (run.optimizer, run.problem)]
        alike = same or [s for r, s in self._times if r.optimizer == run.optimizer]
        return mean(alike or [s for _, s in self._times])


class Lines(Display):
    """Writes a line for each run that ends, for logs.

    Args:
        write: Is given each line.
    """

    def __init__(self, write: Callable[[str], Any]) -> None:
        self._write = write

    @contextmanager
    def showing(self, runs: Sequence[Run], kept: int, workers: int) -> Iterator[None]:
        """Show the campaign, see `Display.showing`."""
        self._forecast = Forecast(runs, workers)
        self._total, self._ended = len(runs), 0
        self._write(f"{len(runs)} runs to do, {kept} done before, {workers} at a time")
        yield

    def show(self, event: Event) -> None:
        """Write a line at the end of a run."""
        took = 0.0 if isinstance(event, Started) else self._forecast.elapsed(event.run.key)
        self._forecast.note(event)
        if isinstance(event, Finished | Failed):
            self._ended += 1
            outcome = "done" if isinstance(event, Finished) else "FAILED"
            left = duration(self._forecast.seconds_left())
            self._write(f"{self._ended}/{self._total} {event.run.key} {outcome} in {duration(took)}, {left} left")


class Live(Display):
    """A table of the running runs and a bar, redrawn in place."""

    def __init__(self) -> None:
        self._console = require("rich.console").Console(stderr=True)

    @contextmanager
    def showing(self, runs: Sequence[Run], kept: int, workers: int) -> Iterator[None]:
        """Show the campaign, see `Display.showing`."""
        self._forecast = Forecast(runs, workers)
        self._total, self._kept, self._done, self._failed = len(runs) + kept, kept, 0, 0
        self._progress: dict[str, Progressed] = {}
        with require("rich.live").Live(
            get_renderable=self._draw, console=self._console, refresh_per_second=4, transient=True
        ):
            yield

    def show(self, event: Event) -> None:
        """Take note of an event; a failure leaves a line above the table."""
        self._forecast.note(event)
        if isinstance(event, Progressed):
            self._progress[event.run.key] = event
        if isinstance(event, Finished | Failed):
            self._progress.pop(event.run.key, None)
            self._done += isinstance(event, Finished)
            self._failed += isinstance(event, Failed)
        if isinstance(event, Failed):
            reason = event.error.strip().splitlines()[-1] if event.error.strip() else "unknown"
            self._console.print(f"{event.run.key} failed: {reason}", style="red", markup=False, highlight=False)

    def _draw(self) -> Any:
        table = require("rich.table").Table(box=None, pad_edge=False, header_style="dim")
        for heading in ("running", "seed", "evaluations", "best", "time"):
            table.add_column(heading, justify="left" if heading == "running" else "right")
        for key, (run, _) in list(self._forecast.running.items()):
            progress = self._progress.get(key)
            table.add_row(
                f"{run.optimizer} on {run.problem}",
                str(run.seed),
                f"{progress.evaluations}/{run.budget}" if progress else "-",
                f"{progress.best:.5g}" if progress else "-",
                duration(self._forecast.elapsed(key)),
            )
        ended = self._kept + self._done + self._failed
        bar = require("rich.progress_bar").ProgressBar(total=self._total, completed=ended, width=40)
        failed = f", {self._failed} failed" if self._failed else ""
        left = duration(self._forecast.seconds_left())
        line = require("rich.table").Table.grid(padding=(0, 1))
        line.add_row(bar, f"{self._kept + self._done} of {self._total} done{failed}, about {left} left")
        return require("rich.console").Group(table, line)


def duration(seconds: float | None) -> str:
    """A time such as 0:01:30, or "?" for None."""
    return "?" if seconds is None else str(timedelta(seconds=round(seconds)))
