"""A run of a study in the foreground: workers behind it, progress in front, Ctrl-C in between."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from types import FrameType
from typing import TYPE_CHECKING

import optuna
import typer
from rich.console import Console, RenderableType
from rich.live import Live

from betabo.cli.errors import FAILURE, INTERRUPTED, USER_ERROR, fail, warn
from betabo.cli.live import Snapshot, column_widths, render
from betabo.cli.options import print_json
from betabo.cli.studies import best_as_json
from betabo.cli.summary import print_best, print_bound_hint, print_next
from betabo.cli.tables import assignments, clock, console, duration, values_text
from betabo.cli.trials import TrialReader
from betabo.optimizer.stopping import Stopping
from betabo.optuna.best import best_trials
from betabo.optuna.trials import TrialRecord
from betabo.space import Fixed
from betabo.space.boundary import Side
from betabo.studies import Event, Plan, Runner, StudyError
from betabo.studies.database_errors import patience
from betabo.studies.manage import forget_if_empty
from betabo.studies.stopping import study_progress
from betabo.studies.widening import study_gains_beyond

if TYPE_CHECKING:
    from betabo.optimizer.beyond import GainBeyond

_PAUSE = 0.1  # seconds between two looks at the workers
_MOST_SHOWN = 8  # parameters of a trial on its line
_READ_EVERY = 2.0  # seconds between two looks at the storage when no worker here has news

_NOTES = (
    "Ctrl-C stops after the running trials; everything is stored.",
    "Stopping after the running trials. Ctrl-C again stops at once and repeats them next time.",
    "Stopping.",
)


class ProgressStyle(Enum):
    """How progress is shown."""

    LIVE = "a live table"
    PLAIN = "a line for each finished trial"
    QUIET = "nothing but the end"

    @classmethod
    def choose(cls, *, quiet: bool, plain: bool) -> ProgressStyle:
        """What was asked for, or the live table on a terminal and lines elsewhere."""
        if quiet:
            return cls.QUIET
        return cls.PLAIN if plain or not console().is_terminal else cls.LIVE


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended.

    Attributes:
        complete: Whether the study has its trials.
        interrupted: Whether it was stopped from outside.
        error: Why it could not go on, or why its end is no good one; else empty.
        all_failed: Whether there are trials, and all of them failed.
    """

    complete: bool
    interrupted: bool
    error: str
    all_failed: bool = False

    def exit_unless_complete(self) -> None:
        """End the command with its error, or the code of an interrupt, if there is one."""
        if self.error:
            fail(self.error, code=FAILURE if self.all_failed else USER_ERROR)
        if self.interrupted:
            raise typer.Exit(INTERRUPTED)
        if not self.complete:
            fail("the workers ended before the study had its trials; the logs may say why.", code=FAILURE)


