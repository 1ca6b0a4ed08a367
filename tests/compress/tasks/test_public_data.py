"""Real datasets, where they lie beside the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from betabo.compress.tasks import task_by_name
from betabo.compress.tasks.squad import normalise
from tiny_models import make_bert, make_gpt2, make_vit, save_folder

DATA = Path(__file__).parents[4] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the public datasets are not beside the repository")


@pytest.mark.parametrize(
    ("name", "train", "test"),
    [("mrpc", 4076, 1725), ("rte", 2490, 277), pytest.param("sst2", 67349, 872, marks=pytest.mark.slow)],
)
def test_texts(tmp_path: Path, word_tokenizer: Any, name: str, train: int, test: int) -> None:
    task = task_by_name(name, save_folder(tmp_path, make_bert(), word_tokenizer), max_length=64)
    data = task.load(DATA / "glue")
    assert data.test is not None
    assert len(data.train) + len(data.validation) == train
    assert len(data.test) == test
    assert len(data.validation) == pytest.approx(task.rule.validation_share * train, abs=1)


def test_one_file_of_pairs_is_divided_by_question(tmp_path: Path, word_tokenizer: Any) -> None:
    task = task_by_name("qnli", save_folder(tmp_path, make_bert(), word_tokenizer), max_length=64)
    data = task.load(DATA / "glue" / "qnli_dev.parquet")
    assert len(data.train) + len(data.validation) == 5463
    assert data.test is None


def test_images(tmp_path: Path) -> None:
    task = task_by_name("cifar10", save_folder(tmp_path, make_vit(image=32)))
    data = task.load(DATA / "images", max_train=50, max_validation=20)
    assert data.test is not None
    assert torch.bincount(data.test.tensors["label"]).tolist() == [1000] * 10
    assert data.test.tensors["image"].shape == (10000, 3, 32, 32)
    brightness = data.test.tensors["image"].float().mean().item() / 255
    assert brightness == pytest.approx(0.4734, abs=0.02)  # the dataset's well-known mean


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["word", "byte"])
def test_the_reference_spans_score_full_marks(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> None:
    tokenizer = request.getfixturevalue(f"{kind}_tokenizer")
    model = make_bert() if kind == "word" else make_gpt2()
    folder = save_folder(tmp_path, model, tokenizer)
    task = task_by_name("question-answering", folder, overlap=16, max_question=24)
    data = task.load(DATA / "squad" / "squadshifts_new_wiki.parquet", max_train=500, max_validation=300)
    assert not set(data.train.details["contexts"]) & set(data.validation.details["contexts"])
    split = data.train
    perfect = {"score": torch.ones(len(split)), "start": split.tensors["start"], "end": split.tensors["end"]}
    metrics = task.metrics(split, perfect)
    assert metrics["exact_match"] > 0.98  # a few references begin or end inside a word
    assert metrics["f1"] >= metrics["exact_match"] - np.mean(
        [not normalise(texts[0]) for texts in split.details["answers"]]
    )


def test_plays(tmp_path: Path, byte_tokenizer: Any) -> None:
    task = task_by_name("tinyshakespeare", save_folder(tmp_path, make_gpt2(), byte_tokenizer))
    data = task.load(DATA / "text")
    total = sum(int(split.tensors["bytes"].sum()) for split in data.splits.values())
    assert 1_115_394 - 3 * 64 <= total < 1_115_394
