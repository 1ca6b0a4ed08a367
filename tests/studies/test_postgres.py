"""Studies on a real PostgreSQL server."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import TrialState

from betabo import Config
from betabo.optuna.attributes import WORKER
from betabo.studies import Event, Plan, Runner, StudyError, list_studies, load_study, open_storage, run_worker
from betabo.studies.ledger import Ledger

pytestmark = pytest.mark.slow
MakePlan = Callable[..., Plan]


class Server:
    """A PostgreSQL server of its own that can be stopped and started."""

    def __init__(self, folder: str) -> None:
        import pgserver

        self._server: Any = pgserver.get_server(folder, cleanup_mode="delete")
        self.url: str = self._server.get_uri()

    def stop(self) -> None:
        from pgserver import pg_ctl

        pg_ctl(["-w", "-m", "fast", "stop"], pgdata=self._server.pgdata, user=self._server.system_user)

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def cut_connections(self) -> int:
        """Cut the connections of all others to the database; returns how many there were."""
        import psycopg

        cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname IS NOT NULL AND pid <> "
        try:
            with psycopg.connect(self.url, autocommit=True) as connection:
                return int(connection.execute(f"{cut} pg_backend_pid()").fetchone()[0])
        except psycopg.OperationalError:  # it cuts itself short when there are two of it
            return 0

    def end(self) -> None:
        self._server.cleanup()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    pytest.importorskip("pgserver", reason="needs pgserver, which brings PostgreSQL", exc_type=ImportError)
    pytest.importorskip("psycopg", reason="needs psycopg", exc_type=ImportError)
    folder = tempfile.mkdtemp(prefix="betabo-postgres-")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            started = Server(folder)
        except Exception as error:
            pytest.skip(f"PostgreSQL does not start: {error}")
        yield started
        started.end()
    shutil.rmtree(folder, ignore_errors=True)


HANGS_ONCE = """
import os, time

def objective(x, y):
    with open("journal", "a") as file:
        file.write(f"{x} {y}\\n")
    if len(open("journal").readlines()) > 6:
        try:
            with open("victim", "x") as file:
                file.write(str(os.getpid()))
            time.sleep(600)
        except FileExistsError:
            pass
    time.sleep(0.2)
    return x + y
"""


def drain(runner: Runner, meanwhile: Callable[[], None]) -> list[Event]:
    events: list[Event] = []
    running = True
    while running:
        running = runner.alive
        events += runner.poll()
        meanwhile()
        running = running or runner.alive
        time.sleep(0.02)
    return events


def test_four_workers_share_a_study_and_one_of_them_is_killed(make_plan: MakePlan, server: Server) -> None:
    total = 24
    plan = make_plan(study="shared", storage=server.url, trials=total, config=Config(starting_points=total - 4))
    Path("train.py").write_text(HANGS_ONCE, encoding="utf-8")
    victim = Path("victim")
    killed: list[int] = []

    def kill_the_victim() -> None:
        if not killed and victim.exists() and victim.read_text():
            killed.append(int(victim.read_text()))
            os.kill(killed[0], signal.SIGKILL)

    with Runner(plan, workers=4) as runner:
        runner.start()
        events = drain(runner, kill_the_victim)
        assert not runner.error
    books = Ledger(load_study("shared", server.url).trials)
    complete = [trial for trial in books.trials if books.state(trial) == "complete"]
    assert len(complete) == books.finished == total
    assert len({(trial.params["x"], trial.params["y"]) for trial in complete}) == total
    assert all(trial.value == trial.params["x"] + trial.params["y"] for trial in complete)
    assert len({trial.system_attrs[WORKER]["pid"] for trial in complete}) > 1
    (interrupted,) = (trial for trial in books.trials if books.state(trial) == "interrupted")
    assert interrupted.system_attrs[WORKER]["pid"] == killed[0]
    assert [trial.number for trial in complete if trial.params == interrupted.params]
    assert sum(event.kind == "died" for event in events) == 1
    evaluated = Counter(Path("journal").read_text().splitlines())
    assert evaluated.total() == total + 1  # the interrupted point twice, all others once
    assert all(trial.state.is_finished() for trial in books.trials)
    assert [info.trials for info in list_studies(server.url) if info.name == "shared"] == [total]


def test_many_threads_reach_the_total_exactly(make_plan: MakePlan, server: Server) -> None:
    plan = make_plan(study="threads", storage=server.url, trials=12)
    threads = [threading.Thread(target=run_worker, args=(plan,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    books = Ledger(load_study("threads", server.url).trials)
    assert books.finished == 12
    assert len(Path("journal").read_text().splitlines()) == 12


def test_a_server_that_is_gone_for_a_while_is_waited_for(make_plan: MakePlan, server: Server) -> None:
    plan = make_plan(study="outage", storage=server.url, trials=4)
    events: list[Event] = []
    timers: list[threading.Timer] = []

    def pull_the_plug(event: Event) -> None:
        events.append(event)
        if event.kind == "began" and event.trial == 1:
            server.stop()
            timers.append(threading.Timer(2, server.start))
            timers[0].start()

    run_worker(plan, on_event=pull_the_plug)
    timers[0].join()
    assert [event.kind for event in events if event.kind in ("finished", "lost")] == ["finished"] * 4
    assert any("cannot be used" in event.message and "Trying again" in event.message for event in events)
    trials = load_study("outage", server.url).trials
    assert [trial.state for trial in trials] == [TrialState.COMPLETE] * 4


def test_a_server_that_stays_away_ends_the_worker_with_one_line(
    make_plan: MakePlan, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("betabo.studies.database_errors.PATIENCE", 1.0)
    plan = make_plan(study="gone", storage=server.url, trials=3)

    def pull_the_plug(event: Event) -> None:
        if event.kind == "began" and event.trial == 1:
            server.stop()

    try:
        with pytest.raises(
            StudyError, match=r"trial 1 ended \(.*\) and could not be stored: the storage .* cannot be used"
        ):
            run_worker(plan, on_event=pull_the_plug)
    finally:
        server.start()
    monkeypatch.setattr("betabo.studies.recovery.is_alive", lambda record: False)
    run_worker(plan)  # which repeats the trial
    assert Ledger(load_study("gone", server.url).trials).finished == 3


JOURNAL = """
import json, os, random, time

