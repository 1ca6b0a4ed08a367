from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from cli.command_case import SPACE, Betabo, one_line

SOBOL = ["--starting-points", "60", "--seed", "0"]


def test_a_study_runs_goes_on_and_is_complete(betabo: Betabo) -> None:
    first = betabo("minimize", "train.py:paraboloid", *SPACE, "--trials", "6", *SOBOL)
    assert first.exit_code == 0, first.output
    assert first.stdout.startswith("study train-paraboloid: train.py:paraboloid\n[1/6] trial 0  ")
    assert len(re.findall(r"^\[\d/6\] trial \d  ", first.stdout, re.MULTILINE)) == 6
    assert "betabo report train-paraboloid" in first.stdout

    second = betabo("minimize", "train.py:paraboloid", *SPACE, "--trials", "9", *SOBOL)
    assert "it goes on after 6 trials" in second.stdout
    assert re.findall(r"^\[(\d)/9\]", second.stdout, re.MULTILINE) == ["7", "8", "9"]

    third = betabo("minimize", "train.py:paraboloid", *SPACE, "--trials", "9", *SOBOL)
    assert third.exit_code == 0
    assert "it has 9 trials already; raise --trials to go on" in third.stdout

    best = json.loads(betabo("best", "train-paraboloid", "--json").stdout)
    rows = json.loads(_exported(betabo, "train-paraboloid"))
    assert len(rows) == 9
    values = {row["number"]: row["value"] for row in rows if row["state"] == "complete"}
    assert best["trial"] == min(values, key=lambda number: values[number])
    x, layers, act = (best["parameters"][name] for name in ("x", "layers", "act"))
    assert best["value"] == pytest.approx((x - 0.25) ** 2 + (8 - layers) / 10 + (act == "relu"))
    shown = third.stdout.split("best value ")[1]
    assert shown.startswith(f"{best['value']:.6g}  trial {best['trial']}\n")


def _exported(betabo: Betabo, study: str) -> str:
    assert betabo("export", study, "--out", "trials.json").exit_code == 0
    return Path("trials.json").read_text()


def test_failed_trials_are_said_and_counted(betabo: Betabo) -> None:
    space = ["--param", "x=0..1", "--param", "layers=3|4", "--param", "act=relu|gelu"]
    result = betabo("minimize", "train.py:paraboloid", *space, "--trials", "6", *SOBOL)
    assert result.exit_code == 0
    failed = len(re.findall(r"trial \d  failed: RuntimeError: three layers do not work  ", result.stdout))
    assert failed > 0
    assert f"6 of 6 trials, {failed} failed" in result.stdout


def test_quiet_says_the_result_alone(betabo: Betabo) -> None:
    result = betabo("minimize", "train.py:paraboloid", *SPACE, "--trials", "3", *SOBOL, "--quiet")
    assert result.exit_code == 0
    assert re.fullmatch(r"3 of 3 trials.*\nbest value \S+  trial \d\n  x .*\n  layers .*\n  act .*\n", result.stdout), (
        result.stdout
    )
    assert result.stderr == ""


def test_maximize_finds_the_largest(betabo: Betabo) -> None:
    betabo("minimize", "train.py:paraboloid", *SPACE, "--trials", "5", *SOBOL, "--maximize", "--quiet")
    best = json.loads(betabo("best", "train-paraboloid", "--json").stdout)
    values = [row["value"] for row in json.loads(_exported(betabo, "train-paraboloid")) if row["value"] is not None]
    assert best["directions"] == ["maximize"]
    assert best["value"] == max(values)


def test_several_objectives_have_a_front(betabo: Betabo) -> None:
    directions = ["--direction", "minimize", "--direction", "maximize"]
    result = betabo("minimize", "train.py:two", *SPACE, "--trials", "6", *SOBOL, *directions)
    assert result.exit_code == 0, result.output
    front = json.loads(betabo("best", "train-two", "--json").stdout)["front"]
    assert f"Pareto front of {len(front)} trials:" in result.stdout
    rows = [(row["values_0"], -row["values_1"]) for row in json.loads(_exported(betabo, "train-two"))]
    beaten = [a for a in rows if any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in rows)]
    assert sorted((t["values"][0], -t["values"][1]) for t in front) == sorted(set(rows) - set(beaten))


