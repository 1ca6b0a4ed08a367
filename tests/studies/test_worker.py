from __future__ import annotations

import json
import math
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Callable
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import pytest
from optuna.storages import RDBStorage
from optuna.trial import TrialState

from betabo import Config, Space
from betabo.studies import (
    CommandObjective,
    EvaluationFailedError,
    Event,
    FunctionObjective,
    ObjectiveError,
    Plan,
    StudyError,
    Workspace,
    load_study,
    open_storage,
    open_study,
    parse_parameters,
    run_worker,
    trial_rows,
)
from betabo.studies.ledger import Ledger
from betabo.studies.plan import logs_of

MakePlan = Callable[..., Plan]


def journal() -> list[dict[str, float]]:
    path = Path("journal")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def states(plan: Plan) -> Counter[str]:
    books = Ledger(load_study(plan.study, plan.storage).trials)
    return Counter(books.state(trial) for trial in books.trials)


def objective_file(code: str) -> FunctionObjective:
    name = f"job{len(list(Path().glob('job*.py')))}"
    Path(f"{name}.py").write_text(code, encoding="utf-8")
    return FunctionObjective(f"{name}.py:f")


def test_a_worker_reaches_the_total_and_no_more(make_plan: MakePlan) -> None:
    plan = make_plan(trials=4)
    outcome = run_worker(plan)
    assert (outcome.trials, outcome.reason) == (4, "done")
    study = load_study("test", plan.storage)
    stored = [{**trial.params, "value": trial.value} for trial in study.trials]
    assert stored == journal()
    assert run_worker(plan).trials == 0
    assert run_worker(make_plan(trials=6)).trials == 2
    assert len(journal()) == 6


def test_events_tell_the_story(make_plan: MakePlan) -> None:
    events: list[Event] = []
    run_worker(make_plan(trials=2), on_event=events.append)
    assert [event.kind for event in events] == ["ready", "began", "finished", "began", "finished"]
    assert events[2].parameters == events[1].parameters
    assert events[2].values == (journal()[0]["value"],)
    assert events[2].state == "complete"
    assert all(Event.from_line(event.to_line()) == event for event in events)


def test_the_model_takes_over_after_the_starting_points(make_plan: MakePlan) -> None:
    plan = make_plan(trials=7, config=Config(starting_points=5))
    run_worker(plan)
    rows = trial_rows(load_study("test", plan.storage))
    assert [row["origin"] for row in rows] == ["start"] * 5 + ["local", "model"]
    assert rows[-1]["fit"] is not None


def test_a_seed_gives_the_same_trials_also_after_a_break(make_plan: MakePlan) -> None:
    config = Config(starting_points=3)
    run_worker(make_plan(trials=5, config=config))
    whole = journal()
    Path("journal").unlink()
    run_worker(make_plan(study="again", trials=2, config=config))
    run_worker(make_plan(study="again", trials=5, config=config))
    assert journal() == whole


def test_all_kinds_of_parameters_reach_the_objective(make_plan: MakePlan) -> None:
    objective = objective_file("def f(p):\n  print(sorted(p.items())); assert p['c'] == 7; return p['n'] + p['x']")
    space = parse_parameters(["x=0..1:step=0.25", "n=1..8:int:log", "a=u|v", "b=true|false", "c=7"])
    plan = make_plan(objective=objective, space=space, trials=6)
    run_worker(plan)
    for row in trial_rows(load_study("test", plan.storage)):
        assert row["state"] == "complete"
        assert row["value"] == row["n"] + row["x"]
        assert row["x"] in (0, 0.25, 0.5, 0.75, 1)
        assert row["a"] in ("u", "v")
        assert row["b"] in (True, False)
        assert row["c"] == 7


def test_failures_are_kept_and_the_study_goes_on(make_plan: MakePlan) -> None:
    code = "def f(x, y):\n  if x < 0.5: raise RuntimeError('too small')\n  return float('nan') if x > 0.75 else x"
    plan = make_plan(objective=objective_file(code), trials=8)
    run_worker(plan)
    rows = trial_rows(load_study("test", plan.storage))
    assert len(rows) == 8
    for row in rows:
        if row["x"] < 0.5:
            assert (row["state"], row["reason"]) == ("failed", "RuntimeError: too small")
        elif row["x"] > 0.75:
            assert (row["state"], row["reason"]) == ("failed", f"{plan.objective.describe()} returned nan")
        else:
            assert (row["state"], row["value"]) == ("complete", row["x"])


