"""Studies that are killed again and again, at random moments, and still end as if nothing had happened."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import TrialState

from betabo import Config
from betabo.studies import FunctionObjective, Plan, load_study, parse_parameters, run_worker
from betabo.studies.ledger import Ledger

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")]

OBJECTIVE = """
import json, os, time

def objective(x, y):
    time.sleep(0.05)
    value = (x - 0.3) ** 2 + y
    file = os.open(os.path.join(os.path.dirname(__file__), "journal"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, (json.dumps({"x": x, "y": y, "value": value}) + "\\n").encode())
    os.fsync(file)
    os.close(file)
    time.sleep(0.05)
    return value
"""


def make_plan(folder: Path, trials: int, model_steps: int) -> Plan:
    (folder / "train.py").write_text(OBJECTIVE, encoding="utf-8")
    return Plan(
        study="killed",
        storage=f"sqlite:///{folder}/studies.db",
        space=parse_parameters(["x=0..1", "y=1e-3..1:log"]),
        objective=FunctionObjective(f"{folder}/train.py:objective"),
        trials=trials,
        config=Config(starting_points=trials - model_steps),
        logs=folder / "logs",
        seed=0,
    )


def check(plan: Plan, folder: Path, kills: int) -> None:
    """The study is complete, and agrees with the journal that the objective kept."""
    books = Ledger(load_study(plan.study, plan.storage).trials)
    counted = [trial for trial in books.trials if books.state(trial) in ("complete", "failed", "pruned")]
    stored = [{**trial.params, "value": trial.value} for trial in counted]
    journal = [json.loads(line) for line in (folder / "journal").read_text().splitlines()]
    assert any(books.state(trial) == "interrupted" for trial in books.trials)  # the kills did hit
    assert len(counted) == plan.trials
    assert all(trial.state == TrialState.COMPLETE for trial in counted)
    assert all(trial.state.is_finished() for trial in books.trials)
    assert [trial.number for trial in books.trials] == list(range(len(books.trials)))
    in_study, in_journal = (Counter(map(json.dumps, entries)) for entries in (stored, journal))
    assert set(in_study) == set(in_journal)  # every value is the objective's, and none of its values is lost
    assert set(in_study.values()) == {1}  # nothing is stored twice
    assert in_journal.total() <= plan.trials + kills  # a kill repeats at most one evaluation
    assert load_study(plan.study, plan.storage).best_value == min(entry["value"] for entry in journal)


def seconds_to_the_next_trial(context: Any, plan: Plan, folder: Path) -> float:
    """How long a worker takes here from its start to the end of a trial, once what it imports is loaded."""
    journal, seconds = folder / "journal", 0.0
    for _ in range(2):
        before = journal.read_text() if journal.exists() else ""
        began = time.monotonic()
        worker = context.Process(target=run_worker, args=(plan,))
        worker.start()
        while not journal.exists() or journal.read_text() == before:
            assert worker.is_alive()
            time.sleep(0.01)
        seconds = time.monotonic() - began
        os.kill(worker.pid, signal.SIGKILL)
        worker.join()
    return seconds


def test_fifty_kills_of_two_workers(tmp_path: Path) -> None:
    kills, chance = 50, random.Random(0)
    plan = make_plan(tmp_path, trials=70, model_steps=3)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["betabo.studies.worker"])
    pause = max(0.4, seconds_to_the_next_trial(context, plan, tmp_path))  # at random, but not before they do anything
    workers: list[Any] = []
    done = 0
    while done < kills:
        workers = [worker for worker in workers if worker.is_alive()]
        while len(workers) < 2:
            workers.append(context.Process(target=run_worker, args=(plan,)))
            workers[-1].start()
        time.sleep(chance.expovariate(1 / pause))
        for victim in chance.sample(workers, chance.choice([1, 1, 2])):
            if victim.is_alive():
                os.kill(victim.pid, signal.SIGKILL)
                done += 1
        for worker in workers:
            worker.join(0.01)
    for worker in workers:
        worker.join()
    assert run_worker(plan).reason == "done"
    check(plan, tmp_path, done + 2)


COMMAND = (
    "import json, sys; from betabo.studies import *; run_study(Plan.from_json(json.load(open(sys.argv[1]))), workers=2)"
)


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def test_kills_of_the_command_and_of_its_workers(tmp_path: Path) -> None:
    """The command with its worker processes; `BETABO_KILLS` sets how often it is killed."""
    kills, chance = int(os.environ.get("BETABO_KILLS", "9")), random.Random(1)
    plan = make_plan(tmp_path, trials=3 * kills + 20, model_steps=3)
    (tmp_path / "plan.json").write_text(json.dumps(plan.to_json()), encoding="utf-8")
    arguments = [sys.executable, "-c", COMMAND, str(tmp_path / "plan.json")]
    done = evaluated = 0
    journal = tmp_path / "journal"
    command = subprocess.Popen(arguments)
    while done < kills and command.poll() is None:
        # Once something has been evaluated since the last kill, so that the kills do not all hit the start.
        size = journal.stat().st_size if journal.exists() else 0
        if size <= evaluated:
            time.sleep(0.02)
            continue
        time.sleep(chance.uniform(0, 0.7))
        evaluated = journal.stat().st_size
        parent, workers = command.pid, children(command.pid)
        victims = {"parent": [parent], "worker": workers[:1], "all": [parent, *workers]}[
            ("parent", "worker", "all")[done % 3]
        ]
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        done += 1
        if parent in victims:
            command.wait()
            command = subprocess.Popen(arguments)
    assert done == kills
    assert command.wait() == 0
    check(plan, tmp_path, 2 * kills)