def test_parameter_on_a_bound_gets_a_hint(betabo: Betabo) -> None:
    result = betabo("minimize", "train.py:deep", *SPACE, "--trials", "12", *SOBOL)
    assert re.search(r"^  layers  8  on its upper bound$", result.stdout, re.MULTILINE), result.stdout
    assert "layers (upper) sits on a bound: the box may be too small there" in result.stdout


def test_a_target_ends_a_study_and_is_reached_the_next_time_too(betabo: Betabo) -> None:
    command = ["minimize", "train.py:paraboloid", *SPACE, "--trials", "30", *SOBOL, "--target", "0.9"]
    first = betabo(*command)
    assert first.exit_code == 0, first.output
    assert "stopped: the target of 0.9 is reached\n" in first.stdout
    assert "goes on" not in first.stdout
    count = int(re.search(r"(\d+) of 30 trials", first.stdout)[1])  # type: ignore[index]
    assert count < 30
    again = json.loads(betabo(*command, "--json").stdout)
    assert (again["trials"], again["stopped"]) == (count, "the target of 0.9 is reached")


def test_rules_for_stopping_are_refused_before_anything_is_stored(betabo: Betabo) -> None:
    for more, message in (
        (["--timeout", "soon"], "timeout is 'soon', expected seconds > 0"),
        (["--stop", "plato"], "stop is 'plato', expected 'plateau'"),
        (["--target", "1", "--direction", "minimize", "--direction", "minimize"], "there are 2 objectives"),
    ):
        result = betabo("minimize", "train.py:paraboloid", *SPACE, *more)
        assert message in one_line(result)
    assert not Path("betabo.db").exists()


def test_program_with_its_value_on_the_last_line(betabo: Betabo) -> None:
    Path("program.py").write_text("import sys; print('working'); print(float(sys.argv[1]) ** 2)")
    command = "python program.py {x}"
    result = betabo("minimize", "--command", command, "--param", "x=-1..1", "--trials", "3", *SOBOL)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("study program: python program.py {x}\n")
    best = json.loads(betabo("best", "program", "--json").stdout)
    assert best["value"] == pytest.approx(best["parameters"]["x"] ** 2)


def test_space_in_a_file(betabo: Betabo) -> None:
    Path("space.toml").write_text('[parameters]\nx = "0..1"\nlayers = {low = 4, high = 8, int = true}\nact = "gelu"\n')
    result = betabo("minimize", "train.py:paraboloid", "--space", "space.toml", "--trials", "2", *SOBOL, "--quiet")
    assert result.exit_code == 0, result.output
    assert json.loads(betabo("best", "train-paraboloid", "--json").stdout)["parameters"]["act"] == "gelu"


