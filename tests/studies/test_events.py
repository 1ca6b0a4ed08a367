"""What workers tell, as lines of JSON and back."""

from __future__ import annotations

import json

import pytest

from betabo.studies import Event


@pytest.mark.parametrize(
    "event",
    [
        Event("ready"),
        Event("began", 2, trial=0, parameters={"x": 0.1, "act": "gelu"}),
        Event("finished", 1, trial=3, state="complete", values=(1.0, -2.5), seconds=0.5),
        Event("warning", message="first line\nsecond line"),
    ],
    ids=lambda event: event.kind,
)
def test_an_event_returns_from_its_line(event: Event) -> None:
    assert "\n" not in event.to_line()
    assert Event.from_line(event.to_line()) == event


def test_what_is_empty_is_left_out() -> None:
    assert json.loads(Event("ready", worker=1).to_line()) == {"event": "ready", "worker": 1}


def test_trial_0_and_0_seconds_are_not_empty() -> None:
    assert json.loads(Event("lost", trial=0, seconds=0.0).to_line()) == {
        "event": "lost",
        "worker": 0,
        "trial": 0,
        "seconds": 0.0,
    }


def test_an_unknown_event_is_refused() -> None:
    with pytest.raises(ValueError, match="event is 'exploded', expected one of "):
        Event.from_line('{"event": "exploded"}')
