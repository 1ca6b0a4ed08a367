"""Searches for comparison: the same start for all methods, stored as they go, resumed where they stopped."""

from types import SimpleNamespace

import numpy as np
import pytest

from betabo.compress.problem import CompressionResult
from betabo.compress.training import DivergedError
from betabo.lab.reproduce.compression.searches import SearchChoice, read_search, run_search, starting_points


class Bowl:
    """Stands in for a compression problem: the size is the mean ratio, the error a bowl around 0.3."""

    dims = 3
    bounds = ((0.05, 0.95),) * 3

    def __init__(self, fail_at=None):
        self.calls, self.fail_at = 0, fail_at
        self.data = SimpleNamespace(test="test examples")

    def compress(self, x):
        self.calls += 1
        if self.calls == self.fail_at:
            raise DivergedError("the loss was nan")
        size, error = float(np.mean(x)), float(np.square(np.array(x) - 0.3).sum())
        return "model", CompressionResult(size + error, size, error, 10, 20, {"accuracy": 1 - error}, 0.1)

    def judge(self, model):
        assert model == "model"
        return {"accuracy": 0.5}


@pytest.mark.parametrize(
    "search",
    [
        SearchChoice("bowl", "matern", "ucb"),
        SearchChoice("bowl", "beta-matern", "log_ei"),
        SearchChoice("bowl", "random"),
    ],
    ids=lambda search: search.method,
)
def test_all_methods_begin_with_the_same_points(search, tmp_path):
    records = run_search(Bowl(), search, tmp_path / "a.jsonl", trials=7)
    assert np.array([record["x"] for record in records[:5]]) == pytest.approx(starting_points(Bowl(), 5, seed=0))
    assert len(records) == 7
    assert all(0.05 <= ratio <= 0.95 for record in records for ratio in record["x"])
    assert records == read_search(tmp_path / "a.jsonl")


def test_uniform_gives_all_layers_the_same_ratio(tmp_path):
    records = run_search(Bowl(), SearchChoice("bowl", "uniform"), tmp_path / "a.jsonl", trials=4)
    assert [record["x"] for record in records] == [pytest.approx([level] * 3) for level in (0.05, 0.35, 0.65, 0.95)]


def test_search_may_begin_with_uniform_levels(tmp_path):
    search = SearchChoice("bowl", "beta-matern", "log_ei", start="uniform")
    assert search.name == "bowl-beta-matern-log_ei-uniform-start-s0"
    records = run_search(Bowl(), search, tmp_path / "a.jsonl", trials=12)
    assert [record["x"][0] for record in records[:5]] == pytest.approx([0.05, 0.275, 0.5, 0.725, 0.95])
    assert all(len(set(record["x"])) == 1 for record in records[:5])
    assert min(record["objective"] for record in records[5:]) < min(record["objective"] for record in records[:5])


@pytest.mark.parametrize("method", ["matern", "random", "uniform"])
def test_interrupted_search_goes_on(method, tmp_path):
    search = SearchChoice("bowl", method, "ucb" if method == "matern" else "")
    path = tmp_path / "a.jsonl"
    whole = run_search(Bowl(), search, tmp_path / "whole.jsonl", trials=8)
    run_search(Bowl(), search, path, trials=8)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][:20])  # killed while it wrote the fourth
    problem = Bowl()
    records = run_search(problem, search, path, trials=8)
    assert problem.calls == 5
    assert [record["trial"] for record in records] == list(range(8))
    assert records[:5] == whole[:5]
    assert records == read_search(path)


def test_test_examples_are_looked_at_only_where_a_point_is_the_best_so_far(tmp_path):
    records = run_search(Bowl(), SearchChoice("bowl", "random"), tmp_path / "a.jsonl", trials=12)
    best = np.inf
    for record in records:
        assert ("test" in record) == (record["objective"] < best)
        best = min(best, record["objective"])


def test_failed_evaluation_is_written_down_and_the_search_goes_on(tmp_path):
    records = run_search(Bowl(fail_at=3), SearchChoice("bowl", "matern", "ucb"), tmp_path / "a.jsonl", trials=8)
    assert len(records) == 8
    assert records[2]["failed"] == "DivergedError: the loss was nan"
    assert "objective" not in records[2]
