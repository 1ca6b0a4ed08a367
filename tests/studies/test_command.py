from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betabo import Float, Problem, Profile, Space
from betabo.optuna import VARIANCE
from betabo.studies import (
    CommandObjective,
    EvaluationFailedError,
    ObjectiveError,
    StudyError,
    Workspace,
    objective_from_json,
    parse_parameters,
)
from betabo.studies.values import read_numbers
from waiting import wait_for

SPACE = parse_parameters(["x=0..1", "mode=a|b"])
PYTHON = sys.executable


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.chdir(tmp_path)
    return Workspace.of(Path("logs/study"), 12)


def script(code: str) -> str:
    """A template that runs Python code with the arguments x and mode."""
    Path("script.py").write_text(code, encoding="utf-8")
    return f"{PYTHON} -S script.py {{x}} {{mode}}"


def run(template: str, workspace: Workspace, **settings: Any) -> float | tuple[float, ...]:
    objective = CommandObjective(template, **settings)
    objective.check(SPACE)
    return objective({"x": 0.25, "mode": "a"}, workspace)


def test_the_last_line_is_the_value(workspace: Workspace) -> None:
    code = "import sys; print('loss'); print(sys.argv[1]); print(); print('done', file=sys.stderr)"
    assert run(script(code), workspace) == 0.25
    assert set(workspace.log.read_text().split()) == {"loss", "0.25", "done"}


def test_output_without_newlines_takes_little_memory(workspace: Workspace) -> None:
    code = "for _ in range(200): print('\\r' + 'x' * 99_999, end='')\nprint()\nprint(0.5)"
    tracemalloc.start()
    try:
        assert run(script(code), workspace) == 0.5
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2e6  # of 20 MB
    assert workspace.log.stat().st_size == 200 * 100_000 + len("\n0.5\n")


def test_a_last_line_too_long_to_be_kept_is_no_value(workspace: Workspace) -> None:
    with pytest.raises(ObjectiveError, match=r"the command's last line is '\.\.\.000"):
        run(script("print('1.' + '0' * 200_000)"), workspace)


