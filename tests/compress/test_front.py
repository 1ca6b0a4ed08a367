from __future__ import annotations

import json
from pathlib import Path

import pytest

from betabo.compress.front import SizedModel, largest_within, read_front, write_front
from betabo.compress.problem import CompressionResult


def point(size: float) -> SizedModel:
    return SizedModel(size, {"a": size}, CompressionResult(1.0, size - 0.01, 0.2, 3, 4, {"f1": 0.8}, 0.1), [0.5, 0.25])


def test_a_stored_front_is_read_as_it_was(tmp_path: Path) -> None:
    front = [point(0.25), point(0.5)]
    write_front(tmp_path / "front.json", front, {"model": "m"})
    again, about = read_front(tmp_path / "front.json")
    assert (again, about) == (front, {"model": "m"})
    assert largest_within(again, 0.4) == again[0]
    with pytest.raises(ValueError, match=r"the size is 0\.1, but the smallest point of the front has 0\.2"):
        largest_within(again, 0.1)


def test_a_front_that_is_not_there_or_damaged_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"front\.json is missing; expected the folder of `betabo compress --front`"):
        read_front(tmp_path / "front.json")
    (tmp_path / "front.json").write_text('{"points": [{}]}')
    with pytest.raises(ValueError, match=r"front\.json is damaged"):
        read_front(tmp_path / "front.json")


def test_a_front_without_losses_of_training_is_read_too(tmp_path: Path) -> None:
    write_front(tmp_path / "front.json", [point(0.5)], {})
    stored = json.loads((tmp_path / "front.json").read_text())
    del stored["points"][0]["losses"]
    (tmp_path / "front.json").write_text(json.dumps(stored))
    assert not read_front(tmp_path / "front.json")[0][0].losses
