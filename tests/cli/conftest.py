from __future__ import annotations

import random
import shutil
from pathlib import Path

import optuna
import pytest
from typer.testing import CliRunner, Result

from betabo.cli.app import app
from cli.command_case import OBJECTIVE, Betabo, ThreadRunner

SPACE = {
    "x": optuna.distributions.FloatDistribution(0, 1),
    "act": optuna.distributions.CategoricalDistribution(["relu", "[red]gelu"]),
}


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


@pytest.fixture
def compress(betabo: Betabo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Betabo:
    """Runs `betabo compress` in a folder with a tiny BERT and examples."""
    from compress.search_case import make_files

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    make_files(tmp_path)

    def run(*arguments: str) -> Result:
        return betabo("compress", *arguments)

    return run
