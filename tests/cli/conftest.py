from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from betabo.cli.app import app
from cli.command_case import OBJECTIVE, Betabo, ThreadRunner


@pytest.fixture
def betabo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Betabo:
    """Runs a command in a folder with an objective, with a worker in this process."""
    (tmp_path / "train.py").write_text(OBJECTIVE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("betabo.cli.run.Runner", ThreadRunner)
    for variable in ("BETABO_STORAGE", "BETABO_DEBUG"):
        monkeypatch.delenv(variable, raising=False)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, list(arguments), catch_exceptions=False)

    return run
