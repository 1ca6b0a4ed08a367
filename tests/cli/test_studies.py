from __future__ import annotations

import csv
import json
import random
import re
import shutil
import sys
from pathlib import Path

import optuna
import pytest

from cli.command_case import Betabo, one_line

SPACE = {
    "x": optuna.distributions.FloatDistribution(0, 1),
    "act": optuna.distributions.CategoricalDistribution(["relu", "[red]gelu"]),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A storage with a study of 30 trials, one of them failed, and an empty one."""
    path = tmp_path_factory.mktemp("stored") / "betabo.db"
    storage = optuna.storages.RDBStorage(f"sqlite:///{path}")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    tuned = optuna.create_study(study_name="tuned", storage=storage)
    optuna.create_study(study_name="empty", storage=storage, direction="maximize")
    generator = random.Random(0)
    for number in range(30):
        point = {"x": generator.random(), "act": generator.choice(["relu", "[red]gelu"])}
        ended = {"state": optuna.trial.TrialState.FAIL} if number == 3 else {"value": (point["x"] - 0.5) ** 2}
        tuned.add_trial(optuna.trial.create_trial(params=point, distributions=SPACE, **ended))
    return path


@pytest.fixture
def tuned(betabo: Betabo, stored: Path) -> optuna.Study:
    """The study of 30 trials, in the storage of the current folder."""
    shutil.copy(stored, "betabo.db")
    return optuna.load_study(study_name="tuned", storage="sqlite:///betabo.db")


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


def test_report_is_written(betabo: Betabo, tuned: optuna.Study) -> None:
    pytest.importorskip("plotly", reason="reports need plotly")
    assert betabo("report", "empty", "--out", "page.html").stdout == "report: page.html\n"
    assert "empty" in Path("page.html").read_text()


def test_report_is_opened_on_request(betabo: Betabo, tuned: optuna.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("betabo.report.write_report", lambda study, path: path.write_text(study.study_name))
    assert betabo("report", "tuned", "--open").exit_code == 0
    assert opened == [Path("tuned.html").resolve().as_uri()]
    assert Path("tuned.html").read_text() == "tuned"


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


def test_dashboard_serves_this_machine_alone(
    betabo: Betabo, tuned: optuna.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    dashboard = pytest.importorskip("optuna_dashboard", reason="the dashboard is not installed")
    served: list[tuple[object, str, int]] = []
    monkeypatch.setattr(
        dashboard, "run_server", lambda storage, host, port: served.append((storage.get_all_studies(), host, port))
    )
    result = betabo("dashboard", "--port", "8123")
    assert result.exit_code == 0
    assert "http://127.0.0.1:8123/" in result.stdout
    [(studies, host, port)] = served
    assert (host, port, len(studies)) == ("127.0.0.1", 8123, 2)


def test_missing_dashboard_names_the_extra(betabo: Betabo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna_dashboard", None)
    assert "pip install 'betabo[dashboard]'" in one_line(betabo("dashboard"))
