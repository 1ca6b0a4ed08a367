from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from betabo import Problem
from betabo.space import Categorical, Float, Space
from betabo.studies import Plan, StudyError, export, load_study, open_study, parse_parameters, trial_rows
from betabo.studies.worker import run_worker

MakePlan = Callable[..., Plan]

TEXTS = ["x=0..1", "n=1..9:int", "act=relu|gelu", "state=true|false", "mixed='1'|two"]


@pytest.fixture
def study(make_plan: MakePlan) -> optuna.Study:
    """A study with one trial of each fate."""
    Path("train.py").write_text(
        "def objective(p):\n  if p['n'] == 1: raise RuntimeError('one is too few')\n  return p['x'] + p['n']",
        encoding="utf-8",
    )
    plan = make_plan(space=parse_parameters(TEXTS), trials=3)
    opened = open_study(plan)
    for x, n in ((0.25, 3), (0.5, 1), (1.0, 9)):
        opened.enqueue_trial({"x": x, "n": n, "act": "gelu", "state": True, "mixed": "two"})
    run_worker(plan)
    opened.enqueue_trial({"x": 0.5})
    return opened


def test_rows_tell_what_became_of_the_trials(study: optuna.Study) -> None:
    rows = trial_rows(study)
    assert [row["state"] for row in rows] == ["complete", "failed", "complete", "waiting"]
    complete = [row for row in rows if row["state"] == "complete"]
    assert [row["value"] for row in complete] == [3.25, 10.0]
    assert complete[0]["param_state"] is True  # the column is taken
    (failed,) = (row for row in rows if row["state"] == "failed")
    assert failed["reason"] == "RuntimeError: one is too few"
    assert failed["value"] is None
    assert all(row["seconds"] >= 0 and row["worker"] and row["started"] <= row["finished"] for row in complete)
    assert all(list(row) == list(rows[0]) for row in rows)


def test_rows_tell_how_far_the_boundary_is(study: optuna.Study) -> None:
    by_x = {row["x"]: row for row in trial_rows(study) if row["value"] is not None}
    assert by_x[0.25]["boundary_distance"] == pytest.approx(0.5)  # n = 3 is at 0.25 too
    assert by_x[0.25]["on_face"] is False
    assert by_x[1.0]["boundary_distance"] == 0
    assert by_x[1.0]["on_face"] is True


def test_withdrawn_trials_are_hidden(study: optuna.Study) -> None:
    before = len(trial_rows(study))
    study.add_trial(optuna.create_trial(state=TrialState.FAIL, system_attrs={"betabo:withdrawn": "enough"}))
    assert len(trial_rows(study)) == before


def test_a_study_of_optuna_has_rows_too() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(directions=["minimize", "maximize"])
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 2.0), n_trials=2)
    for row in trial_rows(study):
        assert row["values_0"] == row["x"]
        assert row["values_1"] == 2.0
        assert row["on_face"] is False
        assert row["boundary_distance"] == pytest.approx(1 - abs(2 * row["x"] - 1))


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_files_hold_the_rows(study: optuna.Study, kind: Any) -> None:
    rows = trial_rows(study)
    path = Path(f"trials.{kind}")
    path.write_text("old", encoding="utf-8")
    export(study, path, kind)
    read = read_back(path)
    assert [list(row) for row in read] == [list(row) for row in rows]
    for row, expected in zip(read, rows, strict=True):
        assert str(row["number"]) == str(expected["number"])
        assert row["state"] == expected["state"]
        assert row["reason"] in (expected["reason"], "")
        if expected["value"] is not None:
            assert float(row["value"]) == expected["value"]
            assert float(row["x"]) == expected["x"]
            assert row["act"] == "gelu"
    assert {file.name for file in Path().iterdir()} >= {path.name}
    assert not list(Path().glob(".trials*"))