def test_storage_from_the_environment(betabo: Betabo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BETABO_STORAGE", "sqlite:///elsewhere.db")
    assert betabo("minimize", "train.py:paraboloid", *SPACE, "--trials", "1", *SOBOL, "--quiet").exit_code == 0
    assert Path("elsewhere.db").exists()
    assert not Path("betabo.db").exists()


def test_storage_that_was_named_is_part_of_the_next_commands(betabo: Betabo) -> None:
    storage = ["--storage", "sqlite:///my runs.db"]
    result = betabo("minimize", "train.py:paraboloid", *SPACE, "--trials", "1", *SOBOL, *storage)
    assert "betabo report train-paraboloid --storage 'sqlite:///my runs.db'" in result.stdout


def test_another_objective_is_a_warning(betabo: Betabo) -> None:
    betabo("minimize", "train.py:paraboloid", *SPACE, "--trials", "1", *SOBOL, "--study", "s")
    result = betabo(
        "minimize", "--command", "echo 1 {x} {layers} {act}", *SPACE, "--trials", "1", *SOBOL, "--study", "s"
    )
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: the objective was train.py:paraboloid and is echo")


MISTAKES = {
    "nothing": (SPACE, "nothing to minimize; give FILE.py:FUNCTION"),
    "both": (["train.py:paraboloid", "--command", "echo {x}", *SPACE], "both the objective"),
    "no trials": (["train.py:paraboloid", *SPACE, "--trials", "0"], "'--trials': 0 is given, expected at least 1"),
    "no workers": (["train.py:paraboloid", *SPACE, "--workers", "0"], "'--workers': 0 is given, expected at least 1"),
    "no parameters": (["train.py:paraboloid"], "no parameters; give each with --param"),
    "two spaces": (["train.py:paraboloid", *SPACE, "--space", "a.toml"], "both --param and --space"),
    "no such file of parameters": (["train.py:paraboloid", "--space", "a.toml"], "a.toml"),
    "lower above upper": (["train.py:paraboloid", "--param", "x=1..0"], "x: low is 1"),
    "no range": (["train.py:paraboloid", "--param", "x"], "'x' has no '='"),
    "twice": (["train.py:paraboloid", "--param", "x=0..1", "--param", "x=0..2"], "x is given twice"),
    "kernel": (["train.py:paraboloid", *SPACE, "--kernel", "bta"], "kernel is 'bta'"),
    "acquisition": (["train.py:paraboloid", *SPACE, "--acquisition", "ie"], "acquisition is 'ie'"),
    "noise": (["train.py:paraboloid", *SPACE, "--noise", "much"], "noise is 'much'"),
    "starting points": (["train.py:paraboloid", *SPACE, "--starting-points", "0"], "starting_points is 0"),
    "direction": (["train.py:paraboloid", *SPACE, "--direction", "down"], "direction is 'down'"),
    "two directions": (["train.py:paraboloid", *SPACE, "--direction", "minimize", "--maximize"], "both --maximize"),
    "time": (["train.py:paraboloid", *SPACE, "--trial-timeout", "-1"], "timeout is -1"),
    "result of a function": (["train.py:paraboloid", *SPACE, "--result", "a.json"], "--result a.json is for --command"),
    "no colon": (["train.py", *SPACE], "expected FILE.py:FUNCTION"),
    "no file": (["tran.py:paraboloid", *SPACE], "tran.py"),
    "unused parameter": (["--command", "echo {x}", *SPACE], "never uses the parameter layers"),
    "unknown parameter": (["--command", "echo {y}", *SPACE], "{y}"),
    "open quote": (["--command", "echo '{x}", *SPACE], "quot"),
    "storage without a scheme": (["train.py:paraboloid", *SPACE, "--storage", "runs.db"], "sqlite:///runs.db"),
    "storage of another kind": (["train.py:paraboloid", *SPACE, "--storage", "nosql://x/y"], "nosql"),
    "storage in no folder": (["train.py:paraboloid", *SPACE, "--storage", "sqlite:///no/such/a.db"], "no/such"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_one_line_and_leave_nothing_behind(betabo: Betabo, mistake: str) -> None:
    arguments, expected = MISTAKES[mistake]
    assert expected in one_line(betabo("minimize", *arguments))
    assert not Path("betabo.db").exists()


BROKEN = {
    "no such function": (["train.py:nothing", *SPACE], "train.py has no function nothing"),
    "not importable": (["wrong.py:f", *SPACE], "wrong.py"),
    "returns text": (["train.py:text", *SPACE], "the str 'hello'"),
    "too many values": (["train.py:two", *SPACE], "gave 2 values, expected 1"),
    "prints no number": (["--command", "echo done {x} {layers} {act}", *SPACE], "expected a number"),
    "no such program": (["--command", "no-such-program {x} {layers} {act}", *SPACE], "no-such-program"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_objectives_stop_the_study(betabo: Betabo, kind: str) -> None:
    Path("wrong.py").write_text("import no_such_module_anywhere\n")
    arguments, expected = BROKEN[kind]
    assert expected in one_line(betabo("minimize", *arguments, *SOBOL))


def test_changed_space_is_refused_and_nothing_is_changed(betabo: Betabo) -> None:
    betabo("minimize", "train.py:paraboloid", *SPACE, "--trials", "2", *SOBOL)
    before = betabo("show", "train-paraboloid").stdout
    wider = ["--param", "x=0..2", *SPACE[2:]]
    message = one_line(betabo("minimize", "train.py:paraboloid", *wider, "--trials", "3"))
    assert "x=0..1" in message
    assert "x=0..2" in message
    assert betabo("show", "train-paraboloid").stdout == before


@pytest.mark.parametrize("content", [b"not a database at all, but text " * 40, b""], ids=["text", "empty"])
def test_file_of_another_kind_is_kept(betabo: Betabo, content: bytes) -> None:
    Path("betabo.db").write_bytes(content)
    result = betabo("minimize", "train.py:paraboloid", *SPACE, "--trials", "1", *SOBOL)
    if content:
        assert "betabo.db" in one_line(result)
        assert Path("betabo.db").read_bytes() == content
    else:
        assert result.exit_code == 0


def test_database_of_another_program_is_kept(betabo: Betabo) -> None:
    with sqlite3.connect("betabo.db") as connection:
        connection.execute("create table music (title text)")
    connection.close()
    assert "betabo.db" in one_line(betabo("minimize", "train.py:paraboloid", *SPACE))
    with sqlite3.connect("betabo.db") as connection:
        assert connection.execute("select name from sqlite_master").fetchall() == [("music",)]
    connection.close()


def test_read_only_storage(betabo: Betabo) -> None:
    betabo("minimize", "train.py:paraboloid", *SPACE, "--trials", "1", *SOBOL)
    before = Path("betabo.db").read_bytes()
    storage = "sqlite:///file:betabo.db?mode=ro&uri=true"  # holds for root too
    result = betabo("minimize", "train.py:paraboloid", *SPACE, "--trials", "2", *SOBOL, "--storage", storage)
    assert "readonly" in one_line(result)
    assert Path("betabo.db").read_bytes() == before


def test_unreachable_server_never_shows_the_password(betabo: Betabo) -> None:
    pytest.importorskip("psycopg", reason="the driver of PostgreSQL is not installed")
    storage = "postgresql://me:sesame@127.0.0.1:9/studies"
    message = one_line(betabo("minimize", "train.py:paraboloid", *SPACE, "--storage", storage))
    assert "127.0.0.1:9" in message
    assert "sesame" not in message


def test_a_mistake_leaves_no_study_behind(betabo: Betabo) -> None:
    assert "takes x, layers, act, the space has y" in one_line(
        betabo("minimize", "train.py:paraboloid", "--param", "y=0..1", "--trials", "3")
    )
    assert not Path("betabo.db").exists()
    result = betabo("minimize", "train.py:text", *SPACE, "--trials", "3", *SOBOL)
    assert "train.py:text returned the str 'hello'" in one_line(result)
    assert result.stdout == "study train-text: train.py:text\n"
    assert "no studies yet" in betabo("studies").stdout


def test_all_trials_failed_is_a_failure_and_the_corrected_command_starts_anew(betabo: Betabo) -> None:
    space = ["--param", "x=0..1", "--param", "layers=1..8:int", "--param", "act=relu"]
    failed = betabo("minimize", "train.py:broken", *space, "--trials", "2", *SOBOL, "--study", "s")
    assert failed.exit_code == 1
    assert failed.stderr.startswith("error: all 2 trials failed, the last one because RuntimeError: never works;")
    again = betabo("minimize", "train.py:broken", *space, "--trials", "2", *SOBOL, "--study", "s")
    assert again.exit_code == 0  # there was nothing to do
    corrected = betabo("minimize", "train.py:paraboloid", *SPACE, "--trials", "2", *SOBOL, "--study", "s")
    assert corrected.exit_code == 0, corrected.output
    assert "study 's' has another space and not one value; it starts anew." in corrected.stderr
    assert "2 of 2 trials" in corrected.stdout


def test_a_run_of_failures_is_a_failure(betabo: Betabo) -> None:
    result = betabo("minimize", "train.py:broken", *SPACE, "--trials", "12", *SOBOL)
    assert result.exit_code == 1
    assert "error: the last 10 trials failed" in result.stderr


def test_the_process_in_front_imports_no_model() -> None:
    code = (
        "import sys, betabo.cli.run, betabo.studies.plan, betabo.studies.beginning; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
