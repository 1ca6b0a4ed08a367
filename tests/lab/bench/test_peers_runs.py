from __future__ import annotations

import numpy as np
import pandas
import pytest

from betabo.lab.bench import run_campaign
from betabo.lab.bench.peers import Suite, plan_peers
from betabo.lab.bench.peers_runs import first_below, read_packed, read_peer_runs, regret_after, write_packed
from betabo.lab.bench.results import read_results
from lab.bench.conftest import Here

RUNS = pandas.DataFrame(
    {"evaluation": [np.array([1, 3, 7]), np.array([1])], "regret": [np.array([9.0, 4.0, 0.5]), np.array([2.0])]}
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("ioh")
    made = tmp_path_factory.mktemp("runs")
    suite = Suite("sbox-2", "Two problems.", ("sbox-f1-d2-i1", "sbox-f8-d2-i2"), 8, 5)
    for name, campaign in plan_peers([suite], ["cobyqa", "random"], seeds=1).campaigns.items():
        run_campaign(campaign, made / name, executor=Here())
    return made


def test_each_run_is_one_row_with_its_curve(folder) -> None:
    runs = read_peer_runs(folder)
    assert runs[["suite", "optimizer", "problem"]].to_numpy().tolist() == [
        ["sbox-2", name, problem] for problem in ("sbox-f1-d2-i1", "sbox-f8-d2-i2") for name in ("cobyqa", "random")
    ]
    assert runs["group"].tolist() == ["separable"] * 2 + ["moderate"] * 2
    assert runs["own_start"].all()
    raw = read_results(folder / "sbox-2")
    for after in (1, 4, 8):
        expected = raw[raw["evaluation"] == after].set_index(["problem", "optimizer"])["regret"]
        keys = list(zip(runs["problem"], runs["optimizer"], strict=True))
        np.testing.assert_array_equal(regret_after(runs, np.full(4, after)), [expected[key] for key in keys])


def test_a_packed_table_comes_back(folder, tmp_path) -> None:
    runs = read_peer_runs(folder)
    write_packed(runs, tmp_path / "new" / "runs.parquet")
    pandas.testing.assert_frame_equal(read_packed(tmp_path / "new" / "runs.parquet"), runs, check_dtype=False)


def test_regrets_after_some_evaluations() -> None:
    assert regret_after(RUNS, np.array([2, 1])).tolist() == [9.0, 2.0]
    assert regret_after(RUNS, np.array([3, 50])).tolist() == [4.0, 2.0]


def test_targets_are_reached_when_the_regret_is_at_most_the_target() -> None:
    reached = first_below(RUNS, np.array([10.0, 9.0, 2.0, 0.5, 0.1]))
    assert reached.tolist() == [[1, 1, 7, 7, np.inf], [1, 1, 1, np.inf, np.inf]]


def test_a_folder_without_runs_is_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match="holds no runs; `betabo bench peers"):
        read_peer_runs(tmp_path)