def test_pruned_trials_count(make_plan: MakePlan) -> None:
    plan = make_plan(objective=objective_file("import optuna\ndef f(x, y): raise optuna.TrialPruned"), trials=3)
    run_worker(plan)
    assert states(plan) == {"pruned": 3}


def test_a_clock_that_jumps_makes_no_row_of_failures(make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the clock, the failures are the last trials; by their numbers every other trial has a value."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            failed = Path("calls").exists() and Path("calls").stat().st_size % 2
            return datetime(2030, 1, 1, 20 if failed else 10)

    monkeypatch.setattr("optuna.storages._rdb.storage.datetime", Clock)
    code = "import os\ndef f(x, y):\n  with open('calls', 'a') as calls: calls.write('x')\n"
    code += "  if os.stat('calls').st_size % 2: 1 / 0\n  return x\n"
    plan = make_plan(objective=objective_file(code), config=Config(max_failures=2, starting_points=99), trials=6)
    run_worker(plan)
    assert states(plan) == {"failed": 3, "complete": 3}


def test_too_many_failures_in_a_row_stop_the_study(make_plan: MakePlan) -> None:
    plan = make_plan(objective=objective_file("def f(x, y): 1 / 0"), config=Config(max_failures=3, starting_points=99))
    with pytest.raises(StudyError, match="the last 3 trials failed, the most recent one because ZeroDivisionError"):
        run_worker(plan)
    assert states(plan) == {"failed": 3}
    assert run_worker(make_plan()).trials == 2  # once repaired it goes on


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def f(x, y): return 'good'", "returned the str 'good'"),
        ("def f(x, y): return 1, 2", "gave 2 values, expected 1"),
        ("def f(x): return 1", "cannot be called with the parameters x, y"),
        ("import nowhere_to_be_found", "cannot be imported"),
    ],
    ids=["text", "two", "signature", "import"],
)
def test_a_broken_objective_stops_the_study_and_leaves_nothing(make_plan: MakePlan, code: str, message: str) -> None:
    plan = make_plan(objective=objective_file(code))
    with pytest.raises(ObjectiveError, match=message):
        run_worker(plan)
    if Path("betabo.db").exists():
        assert trial_rows(load_study("test", plan.storage)) == []
    assert run_worker(make_plan()).trials == 5


def test_several_objectives(make_plan: MakePlan) -> None:
    plan = make_plan(
        objective=objective_file("def f(x, y): return x, -y"),
        directions=("minimize", "maximize"),
        trials=5,
        config=Config(starting_points=4),
    )
    run_worker(plan)
    rows = trial_rows(load_study("test", plan.storage))
    assert [(row["values_0"], row["values_1"]) for row in rows] == [(row["x"], -row["y"]) for row in rows]


def test_a_command_is_an_objective(make_plan: MakePlan) -> None:
    plan = make_plan(objective=CommandObjective("echo {x}"), space=parse_parameters(["x=0..1"]), trials=2)
    run_worker(plan)
    assert all(row["value"] == row["x"] for row in trial_rows(load_study("test", plan.storage)))
    assert (logs_of(plan, open_study(plan)) / "trial-00000.log").read_text().strip()


WRITES_ONCE = """
import os, sys
target = os.environ["BETABO_OUTPUT"] + "/r.json"
if "write" in sys.argv:
    open(target, "w").write(sys.argv[1])
"""


def test_a_result_of_another_study_is_no_value(make_plan: MakePlan) -> None:
    Path("job.py").write_text(WRITES_ONCE)
    settings = {"space": parse_parameters(["x=0..1"]), "trials": 1}
    writes, silent = (f"{sys.executable} -S job.py {{x}} {word}" for word in ("write", "nothing"))
    run_worker(make_plan(objective=CommandObjective(writes, "r.json"), **settings))
    other = make_plan(storage="sqlite:///other.db", objective=CommandObjective(silent, "r.json"), **settings)
    with pytest.raises(StudyError, match=r"wrote no .*r\.json"):
        run_worker(other)
    assert not any(trial.values for trial in load_study("test", other.storage).trials)


def test_a_result_of_before_the_storage_was_put_back_is_no_value(make_plan: MakePlan) -> None:
    Path("job.py").write_text(WRITES_ONCE)
    settings = {"space": parse_parameters(["x=0..1"]), "trials": 1}
    writes, silent = (f"{sys.executable} -S job.py {{x}} {word}" for word in ("write", "nothing"))
    plan = make_plan(objective=CommandObjective(writes, "r.json"), **settings)
    home = logs_of(plan, open_study(plan))
    shutil.copy("betabo.db", "copy.db")
    run_worker(plan)
    shutil.copy("copy.db", "betabo.db")
    with pytest.raises(StudyError, match=r"wrote no .*r\.json"):
        run_worker(make_plan(objective=CommandObjective(silent, "r.json"), **settings))
    assert (home / "trial-00000.old-1" / "r.json").exists()


