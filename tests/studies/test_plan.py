from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest

from betabo import Config
from betabo.studies import (
    CommandObjective,
    FunctionObjective,
    Plan,
    StudyError,
    load_study,
    open_storage,
    open_study,
    parse_parameters,
    run_worker,
    study_space,
)
from betabo.studies.stored_plan import PLAN

MakePlan = Callable[..., Plan]


def test_a_plan_is_described_by_json(make_plan: MakePlan) -> None:
    plan = make_plan(directions=["maximize"], logs="logs", config=Config(kernel="beta", noise=0.1))
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trials": 0}, "trials is 0, expected a whole number of at least 1"),
        ({"trials": 2.5}, "trials is 2.5"),
        ({"directions": ["down"]}, "direction is 'down'"),
        ({"directions": []}, "directions is empty"),
        ({"study": " "}, "study's name is ' '"),
    ],
    ids=["none", "fraction", "direction", "directions", "name"],
)
def test_a_plan_that_cannot_be_is_refused(make_plan: MakePlan, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        make_plan(**settings)


def test_an_object_cannot_be_stored(make_plan: MakePlan) -> None:
    with pytest.raises(StudyError, match=r"kernel is .* which cannot be saved"):
        make_plan(config=Config(kernel=lambda dims: None)).to_json()


def test_a_study_keeps_its_plan_without_the_address(make_plan: MakePlan) -> None:
    plan = make_plan()
    open_study(plan)
    study = load_study("test", plan.storage)
    assert study_space(study) == plan.space
    assert set(study.user_attrs["betabo:plan"]) == {"space", "objective", "trials", "directions", "config", "seed"}


def test_a_study_is_resumed_by_name(make_plan: MakePlan) -> None:
    first = open_study(make_plan())
    said: list[str] = []
    assert open_study(make_plan(trials=99), said.append)._study_id == first._study_id
    assert not said


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["x=0..2", "y=1e-3..1:log"], r"has the parameter x=0..1, which is x=0..2 now; use the old space, or another"),
        (["x=0..1", "y=1e-3..1"], r"has the parameter y=0.001..1:log, which is y=0.001..1 now"),
        (["x=0..1"], r"has the parameter y=0.001..1:log, which is missing now"),
        (["x=0..1", "y=1e-3..1:log", "z=a|b"], r"has no parameter z, which is z=a\|b now"),
    ],
    ids=["bound", "scale", "fewer", "more"],
)
def test_a_changed_space_is_refused(make_plan: MakePlan, texts: list[str], message: str) -> None:
    Path("sum.py").write_text("def f(**parameters): return 1.0")
    objective = FunctionObjective("sum.py:f")
    run_worker(make_plan(trials=1, objective=objective))
    before = Path("betabo.db").read_bytes()
    with pytest.raises(StudyError, match=message):
        open_study(make_plan(space=parse_parameters(texts), objective=objective))
    assert Path("betabo.db").read_bytes() == before


def test_the_order_of_parameters_may_change(make_plan: MakePlan) -> None:
    run_worker(make_plan(trials=1))
    assert run_worker(make_plan(trials=2, space=parse_parameters(["y=1e-3..1:log", "x=0..1"]))).trials == 1


def test_the_space_of_a_study_without_trials_may_change(make_plan: MakePlan) -> None:
    open_study(make_plan(trials=9))
    plan = make_plan(space=parse_parameters(["x=0..1", "y=2..3"]))
    open_study(plan)
    assert study_space(load_study("test", plan.storage)) == plan.space


def test_changed_directions_are_refused(make_plan: MakePlan) -> None:
    open_study(make_plan())
    with pytest.raises(StudyError, match="has the directions minimize, not maximize"):
        open_study(make_plan(directions=("maximize",)))


def test_another_objective_or_kernel_is_a_warning(make_plan: MakePlan) -> None:
    run_worker(make_plan(trials=1))
    said: list[str] = []
    changed = make_plan(objective=CommandObjective("echo {x} {y}"), config=Config(kernel="beta", starting_points=1000))
    open_study(changed, said.append)
    assert len(said) == 2
    assert said[0].startswith("the objective was train.py:objective and is echo {x} {y} now")
    assert said[1] == "kernel was beta-additive and is beta now."
    open_study(changed, said.append)
    assert len(said) == 2


def test_a_study_of_optuna_can_be_continued(make_plan: MakePlan) -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(study_name="test", storage=open_storage("sqlite:///betabo.db"))
    study.optimize(
        lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 1e-3, 1, log=True), n_trials=2
    )
    assert run_worker(make_plan(trials=5)).trials == 3
    assert len(study.trials) == 5


def test_no_address_is_stored_anywhere(make_plan: MakePlan) -> None:
    run_worker(make_plan(trials=1))
    with sqlite3.connect("betabo.db") as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    assert "sqlite:///" not in dump


def test_a_study_is_not_created_for_an_objective_that_is_not_there(make_plan: MakePlan) -> None:
    with pytest.raises(StudyError, match=r"there is no file missing\.py"):
        open_study(make_plan(objective=FunctionObjective("missing.py:f")))
    assert not Path("betabo.db").exists()


def test_another_objective_is_asked_for_once_where_somebody_else_made_the_study(
    make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(yes: bool) -> Callable[[str], bool]:
        return lambda about: asked.append(about) is None and yes

    run_worker(make_plan(trials=1))
    open_study(make_plan(objective=CommandObjective("echo {x} {y}")), confirm=answer(False))  # made here
    monkeypatch.setattr("platform.node", lambda: "elsewhere")
    open_study(make_plan(objective=CommandObjective("echo {x} {y}")), confirm=answer(False))  # the same objective
    assert not asked
    with pytest.raises(StudyError, match="'test' was left as it is"):
        open_study(make_plan(), confirm=answer(False))
    for _ in range(2):
        open_study(make_plan(), confirm=answer(True))
        open_study(make_plan(objective=CommandObjective("cat {x} {y}")), confirm=answer(True))
    assert len(asked) == 2
    assert "with the objective echo {x} {y}; the objective now is train.py:objective" in asked[0]


def test_a_study_with_a_hostile_objective_imports_nothing(make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch) -> None:
    run_worker(make_plan(trials=1))
    study = load_study("test", make_plan().storage)
    study.set_user_attr(PLAN, {**study.user_attrs[PLAN], "objective": {"type": "this:X\x1b[2J"}})
    monkeypatch.delitem(sys.modules, "this", raising=False)
    said: list[str] = []
    open_study(make_plan(), said.append)
    assert "this" not in sys.modules
    assert "one of the type 'this:X" in said[0]
    assert "\x1b" not in said[0]
