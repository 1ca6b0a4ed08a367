from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import optuna
import pytest
import typer
from rich.console import Console

from betabo.cli.run import ProgressStyle, RunOutcome, StudyRun
from betabo.studies import CommandObjective, Event, Plan, open_study, parse_parameters


class ScriptedRunner:
    """A `Runner` without workers, which does one thing of a script at each look and is over at its end."""

    script: list[Callable[[ScriptedRunner], list[Event]]]

    def __init__(self, plan: Plan, workers: int, study: optuna.Study) -> None:
        self.study, self.error, self.said = study, "", []
        self.alive = False

    def start(self) -> None:
        self.alive = True

    def poll(self) -> list[Event]:
        events = self.script.pop(0)(self) if self.script else []
        self.alive = self.alive and bool(self.script)
        return events

    def stop(self) -> None:
        self.said.append("stop")
        self.script.append(lambda _: [Event("stopped")])

    def kill(self) -> None:
        self.said.append("kill")
        self.alive = False


Run = Callable[..., tuple[StudyRun, list[ScriptedRunner]]]


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("betabo.cli.run._PAUSE", 0.0)
    return Plan("tuning", parse_parameters(["x=0..1"]), CommandObjective("echo {x}"), trials=2)


@pytest.fixture
def run(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs with workers that follow a script, and these workers."""
    made: list[ScriptedRunner] = []

    def make(*script: Callable[[ScriptedRunner], list[Event]]) -> tuple[StudyRun, list[ScriptedRunner]]:
        def runner(plan: Plan, workers: int, study: optuna.Study) -> ScriptedRunner:
            made.append(ScriptedRunner(plan, workers, study))
            made[-1].script = list(script)
            return made[-1]

        monkeypatch.setattr("betabo.cli.run.Runner", runner)
        return StudyRun(plan, open_study(plan), 1, ProgressStyle.PLAIN), made

    return make


def evaluate(runner: ScriptedRunner) -> list[Event]:
    """One trial with the value 0.25."""
    trial = runner.study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
    runner.study.tell(trial, 0.25)
    point = {"x": trial.params["x"]}
    return [Event("finished", trial=trial.number, parameters=point, state="complete", values=(0.25,), seconds=1.0)]


def interrupt(number: int) -> Callable[[ScriptedRunner], list[Event]]:
    def send(_: ScriptedRunner) -> list[Event]:
        os.kill(os.getpid(), number)
        return [Event("ready")]

    return send


def test_a_run_ends_when_the_study_has_its_trials(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    one, made = run(evaluate, evaluate)
    outcome = one.to_the_end()
    assert (outcome.complete, outcome.interrupted, outcome.error) == (True, False, "")
    assert made[0].said == []
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "study tuning: echo {x}"
    assert [line[:13] for line in lines[1:]] == ["[1/2] trial 0", "[2/2] trial 1"]
    assert "value 0.25  best 0.25  1.00s  x=" in lines[1]


def test_a_clock_that_jumps_back_does_not_count_backwards(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    hours = iter((20, 10))

    def evaluate_then_jump(runner: ScriptedRunner) -> list[Event]:
        events = evaluate(runner)
        with sqlite3.connect("betabo.db") as storage:
            ended = f"2030-01-01 {next(hours)}:00:00.000000"
            storage.execute("UPDATE trials SET datetime_complete = ? WHERE number = ?", [ended, events[0].trial])
        storage.close()
        return events

    one, _ = run(evaluate_then_jump, evaluate_then_jump)
    one.to_the_end()
    lines = capsys.readouterr().out.splitlines()
    assert [line[:13] for line in lines[1:]] == ["[1/2] trial 0", "[2/2] trial 1"]


def test_trials_that_are_told_together_are_counted_one_by_one(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    one, _ = run(lambda runner: [*evaluate(runner), *evaluate(runner)])
    one.to_the_end()
    lines = capsys.readouterr().out.splitlines()
    assert [line[:13] for line in lines[1:]] == ["[1/2] trial 0", "[2/2] trial 1"]


def test_a_study_that_has_its_trials_starts_nothing(run: Run) -> None:
    first, _ = run(evaluate, evaluate)
    first.to_the_end()
    again, made = run()
    count = len(made)
    assert again.to_the_end().complete
    assert len(made) == count


def test_an_error_of_a_worker_is_the_outcome(run: Run) -> None:
    def fail(runner: ScriptedRunner) -> list[Event]:
        runner.error = "the disk is full"
        return [Event("error", message="the disk is full")]

    one, _ = run(evaluate, fail)
    outcome = one.to_the_end()
    assert (outcome.complete, outcome.error) == (False, "the disk is full")


@pytest.mark.parametrize(
    ("outcome", "code", "said"),
    [
        (RunOutcome(complete=False, interrupted=False, error="the disk is full"), 2, "error: the disk is full"),
        (RunOutcome(complete=False, interrupted=True, error=""), 130, ""),
        (RunOutcome(complete=False, interrupted=False, error=""), 1, "error: the workers ended before the study had"),
    ],
    ids=["error", "interrupted", "incomplete"],
)
def test_a_run_without_all_trials_ends_the_command(
    outcome: RunOutcome, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended:
        outcome.exit_unless_complete()
    assert ended.value.exit_code == code
    assert capsys.readouterr().err.startswith(said)
    RunOutcome(complete=True, interrupted=False, error="").exit_unless_complete()


def test_the_first_interrupt_stops_and_the_second_kills(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    handler = signal.getsignal(signal.SIGINT)
    wait = [lambda _: [Event("began", trial=0)]] * 3
    one, made = run(interrupt(signal.SIGINT), *wait, interrupt(signal.SIGINT), *wait)
    outcome = one.to_the_end()
    assert outcome.interrupted
    assert made[0].said == ["stop", "kill"]
    assert signal.getsignal(signal.SIGINT) is handler
    said = capsys.readouterr().err
    assert said.index("Stopping after the running trials.") < said.rindex("Stopping.")


def test_being_terminated_kills_at_once(run: Run) -> None:
    wait = [lambda _: [Event("began", trial=0)]] * 3
    one, made = run(interrupt(signal.SIGTERM), *wait)
    assert one.to_the_end().interrupted
    assert made[0].said == ["kill"]


@pytest.mark.parametrize("kind", ["warning", "died", "interrupted", "lost"])
def test_what_is_out_of_the_ordinary_is_said(run: Run, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    one, _ = run(lambda _: [Event(kind, trial=3, message="something happened")])  # type: ignore[arg-type]
    one.to_the_end()
    assert capsys.readouterr().err == "warning: trial 3: something happened\n"


def test_the_end_says_what_was_found_and_what_is_next(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    one, _ = run(evaluate)
    one.to_the_end()
    capsys.readouterr()
    one.summarize(" --storage sqlite:///here.db")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1 of 2 trials in 0:0")
    assert lines[1] == "best value 0.25  trial 0"
    assert "everything is stored; the same command again goes on" in lines
    assert lines[-1].startswith("  betabo export tuning --to csv --storage sqlite:///here.db")


@pytest.mark.parametrize(
    ("quiet", "plain", "terminal", "expected"),
    [
        (True, False, True, ProgressStyle.QUIET),
        (True, True, True, ProgressStyle.QUIET),
        (False, True, True, ProgressStyle.PLAIN),
        (False, False, False, ProgressStyle.PLAIN),
        (False, False, True, ProgressStyle.LIVE),
    ],
)
def test_progress_is_shown_as_asked_for(
    quiet: bool, plain: bool, terminal: bool, expected: ProgressStyle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("betabo.cli.run.console", lambda: Console(force_terminal=terminal))
    assert ProgressStyle.choose(quiet=quiet, plain=plain) is expected


def test_a_run_that_ends_before_its_first_trial_says_why(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = run()
    monkeypatch.setattr(one, "_stopped", "the time of 1 s is used up")
    one.summarize("")
    assert "no trial was begun; stopped: the time of 1 s is used up" in capsys.readouterr().out
