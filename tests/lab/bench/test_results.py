from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from betabo.lab.bench import read_results, values_at
from betabo.lab.bench.results import run_files
from betabo.lab.problems import problem_by_name


def test_a_folder_becomes_one_table(tiny, tiny_folder) -> None:
    table = read_results(tiny_folder)
    assert len(table) == 12 * 8
    assert table["optimizer"].cat.categories.tolist() == ["beta", "matern", "random"]
    assert table["problem"].cat.categories.tolist() == list(tiny.problems)
    assert set(table["placement"]) == {"vertex", "centre"}
    for name, part in table.groupby("problem", observed=True):
        problem = problem_by_name(str(name))
        assert (part["dim"] == problem.dim).all()
        np.testing.assert_allclose(part["regret"], part["best"] - problem.optimal_value)
        assert (part["regret"] >= 0).all()
    assert (table["starting_points"] == 5).all()
    assert len(table["x"].iloc[0]) == 2
    last = table[(table["evaluation"] == 8) & (table["optimizer"] != "random")]
    assert (last["lengthscale"].map(len) + last["bandwidth"].map(len) > 0).all()


def test_columns_can_be_chosen(tiny_folder) -> None:
    table = read_results(tiny_folder, columns=["x"])
    assert {"evaluation", "x", "best", "regret"} < set(table.columns)
    assert "bandwidth" not in table.columns


def test_values_after_some_evaluations(tiny_folder) -> None:
    table = read_results(tiny_folder, columns=[])
    whole, early = values_at(table), values_at(table, 5)
    assert len(whole) == len(early) == 12
    assert (whole["evaluation"] == 8).all()
    assert (whole["best"] <= early["best"]).all()
    for _, part in early.groupby(["problem", "seed"], observed=True):
        assert part["best"].nunique() == 1  # the same starting points, to the last digit
    for at in (0, 9):
        with pytest.raises(ValueError, match=f"at is {at}, expected a number of evaluations from 1 to 8"):
            values_at(table, at)


def test_an_empty_folder_is_explained(tmp_path) -> None:
    with pytest.raises(ValueError, match="holds no runs; `betabo bench run"):
        read_results(tmp_path)


def test_files_that_are_being_written_are_no_runs(tmp_path: Path) -> None:
    for folder in ("betabo/levy", ".writing-1/levy"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "0.parquet").touch()
    assert run_files(tmp_path) == [tmp_path / "betabo/levy/0.parquet"]
