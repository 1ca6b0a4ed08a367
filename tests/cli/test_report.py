from __future__ import annotations

from pathlib import Path

import optuna
import pytest

from cli.command_case import Betabo


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
