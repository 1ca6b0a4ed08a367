from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from betabo.compress.data import DataError
from betabo.compress.tasks import (
    ImageClassification,
    LanguageModelling,
    QuestionAnswering,
    SplitRule,
    TextClassification,
)
from betabo.compress.tasks.task import tokenizer_key


def write(path: Path, count: int) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["sentence", "label"], *(["the cat sat", n % 2] for n in range(count))])


@pytest.fixture
def task(word_tokenizer: Any) -> TextClassification:
    return TextClassification("mine", rule=SplitRule(validation_share=0.2), tokenizer=word_tokenizer, max_length=8)


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"test_share": 1.0}, r"test_share is 1\.0, expected a share"),
        ({"validation_share": -0.1}, r"validation_share is -0\.1"),
        ({"validation_share": 0.6, "test_share": 0.5}, "expected less than 1"),
    ],
)
def test_impossible_shares_are_refused(shares: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SplitRule(**shares)


def test_what_is_missing_is_held_out_of_train(task: TextClassification, tmp_path: Path) -> None:
    write(tmp_path / "train.csv", 40)
    write(tmp_path / "test.csv", 6)
    data = task.load(tmp_path)
    assert {name: len(split) for name, split in data.splits.items()} == {"train": 32, "validation": 8, "test": 6}
    limited = task.load(tmp_path, max_train=5, max_validation=3)
    assert [len(limited.train), len(limited.validation)] == [5, 3]


def test_data_without_a_part_to_train_on_are_refused(task: TextClassification, tmp_path: Path) -> None:
    write(tmp_path / "test.csv", 6)
    with pytest.raises(DataError, match=r"has no part 'train' for the task 'mine', only 'test'"):
        task.load(tmp_path)
    with pytest.raises(DataError, match="has no dataset on the hub"):
        task.load()
    with pytest.raises(ValueError, match="max_train is 0"):
        task.load(tmp_path, max_train=0)


def test_encoded_data_are_kept_until_the_files_change(task: TextClassification, tmp_path: Path) -> None:
    source, cache = tmp_path / "data", tmp_path / "cache"
    source.mkdir()
    write(source / "train.csv", 20)
    first = task.load(source, cache=cache)
    assert task.load(source, cache=cache).train.tensors.keys() == first.train.tensors.keys()
    assert len(list(cache.iterdir())) == 1
    write(source / "train.csv", 30)
    assert len(task.load(source, cache=cache).train) == 24
    assert len(list(cache.iterdir())) == 2


def test_only_fields_of_the_task_can_be_set(task: TextClassification) -> None:
    assert task.with_options(max_length=4).max_length == 4
    with pytest.raises(ValueError, match="'length' is no option of the task 'mine'"):
        task.with_options(length=4)


def test_the_key_of_a_tokenizer_is_that_of_what_it_does(word_tokenizer: Any, byte_tokenizer: Any) -> None:
    before = tokenizer_key(word_tokenizer)
    word_tokenizer(["the cat", "a"], padding=True, truncation=True, max_length=4)
    assert tokenizer_key(word_tokenizer) == before != tokenizer_key(byte_tokenizer)


def test_the_longest_text_is_what_the_user_says(task: TextClassification, tmp_path: Path) -> None:
    write(tmp_path / "train.csv", 10)
    assert task.with_length(5).load(tmp_path).train.tensors["input_ids"].shape[1] == 5
    assert LanguageModelling().with_length(32).block_size == 32
    answering = QuestionAnswering().with_length(192)
    assert (answering.max_length, answering.overlap) == (192, 64)
    with pytest.raises(ValueError, match="the longest text is 9 tokens, but the task 'image-classification'"):
        ImageClassification().with_length(9)
