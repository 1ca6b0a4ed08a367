from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from betabo.lab.bench.optimizers import elsewhere_search, make_adapter
from betabo.lab.bench.optimizers.elsewhere_search import FOLDER, ElsewhereSearch

BOUNDS = [(-5.0, 10.0), (0.0, 15.0)]
STARTS = np.array([[1.0, 2.0], [3.0, 4.0]])

SERVER = """
class Search:
    def __init__(self, bounds, seed, starting_points):
        self.told = [bounds[0][0], float(seed)]

    def ask(self):
        print("this is no answer")
        return self.told[-2:]

    def tell(self, point, value):
        if value == 13.0:
            raise ZeroDivisionError("inside")
        self.told += [point[0], -1.0 if value is None else value]
"""


@pytest.fixture
def search(tmp_path, monkeypatch) -> ElsewhereSearch:
    """A search of a small server in this Python."""
    (tmp_path / "own" / "bin").mkdir(parents=True)
    (tmp_path / "own" / "bin" / "python").symlink_to(sys.executable)
    protocol = Path(elsewhere_search.__file__).parent / "elsewhere" / "protocol.py"
    (tmp_path / "protocol.py").write_bytes(protocol.read_bytes())
    (tmp_path / "own_server.py").write_text(SERVER)
    monkeypatch.setattr(elsewhere_search, "_SERVERS", tmp_path)
    monkeypatch.setenv(FOLDER, os.path.relpath(tmp_path))
    return ElsewhereSearch("own")


def test_a_process_is_told_all_and_asked(search) -> None:
    search.start(BOUNDS, STARTS, seed=7)
    for start, value in zip(STARTS, (0.5, float("nan")), strict=True):
        np.testing.assert_array_equal(search.ask(), start)
        search.tell(start, value)
    assert search.ask().tolist() == [3.0, 0.0]  # told (3, failed), which is -1 here, and moved into the box
    search.tell(np.array([9.0, 1.0]), 6.0)
    assert search.ask().tolist() == [9.0, 6.0]
    search.end()


def test_the_process_knows_box_and_seed_and_is_ended(search) -> None:
    search.start(BOUNDS, np.empty((0, 2)), seed=7)
    assert search.ask().tolist() == [-5.0, 7.0]
    process = search._process
    search.end()
    assert process.poll() is not None
    search.end()  # once more does no harm


def test_what_a_process_said_before_it_died_is_passed_on(search) -> None:
    search.start(BOUNDS, np.empty((0, 2)), seed=7)
    search.tell(search.ask(), 13.0)
    with pytest.raises(RuntimeError, match=r"(?s)process of 'own' has ended.*ZeroDivisionError: inside"):
        search.ask()
    search.end()


@pytest.mark.parametrize("name", ["hebo", "vizier", "bayes-opt"])
def test_a_missing_environment_is_explained(name, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with pytest.raises(ImportError, match=rf"peer_environments.py DIR {name}, and then BETABO_PEERS=DIR"):
        make_adapter(name, {})
