from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path

import optuna
import pytest

from cli.command_case import Betabo, one_line


def test_studies_are_listed(betabo: Betabo, tuned: optuna.Study) -> None:
    output = betabo("studies").stdout
    assert re.search(rf"^tuned +minimize +30 +{tuned.best_value:.6g} +29 complete, 1 failed", output, re.M)
    assert re.search(r"^empty +maximize +0 +-", output, re.M)


def test_show_has_the_last_trials_or_all(betabo: Betabo, tuned: optuna.Study) -> None:
    def numbers(*options: str) -> list[int]:
        return [int(n) for n in re.findall(r"^ *(\d+)  ", betabo("show", "tuned", *options).stdout, re.M)]

    assert numbers() == list(range(10, 30))
    assert numbers("--last", "2") == [28, 29]
    assert numbers("--all") == list(range(30))


def test_show_prints_text_as_it_is(betabo: Betabo, tuned: optuna.Study) -> None:
    output = betabo("show", "tuned", "--all").stdout
    assert "[red]gelu" in output
    assert re.search(r"^ *3  failed", output, re.M)
    assert betabo("show", "empty").stdout == "empty: maximize, 0 trials\n"


def test_best_for_people_and_for_programs(betabo: Betabo, tuned: optuna.Study) -> None:
    data = json.loads(betabo("best", "tuned", "--json").stdout)
    assert data == {
        "study": "tuned",
        "directions": ["minimize"],
        "trial": tuned.best_trial.number,
        "value": tuned.best_value,
        "parameters": tuned.best_params,
        "on_bound": {},
    }
    assert f"best value {tuned.best_value:.6g}  trial {tuned.best_trial.number}" in betabo("best", "tuned").stdout
    assert betabo("best", "empty").stdout == "no trial has a value yet\n"
    assert json.loads(betabo("best", "empty", "--json").stdout)["trial"] is None


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_export_has_a_row_for_each_trial(betabo: Betabo, tuned: optuna.Study, form: str) -> None:
    assert betabo("export", "tuned", "--to", form).stdout == f"trials: tuned.{form}\n"
    path = Path(f"tuned.{form}")
    if form == "csv":
        rows = list(csv.DictReader(path.read_text().splitlines()))
    elif form == "json":
        rows = json.loads(path.read_text())
    else:
        rows = pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    assert len(rows) == 30
    assert float(rows[7]["value"]) == tuned.trials[7].value
    assert float(rows[7]["x"]) == tuned.trials[7].params["x"]


def test_format_of_an_export_is_that_of_its_file(betabo: Betabo, tuned: optuna.Study) -> None:
    assert betabo("export", "tuned", "--out", "a.csv").exit_code == 0
    assert Path("a.csv").read_text().startswith("number,")
    assert betabo("export", "tuned", "--out", "b.txt", "--to", "csv").exit_code == 0
    assert Path("b.txt").read_text() == Path("a.csv").read_text()
    assert "names no format" in one_line(betabo("export", "tuned", "--out", "c.xlsx"))
    assert "no/such/a.csv" in one_line(betabo("export", "tuned", "--out", "no/such/a.csv"))


@pytest.mark.parametrize("command", ["show", "best", "export", "report"])
def test_unknown_study_lists_close_names(betabo: Betabo, tuned: optuna.Study, command: str) -> None:
    message = one_line(betabo(command, "tund"))
    assert "'tund'" in message
    assert "'tuned'" in message
    assert sorted(path.name for path in Path().iterdir()) == ["betabo.db", "train.py"]


@pytest.mark.parametrize("command", [["studies"], ["show", "a"], ["best", "a"], ["export", "a"], ["dashboard"]])
def test_missing_storage_is_not_created(betabo: Betabo, command: list[str]) -> None:
    assert "betabo.db" in one_line(betabo(*command))
    assert not Path("betabo.db").exists()


@pytest.mark.parametrize("command", [["studies"], ["show", "a"]], ids=lambda command: command[0])
def test_corrupt_storage_is_kept(betabo: Betabo, command: list[str]) -> None:
    content = b"SQLite format 3\x00" + b"\xff" * 5000
    Path("betabo.db").write_bytes(content)
    assert "betabo.db" in one_line(betabo(*command))
    assert Path("betabo.db").read_bytes() == content


def test_every_look_is_there_as_json(betabo: Betabo, tuned: optuna.Study) -> None:
    (first, second) = json.loads(betabo("studies", "--json").stdout)
    assert {first["name"], second["name"]} == {"tuned", "empty"}
    rows = json.loads(betabo("show", "tuned", "--json", "--last", "3").stdout)
    assert [row["number"] for row in rows] == [27, 28, 29]
    assert rows[0]["value"] == tuned.trials[27].value
    assert len(json.loads(betabo("show", "tuned", "--json", "--all").stdout)) == 30
    assert json.loads(betabo("best", "tuned", "--json").stdout)["value"] == tuned.best_value


def test_an_export_goes_to_the_standard_output(betabo: Betabo, tuned: optuna.Study) -> None:
    rows = list(csv.DictReader(betabo("export", "tuned", "--out", "-").stdout.splitlines()))
    assert len(rows) == 30
    assert json.loads(betabo("export", "tuned", "--out", "-", "--to", "json").stdout)[7]["number"] == 7
    assert not Path("-").exists()


def test_with_noise_what_is_believed_best_comes_first(betabo: Betabo) -> None:
    program = "import random, sys; random.seed(sys.argv[1]); x = float(sys.argv[1])\n"
    program += "print(f'{8 * (x - 0.3) ** 2 + random.gauss(0, 0.9)} +- 0.9')"
    Path("noisy.py").write_text(program)
    command = f"{sys.executable} -S noisy.py {{x}}"
    betabo("minimize", "--command", command, "--param", "x=0..1", "--trials", "12", "--seed", "0", "--study", "noisy")
    data = json.loads(betabo("best", "noisy", "--json").stdout)
    assert data["sees_noise"] is True
    assert data["observed"]["value"] <= data["value"]
    assert data["estimate"]["deviation"] < 0.9
    shown = betabo("best", "noisy").stdout
    assert f"trial {data['trial']}\n" in shown.splitlines(keepends=True)[0]
    assert shown.startswith("best estimate ")
    assert " ± 0.9  trial " in shown.splitlines()[-1]
    table = betabo("show", "noisy").stdout
    assert f"with noise, trial {data['trial']} is believed best" in table
    assert table.count(" ± 0.9") == 12
    assert "betabo:variance" not in table
    betabo("report", "noisy", "--out", "noisy.html")
    page = Path("noisy.html").read_text()
    assert f"There is noise: by the model trial {data['trial']} is best, with a value of" in page