def test_logs_are_the_users_alone(workspace: Workspace) -> None:
    run(script("print('secret'); print(1)"), workspace)
    assert stat.S_IMODE(workspace.log.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("line", ["1 2.5", "1,2.5", "1, 2.5"])
def test_a_line_may_have_several_values(workspace: Workspace, line: str) -> None:
    assert run(script(f"print('{line}')"), workspace) == (1.0, 2.5)


@pytest.mark.parametrize(
    ("content", "value"),
    [("3.5", 3.5), ('{"value": 2, "other": "x"}', 2.0), ("[1, 2]", (1, 2)), ('{"values": [4]}', 4)],
)
def test_a_file_has_the_value(workspace: Workspace, content: str, value: Any) -> None:
    code = f"import os; open(os.environ['BETABO_OUTPUT'] + '/result.json', 'w').write('{content}')"
    found = run(script(code), workspace, result="result.json")
    expected = value if isinstance(value, tuple) else (value,)
    objectives = {f"value_{i}": "minimize" for i in range(len(expected))} if len(expected) > 1 else "minimize"
    assert read_numbers(found, Problem(SPACE, objectives=objectives), "it") == (expected, {})
    assert workspace.folder.joinpath("result.json").read_text() == content


def test_the_folder_and_the_number_go_into_the_command(workspace: Workspace) -> None:
    code = "import sys, json; json.dump({'value': int(sys.argv[3])}, open(sys.argv[4] + '/r.json', 'w'))"
    assert run(script(code) + " {trial} {output}", workspace, result="r.json") == 12


def test_the_last_line_may_be_json_with_numbers_by_name(workspace: Workspace) -> None:
    code = "print('working'); print('{\"loss\": 0.5, \"heat\": 70}')"
    found = run(script(code), workspace)
    problem = Problem(SPACE, objectives={"loss": "minimize"}, constraints={"heat": "<= 80"})
    assert read_numbers(found, problem, "it") == ((0.5,), {"heat": 70.0})


def test_a_result_file_of_before_is_no_result(workspace: Workspace, tmp_path: Path) -> None:
    shared = tmp_path / "r.json"
    shared.write_text("1")
    with pytest.raises(ObjectiveError, match=r"left .*r\.json as it was before it started, which is no result"):
        run(script(""), workspace, result=str(shared))
    assert run(script(f"open({str(shared)!r}, 'w').write('1')"), workspace, result=str(shared)) == 1


@pytest.mark.parametrize(
    ("code", "settings", "message"),
    [
        ("", {}, "printed nothing; expected a number on the last line"),
        ("print('loss: 3')", {}, "last line is 'loss: 3'; expected a number"),
        ("print(3)", {"result": "r.json"}, r"wrote no .*r.json; write r.json to the folder \{output\}"),
        ("import os; open(os.environ['BETABO_OUTPUT'] + '/r.json', 'w').write('{')", {"result": "r.json"}, "as JSON"),
    ],
    ids=["nothing", "words", "no-file", "no-json"],
)
def test_a_program_without_a_number_stops_the_study(
    workspace: Workspace, code: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ObjectiveError, match=message):
        run(script(code), workspace, **settings)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import sys; print('out of memory', file=sys.stderr); sys.exit(3)", "exit code 3: out of memory"),
        ("import sys; sys.exit(1)", "exit code 1: it printed nothing"),
        ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL: it printed nothing"),
        ("print('nan')", "the command printed nan"),
    ],
    ids=["message", "silent", "killed", "nan"],
)
def test_a_program_that_fails_fails_the_trial(workspace: Workspace, code: str, reason: str) -> None:
    with pytest.raises(EvaluationFailedError, match=f"^{reason}$"):
        run(script(code), workspace)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_the_time_limit_kills_the_whole_group(workspace: Workspace) -> None:
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(3600)'])\n"
        "print(child.pid, flush=True); time.sleep(3600)"
    )
    with pytest.raises(EvaluationFailedError, match="limit of 1 s"):
        run(script(code), workspace, timeout=1)
    child = int(workspace.log.read_text())
    wait_for(lambda: not is_running(child))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")
def test_the_program_dies_with_its_worker(workspace: Workspace) -> None:
    worker = (
        "from pathlib import Path; from betabo.studies import CommandObjective, Workspace\n"
        f"CommandObjective({script('import os, time; print(os.getpid(), flush=True); time.sleep(3600)')!r})"
        "({'x': 1, 'mode': 'a'}, Workspace.of(Path('logs/study'), 12))"
    )
    process = subprocess.Popen([PYTHON, "-c", worker])
    wait_for(lambda: workspace.log.exists() and workspace.log.read_text().strip())
    program = int(workspace.log.read_text())
    assert is_running(program)
    process.kill()
    process.wait()
    wait_for(lambda: not is_running(program))


def test_no_shell_sees_a_value(workspace: Workspace) -> None:
    objective = CommandObjective(
        f"{PYTHON} -S -c 'import sys; print(len(sys.argv) - 1, *map(len, sys.argv[1:]))' {{x}}"
    )
    evil = "$(touch evil); `touch evil` | > evil && '\" *"
    assert objective({"x": evil}, workspace) == (1.0, len(evil))
    assert not Path("evil").exists()


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))), st.floats(allow_nan=False))
def test_each_argument_of_the_template_is_one_argument(text: str, number: float) -> None:
    objective = CommandObjective("program --a={a} '{b} {{b}}' \"it's\"")
    arguments = objective.arguments({"a": text, "b": number})
    assert arguments == ["program", f"--a={text}", f"{number} {{b}}", "it's"]
    assert float(arguments[2].split()[0]) == number


