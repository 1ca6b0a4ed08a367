"""Saved searches with random damage: they load and work, or are refused at the door with one clear line."""

from __future__ import annotations

import json
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from betabo import Categorical, Float, Int, Optimizer
from mutations import mutated

SPACES: list[Any] = [
    [(-2.0, 3.0), (1e5, 1e6)],
    {
        "shift": Float(-1.0, 4.0),
        "rate": Float(1e-6, 1e-1, log=True),
        "layers": Int(1, 7),
        "share": Float(0.0, 1.0, step=0.25),
        "act": Categorical(["relu", "tanh", None]),
    },
]


@cache
def whole_search(number: int) -> str:
    """A search with all that a file can hold: values, a failure, steps of the model, pending points and a queue."""
    optimizer = Optimizer(SPACES[number], seed=3, starting_points=3)
    values = np.random.default_rng(0)
    for index in range(8):
        point = optimizer.ask()
        if index == 3:
            optimizer.tell_failure(point, "for a reason")
        else:
            optimizer.tell(point, float(values.normal()))
    optimizer.ask(2)
    document = optimizer.to_json()
    return json.dumps({**document, "queue": [document["pending"][0]["unit"]]})


def use(optimizer: Optimizer, path: Path) -> None:
    """Everything that is done with a search that was loaded."""
    for _ in range(2):  # the first is in the queue
        point = optimizer.ask()
        assert np.all((optimizer.space.to_unit(point) >= 0) & (optimizer.space.to_unit(point) <= 1))
        optimizer.tell(point, 1.0)
    result = optimizer.result()
    assert len(result.rows()) == result.nfev
    assert repr(result)
    optimizer.save(path)
    assert Optimizer.load(path).to_json() == optimizer.to_json()


def check(seed: int, path: Path) -> bool:
    """Damage a search and load it; whether it loads. What loads must work."""
    document = mutated(json.loads(whole_search(seed % 2)), seed, changes=1 + seed % 3)
    path.write_text(json.dumps(document))
    try:
        optimizer = Optimizer.load(path)
    except ValueError as error:
        message = str(error)
        assert message.startswith(f"{path} is not a saved search: "), message
        assert message.isprintable(), message
        assert len(message) < 600, message
        assert "Error" not in message, message
        return False
    use(optimizer, path)
    return True


@pytest.mark.parametrize("number", [0, 1])
def test_the_search_itself_loads_and_works(number: int, tmp_path: Path) -> None:
    path = tmp_path / "search.json"
    path.write_text(whole_search(number))
    origins = {evaluation.origin for evaluation in Optimizer.load(path).history}
    assert {"start", "model"} <= origins
    use(Optimizer.load(path), path)


def test_damage_is_refused_at_the_door_or_does_no_harm(tmp_path: Path) -> None:
    loaded = [check(seed, tmp_path / "search.json") for seed in range(60)]
    assert 0 < sum(loaded) < len(loaded)


@pytest.mark.slow
def test_much_damage_is_refused_at_the_door_or_does_no_harm(tmp_path: Path) -> None:
    start, loaded = time.monotonic(), []
    for seed in range(100, 500):
        loaded.append(check(seed, tmp_path / "search.json"))
        if time.monotonic() - start > 300:
            break
    assert len(loaded) >= 100
    assert 0 < sum(loaded) < len(loaded)
