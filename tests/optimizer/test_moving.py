"""Searches whose box moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from betabo import Optimizer


def bowl(x: Any) -> float:
    return float((x[0] - 1.3) ** 2 + (x[1] - 0.4) ** 2)


def searched(count: int = 12) -> Optimizer:
    optimizer = Optimizer([(-1, 1), (-1, 1)], seed=0)
    for _ in range(count):
        point = optimizer.ask()
        optimizer.tell(point, bowl(point))
    return optimizer


def points(optimizer: Optimizer) -> list[list[float]]:
    return [optimizer.space.from_unit(e.unit).tolist() for e in optimizer.history]


def test_a_wider_box_goes_on_with_all_results() -> None:
    optimizer = searched()
    before = points(optimizer)
    values = [e.value for e in optimizer.history]
    optimizer.move_box({"x0": (-1, 2)})
    assert np.allclose(points(optimizer), before)
    assert [e.value for e in optimizer.history] == values
    for _ in range(8):
        point = optimizer.ask()
        optimizer.tell(point, bowl(point))
    assert optimizer.result().fun < 1e-3
    assert optimizer.result().x[0] > 1
    assert all(e.origin != "start" for e in optimizer.history[12:])


def test_what_lies_outside_a_narrower_box_comes_back_with_a_wider_one(tmp_path: Path) -> None:
    optimizer = searched()
    before = sorted(map(tuple, points(optimizer)))
    optimizer.move_box({"x1": (0, 1)})
    kept = len(optimizer.history)
    assert 0 < kept < 12
    assert kept + len(optimizer.outside) == 12
    optimizer.save(tmp_path / "search.json")
    loaded = Optimizer.load(tmp_path / "search.json")
    assert (loaded.ask() == optimizer.ask()).all()
    loaded.move_box({"x1": (-1, 1)})
    assert loaded.outside == []
    assert np.allclose(sorted(map(tuple, points(loaded))), before)


def test_points_that_were_asked_for_and_lie_inside_stay_pending() -> None:
    optimizer = Optimizer([(0, 1)], seed=0, initial=[[0.9], [0.2], [0.95]])
    asked = optimizer.ask(2)
    optimizer.move_box({"x0": (0, 0.5)})
    assert len(optimizer.pending) == 1
    optimizer.tell(asked[1], 1.0)
    assert not optimizer.pending
    assert optimizer.history[0].origin == "start"
    assert optimizer.ask()[0] <= 0.5  # the third one lies outside and is no more


def test_a_mistake_changes_nothing() -> None:
    optimizer = searched(3)
    with pytest.raises(ValueError, match="there is no parameter 'x7'"):
        optimizer.move_box({"x0": (0, 2), "x7": (0, 1)})
    assert optimizer.space.dims == 2
    assert len(optimizer.history) == 3


def test_a_damaged_result_outside_is_refused(tmp_path: Path) -> None:
    optimizer = searched(4)
    data = optimizer.to_json()
    with pytest.raises(ValueError, match=r"outside\[0\]"):
        Optimizer.from_json({**data, "outside": [{"point": [1, 2]}]})
