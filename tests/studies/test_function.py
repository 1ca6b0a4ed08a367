from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from optuna.exceptions import TrialPruned

from betabo.studies import (
    EvaluationFailedError,
    FunctionObjective,
    ObjectiveError,
    StudyError,
    Workspace,
    objective_from_json,
    parse_parameters,
)

SPACE = parse_parameters(["x=0..1", "n=1..9:int"])
POINT = {"x": 0.5, "n": 3}

SOURCE = """
from helper import double

def by_name(x, n): return x + n
def with_default(x, n, scale=10): return scale * x
def with_rest(**parameters): return parameters["x"]
def as_dict(parameters): return parameters["x"] + parameters["n"]
def as_dict_with_default(p, verbose=False): return p["n"]
def positional_only(p, /): return p["n"]
def too_few(x): return x
def too_many(x, n, z): return x
def several(x, n): return x, n
def text(x, n): return "0.5"
def nothing(x, n): pass
def nan(x, n): return float("nan")
def helped(x, n): return double(x)
def fails(x, n): raise RuntimeError("no\\nmemory")
def leaves(x, n): raise SystemExit(3)
def prunes(x, n):
    import optuna
    raise optuna.TrialPruned("hopeless")
def no_dict(z): return z - 1
def changes(parameters):
    parameters.clear()
    return 1.0
def slow(x, n):
    import time
    try:
        time.sleep(60)
    except Exception:
        time.sleep(60)

class Model:
    @staticmethod
    def score(x, n): return n

constant = 7
"""


@pytest.fixture(autouse=True)
def _source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    (tmp_path / "job.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "helper.py").write_text("def double(x): return 2 * x", encoding="utf-8")


def call(name: str, **settings: Any) -> float | tuple[float, ...]:
    objective = FunctionObjective(name if ":" in name else f"job.py:{name}", **settings)
    objective.check(SPACE)
    objective.prepare(SPACE)
    return objective(dict(POINT), Workspace.of(Path("logs/study"), 0))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("by_name", 3.5),
        ("with_default", 5.0),
        ("with_rest", 0.5),
        ("as_dict", 3.5),
        ("as_dict_with_default", 3.0),
        ("positional_only", 3.0),
        ("several", (0.5, 3.0)),
        ("helped", 1.0),
        ("Model.score", 3.0),
        ("changes", 1.0),
        ("job:by_name", 3.5),
    ],
)
def test_functions_are_called_as_their_signature_says(name: str, value: Any) -> None:
    assert call(name) == value


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("too_few", r"too_few\(x\) cannot be called with the parameters x, n"),
        ("too_many", "missing a required argument: 'z'"),
        ("absent", "job.py has no function absent; it has by_name"),
        ("no_dict", r"no_dict takes one argument, was given a dict of the parameters x, n, .*Name the parameters"),
        ("constant", "is a int, expected a function"),
        ("text", "returned the str '0.5'; expected a number"),
        ("nothing", "returned None; expected a number"),
        ("gone.py:objective", "there is no file gone.py"),
        ("gone.module:objective", "No module named 'gone'"),
    ],
)
def test_a_broken_function_is_explained_in_one_line(name: str, message: str) -> None:
    with pytest.raises(ObjectiveError, match=message) as caught:
        call(name)
    assert "\n" not in str(caught.value)


def test_an_import_that_fails_names_the_line(tmp_path: Path) -> None:
    text = "x = 1\nimport nowhere_to_be_found\ndef objective(x, n): return 1\n"
    (tmp_path / "broken.py").write_text(text, encoding="utf-8")
    with pytest.raises(ObjectiveError, match=r"No module named 'nowhere_to_be_found' \(line 2 of broken.py\)"):
        call("broken.py:objective")


def test_a_file_with_the_name_of_a_module_is_still_found(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("def objective(x, n): return 42", encoding="utf-8")
    assert call("json.py:objective") == 42
    assert json.loads("1") == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [("fails", "RuntimeError: no memory"), ("leaves", "SystemExit: 3"), ("nan", "job.py:nan returned nan")],
)
def test_a_failure_at_a_point_is_not_the_functions_fault(name: str, reason: str) -> None:
    with pytest.raises(EvaluationFailedError, match=f"^{reason}$"):
        call(name)


def test_pruning_is_passed_on() -> None:
    with pytest.raises(TrialPruned, match="hopeless"):
        call("prunes")


def test_a_function_that_takes_too_long_is_interrupted() -> None:
    with pytest.raises(EvaluationFailedError, match=r"longer than the limit of 0.1 s"):
        call("slow", timeout=0.1)


@pytest.mark.parametrize("target", ["train.py", "objective", ":f", "train.py:", "train.py:two words", ""])
def test_a_target_has_a_place_and_a_name(target: str) -> None:
    with pytest.raises(StudyError, match=r"expected FILE.py:FUNCTION"):
        FunctionObjective(target)


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), "3"])
def test_a_time_limit_is_positive(timeout: Any) -> None:
    with pytest.raises(StudyError, match="expected a number of seconds > 0"):
        FunctionObjective("a.py:f", timeout)


def test_a_function_is_described_by_json() -> None:
    objective = FunctionObjective("job.py:by_name", timeout=3)
    assert objective_from_json(json.loads(json.dumps(objective.to_json()))) == objective
    assert objective.describe() == "job.py:by_name"
