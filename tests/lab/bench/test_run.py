from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as parquet
import pytest
import torch

from betabo.files import write_bytes
from betabo.lab.bench.optimizers import OPTIMIZERS, OptimizerEntry
from betabo.lab.bench.optimizers.random_search import RandomSearch
from betabo.lab.bench.run import Run, perform, starting_points
from betabo.lab.bench.storage import encode, read_metadata
from betabo.lab.problems import problem_by_name

BETA = Run("mine", "betabo", {"kernel": "beta"}, "levy-3-vertex-noise0.5", seed=1, budget=9, starting_points=6)


@pytest.fixture(scope="module")
def record():
    return perform(BETA)


def test_a_run_records_every_evaluation(record) -> None:
    problem = problem_by_name(BETA.problem)
    rows = record.rows
    assert [row["evaluation"] for row in rows] == list(range(1, 10))
    assert [row["origin"] for row in rows] == ["start"] * 6 + ["model"] * 3
    units = torch.tensor([row["x"] for row in rows], dtype=torch.float64)
    assert ((units >= 0) & (units <= 1)).all()
    true = problem.evaluate_unit(units, noise=False).tolist()
    assert [row["true_value"] for row in rows] == pytest.approx(true, rel=1e-9)
    assert [row["best"] for row in rows] == pytest.approx(np.minimum.accumulate(true).tolist(), rel=1e-9)
    noise = np.array([row["value"] - row["true_value"] for row in rows])
    assert 0.05 < noise.std() < 2
    assert [row["boundary_distance"] for row in rows] == pytest.approx(
        (1 - 2 * (units - 0.5).abs().amax(dim=-1)).tolist()
    )
    for row in rows[:6]:
        assert row["bandwidth"] == []
    for row in rows[6:]:
        assert len(row["bandwidth"]) == 3
        assert 0 <= row["boundary_weight"] <= 1
        assert 0 < row["fit_seconds"] < row["ask_seconds"]


def test_starting_points_and_noise_are_the_same_for_all_optimizers(record) -> None:
    other = perform(Run("chance", "random", {}, BETA.problem, seed=1, budget=9, starting_points=6))
    for column in ("x", "value", "true_value"):
        assert [row[column] for row in other.rows[:6]] == [row[column] for row in record.rows[:6]]
    assert other.rows[7]["x"] != record.rows[7]["x"]


def test_starting_points_depend_on_problem_and_seed() -> None:
    vertex, centre = problem_by_name("levy-3-vertex"), problem_by_name("levy-3-centre")
    points = starting_points(vertex, 4, seed=0)
    low, high = np.array(vertex.box).T
    assert ((points >= low) & (points <= high)).all()
    np.testing.assert_array_equal(points, starting_points(vertex, 8, seed=0)[:4])
    assert not np.allclose(points, starting_points(vertex, 4, seed=1))
    units = [p.to_unit(torch.from_numpy(starting_points(p, 4, seed=0))) for p in (vertex, centre)]
    assert not torch.allclose(*units)


def test_a_run_can_be_repeated(record) -> None:
    again = perform(BETA)
    assert [row["x"] for row in again.rows] == [row["x"] for row in record.rows]
    assert [row["value"] for row in again.rows] == [row["value"] for row in record.rows]


def test_progress_is_reported() -> None:
    heard = []
    run = Run("chance", "random", {}, "levy-2-face", seed=0, budget=4, starting_points=2)
    record = perform(run, lambda *news: heard.append(news))
    assert heard == [(row["evaluation"], row["best"]) for row in record.rows]


def test_files_keep_rows_and_metadata(record, tmp_path) -> None:
    path = tmp_path / "a" / "b.parquet"
    write_bytes(path, encode(record), parents=True)
    rows = parquet.read_table(path, partitioning=None).to_pylist()
    assert json.dumps(rows) == json.dumps(record.rows)
    metadata = read_metadata(path)
    assert metadata["configuration"] == BETA.configuration()
    assert set(metadata["versions"]) >= {"python", "betabo", "torch", "gpytorch", "botorch", "numpy", "scipy"}
    assert metadata["versions"]["torch"] == torch.__version__
    assert metadata["problem"]["dim"] == 3
    assert metadata["problem"]["noise_std"] == 0.5
    assert [p.name for p in path.parent.iterdir()] == ["b.parquet"]


def test_other_files_are_refused(tmp_path) -> None:
    path = tmp_path / "x.parquet"
    path.write_text("nothing")
    with pytest.raises(ValueError, match=r"x\.parquet is not the record of a run"):
        read_metadata(path)


def test_an_optimizer_that_ignores_the_starting_points_is_refused(monkeypatch) -> None:
    class Stubborn(RandomSearch):
        def start(self, bounds, starting_points, seed):
            super().start(bounds, starting_points[:0], seed)

    monkeypatch.setitem(OPTIMIZERS, "stubborn", OptimizerEntry("stubborn", "Has its own start.", Stubborn))
    with pytest.raises(RuntimeError, match="expected its starting point number 0"):
        perform(Run("stubborn", "stubborn", {}, "levy-2-face", seed=0, budget=4, starting_points=2))
