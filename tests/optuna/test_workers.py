from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from betabo.optuna.workers import is_alive, this_worker

CODE = (
    "import json; from betabo.optuna.workers import this_worker; print(json.dumps(this_worker()), flush=True); input()"
)


def test_this_process_is_alive() -> None:
    assert this_worker()["pid"] == os.getpid()
    assert is_alive(this_worker()) is True


def test_another_process_is_alive_until_it_ends() -> None:
    process = subprocess.Popen([sys.executable, "-c", CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        record = json.loads(process.stdout.readline())
        assert is_alive(record) is True
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert is_alive(record) is False  # a zombie, which still has its number
    assert is_alive(record) is False


def test_a_number_that_was_given_out_again_is_another_process() -> None:
    assert is_alive({**this_worker(), "started": "12"}) is False


@pytest.mark.parametrize(
    "change", [{"host": "elsewhere"}, {"boot": "another"}, {"pid": None}], ids=["host", "boot", "pid"]
)
def test_other_machines_cannot_be_judged(change: dict[str, Any]) -> None:
    assert is_alive({**this_worker(), **change}) is None


def test_nothing_is_known_without_a_record() -> None:
    assert is_alive({}) is None