def read_back(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".json":
        loaded: list[dict[str, Any]] = json.loads(path.read_text())
        return loaded
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return list(csv.DictReader(file))
    import pyarrow.parquet

    table: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
    return table


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_a_study_without_trials_makes_a_file_too(make_plan: MakePlan, kind: Any) -> None:
    export(open_study(make_plan()), f"empty.{kind}", kind)
    assert read_back(Path(f"empty.{kind}")) == []


def test_a_file_is_never_half_written(study: optuna.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("trials.json").write_text("old", encoding="utf-8")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(StudyError, match=r"cannot write trials.json: No space left"):
        export(study, "trials.json", "json")
    assert Path("trials.json").read_text() == "old"
    assert not list(Path().glob(".trials*"))


def test_mistakes_are_explained(study: optuna.Study) -> None:
    unknown: Any = "xlsx"
    with pytest.raises(StudyError, match="format is 'xlsx', expected one of parquet, csv, json"):
        export(study, "trials.xlsx", unknown)
    with pytest.raises(StudyError, match=r"cannot write no/such/trials.csv: No such file"):
        export(study, "no/such/trials.csv", "csv")
    assert load_study("test").study_name == "test"


def test_parquet_without_pyarrow_names_the_extra(study: optuna.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'betabo\[tables\]'"):
        export(study, "trials.parquet")
    assert not Path("trials.parquet").exists()


def test_no_cell_of_a_csv_file_is_a_formula(make_plan: MakePlan) -> None:
    formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\nx", "\uff1d1+1"]
    Path("train.py").write_text("def objective(p):\n  raise RuntimeError(p['=act'])", encoding="utf-8")
    space = Space({"=act": Categorical(formulas), "x": Float(-2.0, -1.0)})
    plan = make_plan(space=space, trials=1)
    for text in formulas:
        open_study(plan).enqueue_trial({"=act": text, "x": -1.5})
    run_worker(replace(plan, trials=len(formulas)))
    export(load_study("test"), "trials.csv", format="csv")
    with Path("trials.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert "'=act" in head
    told = [dict(zip(head, row, strict=True)) for row in rows if "withdrawn" not in row]
    assert {row["'=act"] for row in told if row["'=act"]} == {f"'{text}" for text in formulas}
    assert {row["x"] for row in told if row["x"]} == {"-1.5"}  # a number is one
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@", "\t", "\n", "\uff1d"))]


def test_no_cell_of_a_csv_file_controls_a_terminal(make_plan: MakePlan) -> None:
    """A CSV file goes to the terminal, with `--out -` or by `cat`."""
    name, chosen = "act\x1b]52;c;aGk=\x07", "relu\x9d0;title\x9c\rover\ud800"
    Path("train.py").write_text("def objective(p):\n  raise RuntimeError('no\\x1b[2J')", encoding="utf-8")
    run_worker(make_plan(space=Space({name: Categorical([chosen, "\rgelu"])}), trials=3))
    export(load_study("test"), "trials.csv", format="csv")
    content = Path("trials.csv").read_bytes().decode("utf-8").replace("\r\n", "\n")
    assert "act␛]52;c;aGk=␇" in content
    assert "relu\ufffd0;title\ufffd␍over\ufffd" in content
    assert "'␍gelu" in content
    assert "no␛[2J" in content
    assert [sign for sign in content if not sign.isprintable() and sign != "\n"] == []


def test_objectives_with_names_have_columns_of_these(make_plan: MakePlan) -> None:
    Path("train.py").write_text("def objective(x, y):\n  return {'loss': x, 'seconds': y, 'heat': 1}\n")
    space = parse_parameters(["x=0..1", "y=0..1"])
    objectives = {"loss": "minimize", "seconds": "maximize"}
    plan = make_plan(space=space, problem=Problem(space, objectives=objectives, constraints=["heat <= 2"]), trials=2)
    run_worker(plan)
    rows = trial_rows(load_study("test"))
    assert [(row["loss"], row["value_seconds"], row["heat"]) for row in rows] == [(r["x"], r["y"], 1) for r in rows]
    assert all(isinstance(row["seconds"], float) for row in rows)