def test_booleans_and_none_are_written_as_in_json() -> None:
    assert CommandObjective("p {a} {b}").arguments({"a": True, "b": None}) == ["p", "true", "null"]


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("", "is empty"),
        ("python 'train.py", "cannot be split: No closing quotation"),
        ("python {x", "a brace too many or too few"),
        ("python x}", "a brace too many or too few"),
        ("python {}", r"has \{\}, expected a parameter's name"),
        ("python {x:.3f}", r"has \{x:.3f\}, expected a parameter's name"),
        ("python {x!r}", r"has \{x!r\}"),
        ("python {x.real}", r"has \{x.real\}"),
        ("python {x} {y} {mode}", r"has \{y\}, which is no parameter; expected \{x\}, \{mode\}, \{trial\}, \{output\}"),
        ("python {x}", "never uses the parameter mode"),
        ("nowhere_to_be_found {x} {mode}", "there is no program 'nowhere_to_be_found'"),
    ],
)
def test_mistakes_in_the_template_are_explained(template: str, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        CommandObjective(template).check(SPACE)


def test_a_program_that_is_none_stops_the_study(workspace: Workspace) -> None:
    Path("data.txt").write_text("no program", encoding="utf-8")
    os.chmod("data.txt", 0o644)
    with pytest.raises(ObjectiveError, match="cannot be run"):
        CommandObjective("./data.txt {x} {mode}")({"x": 0.25, "mode": "a"}, workspace)


def test_a_command_is_described_by_json() -> None:
    objective = CommandObjective("p {x}", result="r.json", timeout=2)
    assert objective_from_json(json.loads(json.dumps(objective.to_json()))) == objective
    assert objective.describe() == "p {x}"


@pytest.mark.parametrize(
    ("code", "settings"),
    [
        ("print('loss 1.3'); print('1.3 +- 0.2')", {}),
        ("import sys; sys.stdout.buffer.write('1.3 \u00b1 0.2\\n'.encode())", {}),
        (
            "import json, os; from pathlib import Path\n"
            "Path(os.environ['BETABO_OUTPUT'], 'r.json').write_text(json.dumps({'value': 1.3, 'error': 0.2}))",
            {"result": "r.json"},
        ),
    ],
)
def test_a_value_may_have_its_error_beside_it(workspace: Workspace, code: str, settings: dict[str, str]) -> None:
    assert run(script(code), workspace, **settings) == 1.3
    assert workspace.notes == {VARIANCE: pytest.approx(0.04)}


def test_what_does_not_exist_is_left_out_with_its_option() -> None:
    command = CommandObjective("train --fast --C {C} --depth={d} -k {k} {m} --end")
    assert command.arguments({"m": "svm", "C": 2.0, "k": 1}) == [
        "train",
        "--fast",
        "--C",
        "2.0",
        "-k",
        "1",
        "svm",
        "--end",
    ]
    assert command.arguments({"m": "tree", "d": 3}) == ["train", "--fast", "--depth=3", "tree", "--end"]


def test_a_profile_goes_into_the_command_as_a_whole() -> None:
    space = Space({"u": Profile(12, 0.0, 1.0), "gain": Float(0.0, 1.0)})
    objective = CommandObjective("echo --profile={u} --gain {gain}")
    objective.check(space)
    point = {**{f"u[{number}]": number / 16 for number in reversed(range(12))}, "gain": 0.5}
    whole = ",".join(str(number / 16) for number in range(12))
    assert objective.arguments(point) == ["echo", f"--profile={whole}", "--gain", "0.5"]
    with pytest.raises(StudyError, match=r"never uses the parameter u; put \{u\} in it"):
        CommandObjective("echo {gain}").check(space)
    with pytest.raises(StudyError, match=r"\{v\}, which is no parameter; expected \{gain\}, \{u\}, \{trial\}"):
        CommandObjective("echo {gain} {u} {v}").check(space)
