from __future__ import annotations

import io

import pytest
from rich.console import Console

from betabo.lab.bench.display import Forecast, Lines, Live, duration
from betabo.lab.bench.executor import Failed, Finished, Progressed, Started
from betabo.lab.bench.run import Run


def run(optimizer: str, problem: str, seed: int = 0) -> Run:
    return Run(optimizer, "betabo", {}, problem, seed, budget=10, starting_points=5)


SLOW, QUICK, OTHER = run("slow", "levy-2-face"), run("quick", "levy-2-face"), run("slow", "levy-3-face")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_forecasts_go_by_runs_that_are_alike() -> None:
    clock = Clock()
    slow = [run("slow", "levy-2-face", seed) for seed in range(3)]
    forecast = Forecast([*slow, QUICK, OTHER], workers=2, clock=clock)
    assert forecast.seconds_left() is None
    forecast.note(Started(slow[0]))
    forecast.note(Started(QUICK))
    clock.now = 2.0
    forecast.note(Finished(QUICK, b""))
    forecast.note(Started(slow[1]))
    clock.now = 10.0
    assert forecast.elapsed(slow[1].key) == 8.0
    forecast.note(Finished(slow[0], b""))  # took 10 s; slow[1] has 2 s left, slow[2] and OTHER take 10 s each
    assert forecast.seconds_left() == pytest.approx((2 + 10 + 10) / 2)
    forecast.note(Started(slow[2]))
    forecast.note(Failed(slow[2], "no"))
    forecast.note(Failed(slow[1], "no"))
    assert forecast.seconds_left() == pytest.approx(10 / 1 / 2)
    forecast.note(Started(OTHER))
    assert forecast.seconds_left() == pytest.approx(10)  # one run cannot be shared by two workers


def test_lines_tell_what_ended() -> None:
    lines = []
    display = Lines(lines.append)
    with display.showing([SLOW, QUICK], kept=3, workers=2):
        for event in (
            Started(SLOW),
            Started(QUICK),
            Progressed(SLOW, 3, 1.0),
            Finished(SLOW, b""),
            Failed(QUICK, "no"),
        ):
            display.show(event)
    assert lines[0] == "2 runs to do, 3 done before, 2 at a time"
    assert lines[1].startswith("1/2 slow/levy-2-face/0 done in 0:00:00, ")
    assert lines[2].startswith("2/2 quick/levy-2-face/0 FAILED in 0:00:00, ")
    assert len(lines) == 3


def test_the_table_shows_what_runs_what_is_done_and_what_failed() -> None:
    display = Live()
    display._console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with display.showing([SLOW, QUICK, OTHER], kept=2, workers=2):
        for event in (Started(SLOW), Started(QUICK), Progressed(SLOW, 3, 1.25), Failed(QUICK, "Trace\nOops: [bold]")):
            display.show(event)
        display.show(Started(OTHER))
        screen = Console(file=io.StringIO(), width=100)
        screen.print(display._draw())
        shown = screen.file.getvalue()
    assert "slow on levy-2-face" in shown
    assert "3/10" in shown
    assert "1.25" in shown
    assert "slow on levy-3-face" in shown
    assert "quick" not in shown
    assert "2 of 5 done, 1 failed, about ? left" in shown
    assert "quick/levy-2-face/0 failed: Oops: [bold]" in display._console.file.getvalue()


def test_durations_are_clocks() -> None:
    assert duration(None) == "?"
    assert duration(3671.4) == "1:01:11"
