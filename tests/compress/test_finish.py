from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from betabo.compress import finish as module
from betabo.compress.finish import finish
from betabo.compress.preparation import prepare
from betabo.compress.store import load_compressed
from betabo.compress.training import evaluate
from compress.search_case import make_files, make_objective


def test_the_stored_model_is_the_one_of_the_trial(tmp_path: Path) -> None:
    make_files(tmp_path)
    out = tmp_path / "out"
    prepared = prepare(make_objective(tmp_path), out)
    objective = prepared.objective
    ratios = dict(zip(prepared.plan.coordinates, [0.1, 0.3, 0.6] * 4, strict=True))
    trial = objective.problem().evaluate(ratios)
    finished = finish(objective, ratios, 0, out, {"trial": 7})

    assert finished.compressed.objective == trial.objective
    assert finished.original.metrics == prepared.original.metrics
    loaded, problem = load_compressed(out), objective.problem()
    again = evaluate(loaded, problem.task, problem.data.validation, device="cpu")
    assert again == trial.metrics
    assert finished.test is not None
    assert evaluate(loaded, problem.task, problem.data.test, device="cpu") == finished.test[1]
    after = sum(parameter.numel() for parameter in loaded.parameters())
    assert finished.comparison.after.parameters == after < finished.comparison.before.parameters
    assert finished.comparison.before.parameters == sum(p.numel() for p in problem.model.parameters())

    summary = json.loads((out / "summary.json").read_text())
    assert summary["trial"] == 7
    assert summary["test"]["after"] == finished.test[1]
    assert summary["sizes"]["after"]["parameters"] == after
    assert (out / "tokenizer.json").is_file()
    assert f"| accuracy, test | {finished.test[0]['accuracy']:.4f} |" in (out / "README.md").read_text()
    with torch.no_grad():
        assert loaded(**problem.task.example(problem.data)).logits.shape == (1, 2)


def test_a_write_that_fails_leaves_no_model_that_looks_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_files(tmp_path, head=True)
    out = tmp_path / "out"
    objective = prepare(make_objective(tmp_path), out).objective
    finish(objective, {}, 0, out, {})

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_json", full)
    with pytest.raises(OSError, match="No space left"):
        finish(objective, {}, 0, out, {})
    with pytest.raises(ValueError, match=r"compression.json is missing"):
        load_compressed(out)
    assert not [path.name for path in out.iterdir() if path.name.startswith(".")]
    monkeypatch.undo()
    finish(objective, {}, 0, out, {})
    load_compressed(out)


def test_a_model_that_only_guesses_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_files(tmp_path, head=True)
    out = tmp_path / "out"
    objective = prepare(make_objective(tmp_path), out).objective
    for guesses in (True, False):
        monkeypatch.setattr(module, "only_guesses", lambda *_, guesses=guesses: guesses)
        assert finish(objective, {}, 0, out, {}).only_guesses is guesses
        assert json.loads((out / "summary.json").read_text())["only_guesses"] is guesses
