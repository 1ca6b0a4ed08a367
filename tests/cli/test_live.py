from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from rich.console import Console

from betabo.cli.live import Snapshot, column_widths, render
from betabo.optuna.trials import TrialRecord
from betabo.space import Categorical, Fixed, Float, Int, Space

NOW = datetime(2025, 1, 1, 12)
SPACE = Space(
    {
        "learning_rate": Float(1e-5, 1e-1, log=True),
        "momentum": Float(0.0, 0.99),
        "width": Int(8, 128, log=True),
        "a_parameter_with_a_long_name": Float(-1.0, 1.0),
        "act": Categorical(["relu", "a choice with a very long name"]),
        "[bold]": Float(0.0, 1.0),
        "seed": Fixed(7),
    }
)


def trial(number: int, state: str = "complete", value: float = 1.0, **details: object) -> TrialRecord:
    point = SPACE.from_unit([0.1 * (number % 10)] * SPACE.dims)
    assert isinstance(point, dict)
    over = state != "running"
    return replace(
        TrialRecord(
            number,
            state,
            (value,) if state == "complete" else (),
            {name: v for name, v in point.items() if name != "seed"},
            started=NOW - timedelta(seconds=100 - number),
            finished=NOW - timedelta(seconds=99.5 - number) if over else None,
            seconds=0.5 if over else None,
            origin="model",
        ),
        **details,
    )


def snapshot(trials: Sequence[TrialRecord], **details: object) -> Snapshot:
    base = Snapshot(
        study="a-study",
        subtitle="beta-matern",
        directions=("minimize",),
        columns=column_widths(SPACE),
        trials=trials,
        total=50,
        finished_before=0,
        elapsed=20.0,
        working=10.0,
        workers=2,
        note="Ctrl-C stops.",
    )
    return replace(base, **details)


def lines(picture: Snapshot, width: int = 80, height: int = 30) -> list[str]:
    screen = Console(file=io.StringIO(), width=width, height=height, color_system=None)
    screen.print(render(picture, width, height, NOW))
    return screen.file.getvalue().splitlines()


HISTORIES = {
    "nothing": [],
    "running": [trial(0, "running"), trial(1, "running")],
    "few": [trial(0, value=3.14159e-12), trial(1, "failed"), trial(2, "running")],
    "many": [*(trial(n, value=-1.23456789e9 * n) for n in range(48)), trial(48, "interrupted"), trial(49, "running")],
}


@pytest.mark.parametrize("height", [12, 24, 50])
@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_picture_stands_still_and_fits(width: int, height: int) -> None:
    pictures = [lines(snapshot(trials), width, height) for trials in HISTORIES.values()]
    assert len({len(picture) for picture in pictures}) == 1
    assert len(pictures[0]) <= max(height - 1, 15)
    assert max(len(line) for picture in pictures for line in picture) <= width


def test_best_and_its_point_are_shown() -> None:
    trials = [trial(0, value=2.0), trial(1, value=0.5, positions={"width": 1.0}), trial(2, value=1.0)]
    text = "\n".join(lines(snapshot(trials), 120))
    assert "best  0.5  trial 1" in text
    assert f"width={trials[1].parameters['width']}▲" in text
    assert "[bold]=0.1" in text
    assert "1 of 3 proposals of the model on a face" in text


def test_largest_is_best_when_maximizing() -> None:
    text = "\n".join(lines(snapshot([trial(0, value=2.0), trial(1, value=0.5)], directions=("maximize",))))
    assert "best  2  trial 0" in text


def test_several_objectives_show_the_ends_of_the_front() -> None:
    trials = [replace(trial(n), values=values) for n, values in enumerate([(1.0, 5.0), (2.0, 2.0), (3.0, 3.0)])]
    text = "\n".join(lines(snapshot(trials, directions=("minimize", "minimize"))))
    assert "front 2 trials" in text
    assert "1, 5  to  2, 2" in text


def test_running_trials_come_first_with_their_time() -> None:
    rows = lines(snapshot([trial(n) for n in range(5)] + [trial(5, "running")]))
    table = rows[next(n for n, row in enumerate(rows) if row.startswith("trial")) + 2 :]
    assert table[0].split()[:3] == ["5", "running", "1:35"]
    assert [row.split()[0] for row in table[1:6]] == ["4", "3", "2", "1", "0"]


def test_hidden_parameters_are_counted() -> None:
    header = next(row for row in lines(snapshot([])) if row.startswith("trial"))
    shown = [name for name in SPACE.names[:-1] if name[:8] in header]
    assert header.rstrip().endswith(f"+{6 - len(shown)}")
    wide = next(row for row in lines(snapshot([]), 200) if row.startswith("trial"))
    assert "+" not in wide


def test_time_left_comes_from_the_pace_of_this_run() -> None:
    assert snapshot([trial(0, "running")]).seconds_left is None
    assert snapshot([trial(n) for n in range(10)]).seconds_left == pytest.approx(40.0)
    assert snapshot([trial(n) for n in range(10)], finished_before=5).seconds_left == pytest.approx(80.0)
    assert snapshot([trial(n) for n in range(10)], finished_before=10).seconds_left is None