class Noting:
    """An objective that notes something about every trial, and fails at some."""

    def check(self, space: Space) -> None: ...
    def prepare(self, space: Space) -> None: ...
    def to_json(self) -> dict[str, Any]:
        return {"type": "noting"}

    def describe(self) -> str:
        return "noting"

    def __call__(self, parameters: dict[str, Any], workspace: Workspace) -> float:
        workspace.note("size", 2 * parameters["x"])
        workspace.note("seconds", [1, {"a": None}])
        if parameters["x"] > 0.5:
            raise EvaluationFailedError("too large")
        return float(parameters["x"])


def test_what_an_objective_notes_is_stored_with_the_trial(make_plan: MakePlan) -> None:
    plan = make_plan(objective=Noting(), trials=6)
    run_worker(plan)
    study = load_study("test", plan.storage)
    assert {row["state"] for row in trial_rows(study)} == {"complete", "failed"}
    for trial, row in zip(study.trials, trial_rows(study), strict=True):
        assert trial.user_attrs == {"size": 2 * trial.params["x"], "seconds": [1, {"a": None}]}
        assert row["size"] == 2 * row["x"]
        assert row["note_seconds"] == '[1, {"a": null}]'  # the column is taken
        assert isinstance(row["seconds"], float)


def test_a_worker_stops_when_asked(make_plan: MakePlan) -> None:
    stop = threading.Event()
    plan = make_plan()
    outcome = run_worker(plan, stop=stop, on_event=lambda e: stop.set() if e.trial == 1 else None)
    assert (outcome.trials, outcome.reason) == (2, "stopped")
    assert states(plan) == {"complete": 2}


def test_an_interrupt_leaves_the_trial_to_be_repeated(make_plan: MakePlan) -> None:
    Path("flag").touch()
    code = "import os\ndef f(x, y):\n  if os.path.exists('flag'):\n    raise KeyboardInterrupt\n  return x"
    plan = make_plan(objective=objective_file(code), trials=2)
    with pytest.raises(KeyboardInterrupt):
        run_worker(plan)
    Path("flag").unlink()
    run_worker(plan)
    first, second, _ = trial_rows(load_study("test", plan.storage))
    assert (first["state"], first["reason"]) == ("interrupted", "stopped by KeyboardInterrupt")
    assert (second["state"], second["retry_of"], second["x"]) == ("complete", 0, first["x"])
    assert states(plan)["complete"] == 2


def test_trials_in_the_queue_are_run_first(make_plan: MakePlan) -> None:
    plan = make_plan(trials=4)
    study = open_study(plan)
    study.enqueue_trial({"x": 0.125, "y": 0.5}, user_attrs={"who": "me"})
    study.enqueue_trial({"x": 0.25})
    run_worker(plan)
    rows = trial_rows(load_study("test", plan.storage))
    assert len(rows) == 4
    assert (rows[0]["x"], rows[0]["y"], rows[1]["x"]) == (0.125, 0.5, 0.25)
    assert study.trials[2].user_attrs == {"who": "me"}
    assert len(journal()) == 4


def test_a_queue_longer_than_the_total_keeps_its_rest(make_plan: MakePlan) -> None:
    plan = make_plan(trials=2)
    study = open_study(plan)
    for index in range(3):
        study.enqueue_trial({"x": index / 4, "y": 0.5})
    run_worker(plan)
    assert [entry["x"] for entry in journal()] == [0, 0.25]
    assert states(plan)["waiting"] == 1
    run_worker(make_plan(trials=3))
    assert [entry["x"] for entry in journal()] == [0, 0.25, 0.5]


def test_a_dangling_trial_of_another_program_is_not_waited_for(make_plan: MakePlan) -> None:
    plan = make_plan(trials=3)
    open_study(plan).ask()
    assert run_worker(plan).trials == 3


def test_many_threads_reach_the_total_exactly(make_plan: MakePlan) -> None:
    plan = make_plan(trials=10)
    open_study(plan)
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(run_worker(plan).trials)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == 10
    assert len(journal()) == 10
    assert states(plan)["complete"] == 10
    points = {(entry["x"], entry["y"]) for entry in journal()}
    assert len(points) == 10


