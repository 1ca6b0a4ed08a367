from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from betabo.compress import preparation
from betabo.compress.preparation import prepare
from betabo.compress.settings import Training
from betabo.compress.training import DivergedError
from compress.search_case import make_files, make_objective


def never(*_: Any, **__: Any) -> None:
    raise AssertionError("it was trained again")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    make_files(tmp_path)
    return tmp_path


def test_a_model_with_a_new_head_is_trained_stored_and_reused(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, said = files / "out", []
    first = prepare(make_objective(files), out, on_stage=said.append)
    assert first.examples["train"] + first.examples["validation"] == 60
    assert first.examples["test"] == 20
    assert first.dense_steps == math.ceil(3 * first.examples["train"] / 8)  # three epochs
    assert any("its head is new" in line for line in said)
    assert first.objective.folder == str(out / "dense")
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {path.name for path in (out / "dense").iterdir()}
    assert first.original.size == 1.0
    assert first.original.metrics == first.objective.problem().original.metrics

    monkeypatch.setattr(preparation, "finetune", never)
    again = prepare(make_objective(files), out)
    assert again == first
    (out / "original.json").unlink()  # as if it had been killed after the training
    third = prepare(make_objective(files), out)
    assert (third.objective, third.dense_steps, third.original.metrics) == (
        first.objective,
        first.dense_steps,
        first.original.metrics,
    )
    assert not [path.name for path in out.iterdir() if path.name.startswith(".")]


def test_a_new_head_without_training_is_the_same_for_every_worker(files: Path) -> None:
    prepared = prepare(make_objective(files), files / "out", 0)
    assert prepared.dense_steps == 0
    weights = load_file(files / "out" / "dense" / "model.safetensors")
    for _ in range(2):
        model = prepared.objective.load()[0]
        assert not model.head_is_new
        assert (model.model.classifier.weight == weights["classifier.weight"]).all()


def test_a_trained_model_is_left_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_files(tmp_path, head=True)
    monkeypatch.setattr(preparation, "finetune", never)
    prepared = prepare(make_objective(tmp_path), tmp_path / "out")
    assert prepared.objective.folder is None
    assert prepared.dense_steps == 0
    assert not (tmp_path / "out" / "dense").exists()
    assert prepare(make_objective(tmp_path), tmp_path / "out") == prepared


def test_training_can_be_asked_for(tmp_path: Path) -> None:
    make_files(tmp_path, head=True)
    prepared = prepare(make_objective(tmp_path), tmp_path / "out", 3)
    assert prepared.dense_steps == 3
    assert (tmp_path / "out" / "dense").is_dir()
    before, after = (load_file(tmp_path / name / "model.safetensors") for name in ("my-bert", "out/dense"))
    assert (before["classifier.weight"] != after["classifier.weight"]).any()


@pytest.mark.parametrize(
    ("settings", "steps", "name"),
    [
        ({"seed": 1}, None, "seed 0, which is 1 now"),
        ({"max_train": 20}, None, "max_train None, which is 20 now"),
        ({"max_length": 12}, None, "max_length None, which is 12 now"),
        ({"training": Training(steps=4, batch=8, rate=1e-2)}, None, "rate 0.001, which is 0.01 now"),
        ({}, 5, "dense_steps None, which is 5 now"),
    ],
    ids=["seed", "limit", "length", "rate", "steps"],
)
def test_a_folder_of_other_settings_is_refused(files: Path, settings: Any, steps: int | None, name: str) -> None:
    prepare(make_objective(files), files / "out")
    before = (files / "out" / "original.json").read_bytes()
    with pytest.raises(ValueError, match=f"was prepared with {name}"):
        prepare(make_objective(files, **settings), files / "out", steps)
    assert (files / "out" / "original.json").read_bytes() == before


def test_the_rate_of_a_trial_may_change_where_nothing_was_trained(tmp_path: Path) -> None:
    make_files(tmp_path, head=True)
    prepare(make_objective(tmp_path), tmp_path / "out")
    other = make_objective(tmp_path, training=Training(steps=2, batch=4))
    assert prepare(other, tmp_path / "out").objective.training == other.training


def test_a_folder_of_something_else_is_left_alone(files: Path) -> None:
    (files / "thesis").mkdir()
    (files / "thesis" / "chapter.tex").write_text("One.")
    for place, message in (("thesis", "not of a compression"), ("glue/mrpc_test.csv", "is a file")):
        with pytest.raises(ValueError, match=message):
            prepare(make_objective(files), files / place)
    assert [path.name for path in (files / "thesis").iterdir()] == ["chapter.tex"]


def test_a_training_that_fails_leaves_no_model(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(*_: Any, **__: Any) -> None:
        raise DivergedError("the loss was nan after 2 steps; try a smaller rate.")

    monkeypatch.setattr(preparation, "finetune", diverge)
    with pytest.raises(ValueError, match="original could not be trained: the training diverged: the loss was nan"):
        prepare(make_objective(files), files / "out")
    assert [path.name for path in (files / "out").iterdir()] == ["data"]


def test_a_model_that_was_half_written_is_not_there(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(preparation, "write_json", full)
        with pytest.raises(OSError, match="No space left"):
            prepare(make_objective(files), files / "out", 0)
    assert [path.name for path in (files / "out").iterdir()] == ["data"]
    assert prepare(make_objective(files), files / "out", 0).objective.folder is not None


def test_damaged_and_missing_parts_are_named(files: Path) -> None:
    out = files / "out"
    prepare(make_objective(files), out, 0)
    about = json.loads((out / "original.json").read_text())
    assert about["trained"] is True
    (out / "dense").rename(files / "elsewhere")
    with pytest.raises(ValueError, match=r"dense is missing, with the trained original"):
        prepare(make_objective(files), out, 0)
    (out / "original.json").write_text("{")
    with pytest.raises(ValueError, match=r"original.json is damaged"):
        prepare(make_objective(files), out, 0)


def test_a_training_says_how_far_it_is() -> None:
    said: list[str] = []
    progress = preparation.training_progress(said.append, 400)
    for done in (*range(50, 400, 50), 400):
        progress(done, 0.5)
    assert said[:2] == ["  50 of 400 steps, loss 0.500", "  100 of 400 steps, loss 0.500"]
    assert said[-1] == "  400 of 400 steps, loss 0.500"
    long: list[str] = []
    progress = preparation.training_progress(long.append, 5000)
    for done in range(50, 5001, 50):
        progress(done, 0.5)
    assert len(long) == 10


def test_texts_without_common_padding_train_the_same_model_but_for_rounding(tmp_path: Path) -> None:
    make_files(tmp_path, head=True)
    config = tmp_path / "my-bert" / "config.json"
    config.write_text(
        json.dumps({**json.loads(config.read_text()), "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0})
    )
    objective = make_objective(tmp_path)
    whole, short = (prepare(objective, tmp_path / str(short), 3, short=short) for short in (False, True))
    assert short.original.metrics == pytest.approx(whole.original.metrics)
    one, other = (load_file(tmp_path / name / "dense" / "model.safetensors") for name in ("False", "True"))
    for name, weight in one.items():
        assert torch.allclose(weight, other[name], atol=1e-5), name


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"task": "cifar10"}, "cannot do image-classification"),
        ({"task": "wikitext2"}, "sees the tokens that it would have to predict"),
        ({"device": "cuda"}, "device is 'cuda', but torch sees no GPU"),
    ],
    ids=["kind", "encoder", "device"],
)
def test_what_does_not_go_together_is_refused_before_anything_is_there(
    files: Path, monkeypatch: pytest.MonkeyPatch, settings: Any, message: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=message):
        prepare(make_objective(files, **settings), files / "out")
    assert not (files / "out").exists()
