from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from betabo.lab.bench import Campaign, run_campaign
from betabo.lab.bench.display import Display
from betabo.lab.bench.optimizers import OPTIMIZERS
from campaign_case import TINY, Here


class Listener(Display):
    def __init__(self) -> None:
        self.events = []

    def show(self, event) -> None:
        self.events.append(event)


@pytest.fixture
def here() -> Here:
    return Here()


@pytest.fixture(scope="session")
def tiny() -> Campaign:
    return TINY


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of a tiny campaign, read by many tests and written by none."""
    folder = tmp_path_factory.mktemp("tiny")
    outcome = run_campaign(TINY, folder, executor=Here())
    assert len(outcome.done) == 12
    return folder


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def failing(monkeypatch) -> Iterator[tuple[str, ...]]:
    """A module with optimizers that fail."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    yield ("failing_optimizers",)
    sys.modules.pop("failing_optimizers", None)
    for name in ("raising", "dying"):
        OPTIMIZERS.pop(name, None)