class Killed(BaseException):
    pass


class Killer:
    """Lets a worker die at one operation of its storage: just before it, or just after it."""

    METHODS = (
        "create_new_trial",
        "_create_new_trial",
        "_set_trial_param",
        "set_trial_system_attr",
        "set_trial_state_values",
    )

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, after: bool) -> None:
        self.count, self.at, self.after, self.armed, self.inside = 0, at, after, True, False
        for name in self.METHODS:
            monkeypatch.setattr(RDBStorage, name, self.deadly(getattr(RDBStorage, name)))

    def deadly(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(storage: RDBStorage, *arguments: Any, **named: Any) -> Any:
            if not self.armed or self.inside:
                return method(storage, *arguments, **named)
            if self.count == self.at + self.after:
                raise Killed
            self.inside = True
            try:
                result = method(storage, *arguments, **named)
            finally:
                self.inside = False
            self.count += 1
            if self.after and self.count == self.at + 1:
                raise Killed
            return result

        return call


def deaths(total: int) -> list[Any]:
    return [
        pytest.param(at, after, id=f"{'after' if after else 'before'}-{at}") for at in range(total) for after in (0, 1)
    ]


@pytest.mark.parametrize(("at", "after"), deaths(7))
def test_a_worker_may_die_at_any_write(
    make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch, at: int, after: bool
) -> None:
    plan = make_plan(trials=2)
    open_study(plan)
    with monkeypatch.context() as patch:
        killer = Killer(patch, at, bool(after))
        with pytest.raises(Killed):
            run_worker(plan)
        killer.armed = False
    monkeypatch.setattr("betabo.studies.recovery.is_alive", lambda record: False)
    run_worker(plan)
    books = Ledger(load_study("test", plan.storage).trials)
    results = [trial for trial in books.trials if books.state(trial) == "complete"]
    assert len(results) == books.finished == 2
    told = [{**trial.params, "value": trial.value} for trial in results]
    assert all(entry in journal() for entry in told)
    assert all(entry in told for entry in journal())  # nothing that was evaluated is lost
    assert len(journal()) <= 3  # and at most one evaluation was repeated
    assert all(trial.state.is_finished() for trial in books.trials)
    assert math.isfinite(load_study("test", plan.storage).best_value)


def test_a_trial_that_another_worker_took_over_is_not_stored_twice(make_plan: MakePlan) -> None:
    plan = make_plan(trials=1)
    events: list[Event] = []

    def take_over(event: Event) -> None:
        events.append(event)
        if event.kind == "began" and event.trial == 0:
            storage = open_storage(plan.storage)
            trial_id = storage.get_trial_id_from_study_id_trial_number(storage.get_study_id_from_name("test"), 0)
            storage.set_trial_system_attr(trial_id, "betabo:interrupted", "presumed dead")
            storage.set_trial_state_values(trial_id, TrialState.FAIL)

    run_worker(plan, on_event=take_over)
    assert [event.kind for event in events] == ["ready", "began", "lost", "began", "finished"]
    assert states(plan) == {"interrupted": 1, "complete": 1}
    assert events[3].parameters == events[1].parameters


def test_parameters_that_exist_only_under_a_choice(make_plan: MakePlan) -> None:
    code = """
def f(m, c, C=None, k=None, d=None):
    assert (C is None) == (k is None) == (m == "tree") != (d is None)
    return (C - 3) ** 2 + (k == "lin") if m == "svm" else 1 + abs(d - 4)
"""
    space = parse_parameters(
        ["m=svm|tree", "C=0..9 when m=svm", "k=lin|rbf when m=svm", "d=1..9:int when m=tree", "c=7"]
    )
    plan = make_plan(space=space, objective=objective_file(code), trials=14, config=Config(starting_points=6))
    run_worker(plan)
    trials = load_study(plan.study, plan.storage).trials
    assert {tuple(trial.params) for trial in trials} == {("m", "C", "k", "c"), ("m", "d", "c")}
    assert min(trial.values[0] for trial in trials) < 0.05
    again = make_plan(space=space, objective=plan.objective, trials=15, config=plan.config)
    assert run_worker(again).trials == 1
    moved = parse_parameters(["m=svm|tree", "C=0..9", "k=lin|rbf when m=svm", "d=1..9:int when m=tree", "c=7"])
    with pytest.raises(StudyError, match=r"has the parameter C=0..9 when m=svm, which is C=0..9 now"):
        open_study(make_plan(space=moved, objective=plan.objective))
