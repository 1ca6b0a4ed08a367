from __future__ import annotations

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import betabo
from betabo.cli.app import app
from betabo.cli.options import DEFAULT_STORAGE

COMMANDS = [
    "minimize",
    "compress",
    "studies",
    "show",
    "best",
    "export",
    "report",
    "dashboard",
    "kernels",
    "acquisitions",
]


def invoke(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner(env={"BETABO_STORAGE": None, "BETABO_DEBUG": None}).invoke(app, list(arguments))
    return result.exit_code, result.stdout, result.stderr


def test_version_is_the_packages() -> None:
    assert invoke("--version") == (0, f"betabo {betabo.__version__}\n", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str) -> None:
    code, output, _ = invoke(command, "--help")
    assert code == 0
    assert f"Example: betabo {command}" in output


@pytest.mark.parametrize("command", ["bench", "reproduce"])
def test_groups_of_commands_are_there(command: str) -> None:
    code, output, _ = invoke(command, "--help")
    assert code == 0
    assert "COMMAND" in output


def test_without_a_command_all_are_listed() -> None:
    code, output, _ = invoke()
    assert code == 0
    assert all(re.search(rf"\b{command}\b", output) for command in [*COMMANDS, "bench", "reproduce"])


@pytest.mark.parametrize("arguments", [[], ["minimize"], ["show"], ["bench"], ["reproduce"]], ids=" ".join)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    program = (
        "import sys\n"
        "from betabo.cli import main\n"
        f"sys.argv = ['betabo', *{arguments!r}, '--help']\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0\n"
        "heavy = {'torch', 'numpy', 'scipy', 'optuna', 'pandas', 'plotly', 'sklearn', 'matplotlib'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "betabo", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"betabo {betabo.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["minimise"], "No such command 'minimise'"),
        (["show"], "Missing argument 'NAME'"),
        (["show", "a", "--lst", "3"], "No such option: --lst"),
        (["show", "a", "--last", "three"], "Invalid value for '--last'"),
        (["export", "a", "--to", "xlsx"], "Invalid value for '--to'"),
    ],
    ids=["command", "argument", "option", "number", "choice"],
)
def test_usage_errors_are_one_line(arguments: list[str], expected: str) -> None:
    code, output, errors = invoke(*arguments)
    assert (code, output) == (2, "")
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert expected in errors


def test_default_storage_is_that_of_the_studies() -> None:
    from betabo.studies import DEFAULT_STORAGE as ORIGINAL

    assert DEFAULT_STORAGE == ORIGINAL


@pytest.mark.parametrize("arguments", [["minimize"], ["best"], ["delete"], ["bench", "run"]], ids=" ".join)
def test_flags_have_no_type(arguments: list[str]) -> None:
    _, output, _ = invoke(*arguments, "--help")
    assert "--help" in output
    assert "<bool>" not in output