def objective(x, y):
    time.sleep(0.05)
    value = (x - 0.3) ** 2 + y
    file = os.open("journal", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, (json.dumps({"x": x, "y": y, "value": value}) + "\\n").encode())
    os.close(file)
    return value
"""


def check_against_the_journal(plan: Plan) -> None:
    """Every trial is stored once, with the value of its own evaluation, and no evaluation is lost."""
    books = Ledger(load_study(plan.study, plan.storage).trials)
    counted = [trial for trial in books.trials if books.state(trial) in ("complete", "failed", "pruned")]
    assert [trial.state for trial in counted] == [TrialState.COMPLETE] * plan.trials
    assert all(trial.state.is_finished() for trial in books.trials)
    stored = Counter(json.dumps({**trial.params, "value": trial.value}) for trial in counted)
    evaluated = Counter(json.dumps(json.loads(line)) for line in Path("journal").read_text().splitlines())
    assert set(stored.values()) == {1}
    assert set(stored) == set(evaluated)
    assert evaluated.total() <= plan.trials + sum(books.state(trial) == "interrupted" for trial in books.trials)


def test_connections_that_are_cut_again_and_again_lose_nothing(make_plan: MakePlan, server: Server) -> None:
    """Every connection of four workers is cut every 0.05 to 0.5 seconds, from their start to their end.

    On a busy machine, where nobody would get anywhere in that time, the pauses are as long as a few connections take.
    """
    plan = make_plan(study="cut", storage=server.url, trials=40, config=Config(starting_points=37))
    Path("train.py").write_text(JOURNAL, encoding="utf-8")
    over, cuts = threading.Event(), []
    chance = random.Random(0)

    def cut() -> None:
        took = 0.0
        while not over.wait(chance.uniform(0.05, 0.5) + took * chance.uniform(0, 20)):
            began = time.monotonic()
            cuts.append(server.cut_connections())
            took = time.monotonic() - began

    knife = threading.Thread(target=cut)
    knife.start()
    try:
        with Runner(plan, workers=4) as runner:
            runner.start()
            drain(runner, lambda: None)
            assert not runner.error
    finally:
        over.set()
        knife.join()
    assert sum(cuts) > 10  # they did hit
    check_against_the_journal(plan)


def test_an_outage_of_twenty_seconds_and_a_restart_are_outlasted(make_plan: MakePlan, server: Server) -> None:
    """A worker that dies in the meantime, and another one that begins, wait as well."""
    plan = make_plan(study="away", storage=server.url, trials=30, config=Config(starting_points=30))
    Path("train.py").write_text(JOURNAL, encoding="utf-8")
    done: list[str] = []
    began = 0.0

    def outages() -> None:
        nonlocal began
        finished = len(Path("journal").read_text().splitlines()) if Path("journal").exists() else 0
        if not done and finished >= 6:
            server.stop()
            began = time.monotonic()
            done.append("stopped")
            os.kill(runner.processes[0], signal.SIGKILL)
        elif done == ["stopped"] and time.monotonic() - began > 20:
            server.start()
            done.append("started")
        elif done == ["stopped", "started"] and finished >= 20:
            server.stop()
            server.start()
            done.append("restarted")

    with Runner(plan, workers=4) as runner:
        runner.start()
        events = drain(runner, outages)
        assert not runner.error
    assert done == ["stopped", "started", "restarted"]
    said = [event.message for event in events if event.kind == "warning"]
    assert any("cannot be used" in line and "Trying again for 90 s" in line for line in said)
    assert any(line.startswith("the storage answers again after") for line in said)
    assert sum(event.kind == "died" for event in events) == 1
    check_against_the_journal(plan)


def test_an_address_where_no_server_is_is_told_at_once_to_a_person(server: Server) -> None:
    began = time.monotonic()
    with pytest.raises(StudyError, match="cannot be used"):
        list_studies("postgresql://ann@127.0.0.1:9/studies")
    assert time.monotonic() - began < 30


def test_a_wrong_role_or_database_is_explained(server: Server) -> None:
    host = server.url.partition("?")[2]
    with pytest.raises(StudyError, match='database "nowhere" does not exist; check the address'):
        open_storage(f"postgresql://postgres:s3cr3t@/nowhere?{host}")
    with pytest.raises(StudyError, match='role "stranger" does not exist') as caught:
        open_storage(f"postgresql://stranger:s3cr3t@/postgres?{host}")
    assert "s3cr3t" not in str(caught.value)
