from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from betabo.compress.data import DataError
from betabo.compress.tasks import Split, TaskData


def make_data(details: object = None) -> TaskData:
    train = Split({"x": torch.arange(12).reshape(6, 2), "label": torch.arange(6)}, details)
    return TaskData(train, train.subset([5, 0]), train.subset([1]), ("no", "yes"))


def test_length_is_number_of_examples() -> None:
    assert len(make_data().train) == 6


def test_subset_takes_rows_in_the_given_order_and_keeps_details() -> None:
    part = make_data({"a": 1}).train.subset(torch.tensor([4, 2, 4]))
    assert part.tensors["label"].tolist() == [4, 2, 4]
    assert part.tensors["x"].tolist() == [[8, 9], [4, 5], [8, 9]]
    assert part.details == {"a": 1}


def test_to_moves_every_tensor() -> None:
    moved = make_data().to("meta")
    assert all(tensor.is_meta for split in moved.splits.values() for tensor in split.tensors.values())
    assert moved.labels == ("no", "yes")


@pytest.mark.parametrize("tensors", [{}, {"x": torch.tensor(1.0)}, {"x": torch.ones(2), "y": torch.ones(3)}])
def test_different_numbers_of_examples_are_refused(tensors: dict[str, torch.Tensor]) -> None:
    with pytest.raises(ValueError, match="one number of examples"):
        Split(tensors)


def test_disk_gives_back_the_same(tmp_path: Path) -> None:
    data = make_data({"contexts": ["Ä text", "another"], "answers": [["x"], []]})
    data.to_disk(tmp_path / "deep" / "data")
    back = TaskData.from_disk(tmp_path / "deep" / "data")
    assert back.labels == data.labels
    for name, split in data.splits.items():
        assert back.splits[name].details == split.details
        for key, tensor in split.tensors.items():
            assert torch.equal(back.splits[name].tensors[key], tensor)
            assert back.splits[name].tensors[key].dtype == tensor.dtype
    assert {path.suffix for path in (tmp_path / "deep" / "data").iterdir()} == {".json", ".safetensors"}


def test_disk_without_test_and_labels(tmp_path: Path) -> None:
    data = make_data()
    TaskData(data.train, data.validation).to_disk(tmp_path / "data")
    back = TaskData.from_disk(tmp_path / "data")
    assert back.test is None
    assert back.labels is None


def test_who_comes_second_leaves_what_is_there(tmp_path: Path) -> None:
    make_data(1).to_disk(tmp_path / "data")
    make_data(2).to_disk(tmp_path / "data")
    assert TaskData.from_disk(tmp_path / "data").train.details == 1
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        make_data(object()).to_disk(tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["missing", "cut", "json", "format"])
def test_damaged_data_are_named(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "data"
    make_data().to_disk(folder)
    if damage == "missing":
        (folder / "train.safetensors").unlink()
    elif damage == "cut":
        (folder / "train.safetensors").write_bytes((folder / "train.safetensors").read_bytes()[:20])
    elif damage == "json":
        (folder / "data.json").write_text("{")
    else:
        (folder / "data.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(DataError, match="delete it"):
        TaskData.from_disk(folder)