class StudyRun:
    """One run of a study until it has its trials, or is stopped.

    Args:
        plan: The plan.
        study: The study that was opened from it.
        workers: Number of worker processes.
        style: How progress is shown.
        stopping: What may end it before.
    """

    def __init__(
        self,
        plan: Plan,
        study: optuna.Study,
        workers: int,
        style: ProgressStyle,
        stopping: Stopping | None = None,
    ) -> None:
        self._stopping = Stopping() if stopping is None else stopping
        self._stopped = ""  # why, once a rule has spoken
        self._plan, self._study, self._workers, self._style = plan, study, workers, style
        self._reader = TrialReader(study)
        self._trials: Sequence[TrialRecord] = self._reader.read()
        self._before = self._finished()
        self._told: set[int] = set()
        self._ended_before: set[int] = set()  # at the look before the last one
        self._started = time.monotonic()
        self._interrupts = 0
        self._ready: float | None = None
        self._screen: Console = console()

    def to_the_end(self) -> RunOutcome:
        """Run until the study has its trials, an error, or an interrupt; everything is stored in any case."""
        self._announce()
        if self._before >= self._plan.trials or self._is_enough():
            return RunOutcome(complete=True, interrupted=False, error="")
        runner = Runner(self._plan, self._workers, self._study)
        with self._interruptible(), self._live():
            runner.start()
            try:
                self._watch(runner)
            finally:
                if runner.alive:
                    runner.kill()
        self._trials = self._reader.read()
        if runner.error and not self._trials:
            with suppress(StudyError), patience(0):
                forget_if_empty(self._study)
        failed = [trial for trial in self._trials if trial.state == "failed"]
        all_failed = bool(failed) and len(failed) == self._finished()
        complete = self._finished() >= self._plan.trials or bool(self._stopped)
        error = runner.error
        if complete and all_failed and not error:
            error = (
                f"all {len(failed)} trials failed, the last one because {failed[-1].reason}; correct the objective or "
                "the space. With another space the study starts anew; `betabo delete` removes it."
            )
        return RunOutcome(complete, self._interrupts > 0, error, all_failed)

    def summarize(self, storage_option: str, points: bool = True) -> None:
        """Print what was found, where the box may be too small, and what to do next; no parameters without `points`.

        Of a study without trials only why it was stopped: otherwise its error says all.
        """
        plan, screen = self._plan, self._screen
        finished = self._finished()
        if not self._trials:
            if self._stopped:
                screen.print(f"no trial was begun; stopped: {self._stopped}", soft_wrap=True)
            return
        states = [trial.state for trial in self._trials]
        failed = f", {states.count('failed')} failed" if "failed" in states else ""
        new, passed = finished - self._before, clock(time.monotonic() - self._started)
        when = f" in {passed}" if new == finished else f"; {new} of them now, in {passed}" if new else ""
        screen.print(f"{finished} of {plan.trials} trials{failed}{when}")
        if self._stopped:
            screen.print(f"stopped: {self._stopped}", soft_wrap=True)
        recommended = self._reader.recommended()
        print_best(screen, self._trials, plan.directions, points, recommended, self._names())
        if self._style is ProgressStyle.QUIET or not finished:
            return
        if len(plan.directions) == 1 and points:
            best = [trial.number for trial in best_trials(self._trials, plan.directions)]
            number = recommended.trial if recommended is not None else next(iter(best), None)
            for trial in self._trials:
                if trial.number == number:
                    gains = self._gains_beyond(trial.faces)
                    print_bound_hint(screen, trial.faces, plan.study, gains, storage_option)
        if finished < plan.trials and not self._stopped:
            screen.print("everything is stored; the same command again goes on")
        print_next(screen, plan.study, storage_option)

    def print_json(self) -> None:
        """Print what was found for another program."""
        plan = self._plan
        best, recommended = best_trials(self._trials, plan.directions), self._reader.recommended()
        found = best_as_json(plan.study, plan.directions, best, recommended, self._trials, self._names())
        print_json({**found, "trials": self._finished(), "total": plan.trials, "stopped": self._stopped or None})

    def _announce(self) -> None:
        if self._style is ProgressStyle.QUIET:
            return
        plan = self._plan
        self._screen.print(f"study {plan.study}: {plan.objective.describe()}", soft_wrap=True)
        constants = {name: p.value for name, p in plan.space.parameters.items() if isinstance(p, Fixed)}
        if constants:
            self._screen.print(f"constant: {assignments(constants)}", soft_wrap=True)
        if self._before >= plan.trials:
            self._screen.print(f"it has {self._before} trials already; raise --trials to go on")
        elif any(trial.state != "waiting" for trial in self._trials):
            self._screen.print(f"it goes on after {self._before} trials")

    def _watch(self, runner: Runner) -> None:
        """Pass events and interrupts on until the workers have ended."""
        heard, last_read = 0, time.monotonic()
        while True:
            alive = runner.alive
            events = runner.poll()
            if events or time.monotonic() - last_read > _READ_EVERY:
                self._read()
                last_read = time.monotonic()
            for event in events:
                self._report(event)
            if alive and not (self._interrupts or self._stopped) and self._is_enough():
                runner.stop()
            if not alive and not events:
                return
            if self._interrupts > heard:
                heard = self._interrupts
                self._stop(runner, at_once=heard > 1)
            time.sleep(_PAUSE)

    def _stop(self, runner: Runner, at_once: bool) -> None:
        if self._style is not ProgressStyle.LIVE:
            warn(_NOTES[2] if at_once else _NOTES[1])
        if at_once:
            runner.kill()
        else:
            runner.stop()

    def _report(self, event: Event) -> None:
        if event.kind == "ready" and self._ready is None:
            self._ready = time.monotonic()
        cut_off_here = event.kind == "interrupted" and self._interrupts > 1
        if event.kind in ("warning", "died", "interrupted", "lost") and event.message and not cut_off_here:
            trial = "" if event.trial is None else f"trial {event.trial}: "
            self._say(f"{trial}{event.message}")
        if event.trial is not None and event.kind != "began":
            self._told.add(event.trial)
        if event.kind == "finished" and self._style is ProgressStyle.PLAIN:
            self._screen.print(self._line(event), soft_wrap=True)

    def _say(self, message: str) -> None:
        if self._style is ProgressStyle.LIVE:
            self._screen.print(f"warning: {message}", style="yellow")  # above the live table
        else:
            warn(message)

    def _line(self, event: Event) -> str:
        """A finished trial on one line, with what was known when it ended."""
        known = self._known()
        count = f"[{sum(trial.counts for trial in known):{len(str(self._plan.trials))}}/{self._plan.trials}]"
        if event.state == "complete":
            errors = next((trial.errors for trial in known if trial.number == event.trial), ())
            found = f"value {values_text(event.values, errors=errors)}  {self._best_of(known)}"
        else:
            found = f"{event.state}: {event.message}"
        notes = next((trial.remarks for trial in known if trial.number == event.trial), {})
        parts = [notes] if notes and len(event.parameters) > _MOST_SHOWN else [notes, event.parameters]
        rest = [assignments(part, _MOST_SHOWN) for part in parts if part]
        return "  ".join([f"{count} trial {event.trial}", found, duration(event.seconds), *rest])

    def _known(self) -> list[TrialRecord]:
        """The trials that have ended as far as was told; those of other commands are known after another look.

        By the order of what is told and not by the clock, which may jump.
        """
        return [trial for trial in self._trials if trial.number in self._told | self._ended_before]

    def _best_of(self, trials: Sequence[TrialRecord]) -> str:
        best = best_trials(trials, self._plan.directions)
        if len(self._plan.directions) > 1:
            return f"front {len(best)}"
        return f"best {values_text(best[0].values)}" if best else ""

    def _read(self) -> None:
        """See what is new in the storage; a storage in trouble is the workers' concern, who wait and tell."""
        with suppress(StudyError), patience(0):
            trials = self._reader.read()
            self._ended_before = {trial.number for trial in self._trials if trial.finished is not None}
            self._trials = trials

    def _gains_beyond(self, faces: Mapping[str, Side]) -> Sequence[GainBeyond]:
        """What a wider box would gain; nothing where there is no model."""
        if not faces or sum(trial.is_complete for trial in self._trials) < 2:
            return ()
        with suppress(ValueError):
            return study_gains_beyond(self._study, self._plan.config, faces.items())
        return ()

    def _is_enough(self) -> bool:
        """Whether a rule says that the study may stop."""
        if self._stopping.is_empty:
            return False
        self._stopped = self._stopping.reason(study_progress(self._study, self._plan, self._trials))
        return bool(self._stopped)

    def _names(self) -> Sequence[str] | None:
        return self._plan.problem.names if self._plan.is_named else None

    def _finished(self) -> int:
        return sum(trial.counts for trial in self._trials)

    def _live(self) -> AbstractContextManager[object]:
        if self._style is not ProgressStyle.LIVE:
            return nullcontext()
        return Live(get_renderable=self._picture, console=self._screen, refresh_per_second=8, transient=True)

    def _picture(self) -> RenderableType:
        plan = self._plan
        direction = "" if plan.directions == ("minimize",) else f"{', '.join(plan.directions)} · "
        workers = f"{self._workers} worker{'s' if self._workers > 1 else ''}"
        snapshot = Snapshot(
            study=plan.study,
            subtitle=f"{direction}{plan.config.kernel} · {workers}",
            directions=plan.directions,
            columns=column_widths(plan.space),
            trials=self._trials,
            total=plan.trials,
            finished_before=self._before,
            elapsed=time.monotonic() - self._started,
            working=0.0 if self._ready is None else time.monotonic() - self._ready,
            workers=self._workers,
            note=self._note(),
        )
        return render(snapshot, self._screen.width, self._screen.height, datetime.now())

    def _note(self) -> str:
        if self._stopped:
            return f"Stopping after the running trials: {self._stopped}."
        if not self._interrupts and self._ready is None:
            return "Starting the workers."
        return _NOTES[min(self._interrupts, 2)]

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Count Ctrl-C in place of raising; being terminated counts as two."""

        def count(number: int, frame: FrameType | None) -> None:
            del frame
            self._interrupts += 2 if number == signal.SIGTERM else 1

        before = {number: signal.signal(number, count) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
