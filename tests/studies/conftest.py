from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from betabo.optimizer import Config
from betabo.studies import FunctionObjective, Plan, parse_parameters

SOBOL = Config(starting_points=1000)  # no model, so that tests are quick

OBJECTIVE = """
import json, os, time

def write(**entry):
    file = os.open("journal", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, (json.dumps(entry) + "\\n").encode())
    os.fsync(file)
    os.close(file)

def objective(x, y):
    time.sleep(float(os.environ.get("SLEEP", "0")))
    value = (x - 0.3) ** 2 + y
    write(x=x, y=y, value=value)
    return value
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with an objective in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "train.py").write_text(OBJECTIVE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def make_plan(home: Path) -> Callable[..., Plan]:
    """Plans for the objective in the working directory."""

    def make(**settings: Any) -> Plan:
        defaults: dict[str, Any] = {
            "study": "test",
            "space": parse_parameters(["x=0..1", "y=1e-3..1:log"]),
            "objective": FunctionObjective("train.py:objective"),
            "trials": 5,
            "config": SOBOL,
            "seed": 0,
        }
        return Plan(**{**defaults, **settings})

    return make
