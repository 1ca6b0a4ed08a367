from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from betabo.compress.session import FRONT_FILE, CompressionSession, CompressionTrial, front_table, study_name
from betabo.compress.settings import CompressionSettings, Training
from betabo.compress.store import load_compressed
from betabo.space import Float, Space
from betabo.studies import FunctionObjective, Plan, StudyError, open_study, run_worker
from compress.search_case import make_files


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CompressionSettings:
    make_files(tmp_path, head=True)
    monkeypatch.chdir(tmp_path)
    return CompressionSettings(
        model="./my-bert",
        task="mrpc",
        data="glue",
        training=Training(steps=2, batch=8, rate=1e-3),
        device="cpu",
        trials=3,
        starting_points=3,
    )


def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a search run here: a process of its own would import everything once more."""
    monkeypatch.setattr("betabo.compress.session.run_study", lambda plan, *_: run_worker(plan))


def test_a_session_searches_and_stores_the_best_model(
    settings: CompressionSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_this_process(monkeypatch)
    said: list[str] = []
    session = CompressionSession(settings, "out", on_stage=said.append)
    best = session.search()
    values = {trial.number: trial.size + trial.error for trial in session.trials()}
    assert sorted(values) == [0, 1, 2]
    assert values[best.number] == min(values.values())
    summary = session.finish()
    assert (summary.compressed.size, summary.compressed.error) == (best.size, best.error)
    assert json.loads(Path("out/summary.json").read_text())["study"] == "my-bert-mrpc"
    assert load_compressed("out").compression.parameters == summary.comparison.after.layer_parameters
    assert said[0] == "loading the model and the data"
    assert said[-1] == f"making the model of trial {best.number} once more, and measuring it"
    assert not Path("out", FRONT_FILE).exists()


def test_a_session_goes_on_from_the_study_alone(settings: CompressionSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    in_this_process(monkeypatch)
    first = CompressionSession(settings, "out")
    first.search()
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("platform.node", lambda: "elsewhere")
        with pytest.raises(StudyError, match="made by another user or on another machine, with the objective"):
            CompressionSession.resume("my-bert-mrpc", "out")
        CompressionSession.resume("my-bert-mrpc", "out", accept=True)
        CompressionSession.resume("my-bert-mrpc", "out")  # once accepted
    again = CompressionSession.resume("my-bert-mrpc", "out", trials=4)
    assert again.settings == first.settings.convert(
        CompressionSettings, trials=4, kernel="beta-additive", acquisition="ucb"
    )
    again.search()
    assert [trial.number for trial in again.trials()] == [0, 1, 2, 3]
    assert again.trials()[:3] == first.trials()[:3]
    chosen = again.trials()[1]
    assert again.finish(chosen).compressed.size == chosen.size  # any trial can be stored, not the best alone


def test_levels_wait_in_the_queue_of_a_new_study_once(settings: CompressionSettings) -> None:
    uniform = settings.convert(CompressionSettings, start="uniform", bounds=(0.1, 0.5))
    for _ in range(2):
        waiting = CompressionSession(uniform, "out").study.get_trials(deepcopy=False)
        levels = [set(trial.system_attrs["fixed_params"].values()) for trial in waiting]
        assert [level.pop() for level in levels] == pytest.approx([0.1, 0.3, 0.5])
        assert not any(levels)  # each was the same for all coordinates


def test_the_front_is_what_no_trial_beats_in_both(
    settings: CompressionSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = CompressionSession(settings.convert(CompressionSettings, pareto=True, weight=0.25), "out")
    found = [(0.5, 0.2), (0.2, 0.4), (0.6, 0.3), (0.2, 0.5), (0.9, 0.1)]
    trials = [
        CompressionTrial(number, {"a": 0.1}, {"size": size, "error": error})
        for number, (size, error) in enumerate(found)
    ]
    monkeypatch.setattr(CompressionSession, "trials", lambda _: trials)
    assert [trial.number for trial in session.front()] == [1, 0, 4]
    assert session.best().number == 0  # 0.25 x 0.5 + 0.2
    rows = list(csv.DictReader(front_table(session.front()).splitlines()))
    assert rows[0] == {"trial": "1", "size": "0.2", "error": "0.4", "a": "0.1"}


def test_a_search_without_a_value_has_no_best_trial(settings: CompressionSettings) -> None:
    session = CompressionSession(settings, "out")
    assert session.front() == []
    with pytest.raises(StudyError, match="no trial has a value"):
        session.best()


def test_a_study_of_something_else_is_not_resumed(settings: CompressionSettings, tmp_path: Path) -> None:
    plan = Plan("other", Space({"x": Float(0, 1)}), FunctionObjective("math:sqrt"), trials=1)
    open_study(plan)
    with pytest.raises(StudyError, match="the study 'other' is no compression"):
        CompressionSession.resume("other", "out")


def test_a_wrong_kernel_is_seen_before_anything_is_loaded(settings: CompressionSettings) -> None:
    with pytest.raises(ValueError, match="kernel is 'bata'"):
        CompressionSession(settings.convert(CompressionSettings, kernel="bata"), "out")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("model", "task", "pareto", "name"),
    [
        ("./models/my-bert/", "mrpc", False, "my-bert-mrpc"),
        ("google/vit-base-patch16-224", "cifar10", True, "vit-base-patch16-224-cifar10-pareto"),
    ],
)
def test_the_study_has_the_name_of_the_model_and_the_task(model: str, task: str, pareto: bool, name: str) -> None:
    assert study_name(CompressionSettings(model=model, task=task, pareto=pareto)) == name


def test_the_example_of_the_documentation_runs(settings: CompressionSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    in_this_process(monkeypatch)
    page = (Path(__file__).parents[2] / "docs" / "compression.md").read_text(encoding="utf-8")
    code = re.findall(r"^```py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(code) == 2
    for long, short in (("steps=100", "steps=1"), ("trials=35", "trials=2"), ("trials=60", "trials=3")):
        assert long in code[0]
        code[0] = code[0].replace(long, short)
    names: dict[str, Any] = {}
    for part in code:
        exec(compile(part, "compression.md", "exec"), names)
    assert len(names["session"].trials()) == 3
    assert load_compressed("compressed").compression.metrics == names["summary"].compressed.metrics
    assert type(names["model"]).__name__ == "BertForSequenceClassification"
