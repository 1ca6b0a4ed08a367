from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from betabo.lab.reproduce.compression.results import (
    best_points,
    comparable,
    mean_progress,
    progress,
    ratios_of,
    read_stored,
)
from stored_searches import LEVELS, SEEDS, TRIALS, write_stored


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_stored(tmp_path / "stored")


def change(folder: Path, name: str, edit: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    edit(pd.read_parquet(folder / name)).to_parquet(folder / name)


def edit_experiment(folder: Path, edit: Callable[[dict[str, object]], None]) -> None:
    path = folder / "experiments.json"
    experiments = json.loads(path.read_text())
    edit(experiments["tiny-images"])
    path.write_text(json.dumps(experiments))


# Reading


def test_experiments_are_described(folder: Path) -> None:
    stored = read_stored(folder)
    assert list(stored.experiments) == ["tiny-images", "tiny-text"]
    experiment = stored.experiments["tiny-images"]
    assert (experiment.title, experiment.metric, experiment.dims) == ("Tiny on images", "accuracy", 6)
    assert experiment.bounds == (0.05, 0.95)
    assert experiment.facts == {
        "model": "tiny",
        "training": {"steps": 7, "rate": 5e-5},
        "left_out": [{"name": "head"}],
        "command": "python search.py tiny-images",
    }
    assert stored.experiments["tiny-text"].blocks == (0, 1, 2, None)


def test_every_evaluation_is_read(folder: Path) -> None:
    stored = read_stored(folder)
    assert len(stored.searches) == SEEDS * ((6 + 15) * TRIALS + 2 * LEVELS)
    assert ratios_of(stored.searches[stored.searches["experiment"] == "tiny-text"]).shape[1] == 4
    assert (stored.finals["method"] == "original").sum() == 2


@pytest.mark.parametrize("name", ["searches.parquet", "finals.parquet", "experiments.json"])
def test_missing_file_is_named(name: str, folder: Path) -> None:
    (folder / name).unlink()
    with pytest.raises(ValueError, match=rf"{name} is missing; expected a folder of stored searches"):
        read_stored(folder)


@pytest.mark.parametrize(("name", "column"), [("searches.parquet", "objective"), ("finals.parquet", "latency_gpu")])
def test_missing_column_is_named(name: str, column: str, folder: Path) -> None:
    change(folder, name, lambda table: table.drop(columns=column))
    with pytest.raises(ValueError, match=rf"{name} has no column '{column}'"):
        read_stored(folder)


def test_experiment_without_description_is_refused(folder: Path) -> None:
    change(folder, "finals.parquet", lambda table: table.replace({"experiment": {"tiny-text": "other"}}))
    with pytest.raises(ValueError, match=r"finals.parquet has the experiment 'other', which experiments.json lacks"):
        read_stored(folder)


def test_description_without_title_is_refused(folder: Path) -> None:
    edit_experiment(folder, lambda facts: facts.pop("title"))
    with pytest.raises(ValueError, match="'tiny-images' has no 'title'"):
        read_stored(folder)


def test_roles_are_one_a_coordinate(folder: Path) -> None:
    edit_experiment(folder, lambda facts: facts.update(roles=["Q"]))
    with pytest.raises(ValueError, match="'tiny-images' has 1 roles, expected 6"):
        read_stored(folder)


def test_evaluation_that_stands_twice_is_refused(folder: Path) -> None:
    change(folder, "searches.parquet", lambda table: pd.concat([table, table.iloc[[3]]], ignore_index=True))
    with pytest.raises(ValueError, match=r"two rows of experiment 'tiny-images', method 'rbf', .*trial .*3"):
        read_stored(folder)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([0.5] * 5, "tiny-images has a point of 5 ratios, expected 6"),
        ([0.5] * 5 + [0.96], r"tiny-images has the ratio 0.96, expected one in \[0.05, 0.95\]"),
        ([0.5] * 5 + [np.nan], "tiny-images has the ratio nan"),
    ],
    ids=["length", "outside", "nan"],
)
def test_points_out_of_the_box_are_refused(x: list[float], message: str, folder: Path) -> None:
    def put(table: pd.DataFrame) -> pd.DataFrame:
        table.at[0, "x"] = np.array(x, dtype=np.float32)
        return table

    change(folder, "searches.parquet", put)
    with pytest.raises(ValueError, match=message):
        read_stored(folder)


@pytest.mark.parametrize("missing", ["pandas", "pyarrow"])
def test_missing_package_names_the_extra(missing: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf"stored searches need {missing}: pip install 'betabo\[tables\]'"):
        read_stored(folder)


def test_names_may_be_stored_as_categories_and_no_acquisition_as_nothing(folder: Path) -> None:
    before = read_stored(folder).searches

    def put(table: pd.DataFrame) -> pd.DataFrame:
        table["acquisition"] = table["acquisition"].astype(object).replace("", None)
        return table.astype(dict.fromkeys(("experiment", "method", "acquisition"), "category"))

    change(folder, "searches.parquet", put)
    after = read_stored(folder).searches
    pd.testing.assert_frame_equal(comparable(after).drop(columns="x"), comparable(before).drop(columns="x"))


# Tables


def one(table: pd.DataFrame, method: str, seed: int = 0, acquisition: str = "ucb") -> pd.DataFrame:
    chosen = (table["experiment"] == "tiny-text") & (table["method"] == method) & (table["seed"] == seed)
    return table[chosen & (table["acquisition"] == acquisition)]


def test_progress_is_the_running_minimum_from_the_last_starting_point(folder: Path) -> None:
    searches = read_stored(folder).searches
    found = one(progress(searches), "matern", 1)
    values = one(searches, "matern", 1).sort_values("trial")["objective"].to_numpy()
    assert found["iteration"].to_list() == list(range(TRIALS - 4))
    assert found["best"].to_list() == [min(values[: 5 + i]) for i in range(TRIALS - 4)]
    assert "uniform" not in set(progress(searches)["method"])


def test_failed_evaluations_do_not_count(folder: Path) -> None:
    def put(table: pd.DataFrame) -> pd.DataFrame:
        table.loc[table["failed"], "objective"] = -1.0
        return table

    change(folder, "searches.parquet", put)
    searches = read_stored(folder).searches
    good = one(searches, "rbf")[~one(searches, "rbf")["failed"]]
    assert len(good) == TRIALS - 2
    assert one(progress(searches), "rbf")["best"].iloc[-1] == good["objective"].min() > 0
    assert one(best_points(searches), "rbf")["objective"].item() == good["objective"].min()


def test_search_that_only_failed_has_no_best_value(folder: Path) -> None:
    searches = read_stored(folder).searches
    searches.loc[one(searches, "matern").index, ["failed", "objective"]] = [True, np.nan]
    assert one(progress(searches), "matern")["best"].isna().all()
    assert one(best_points(searches), "matern").empty
    means = mean_progress(searches)
    assert set(means.loc[(means["experiment"] == "tiny-text") & (means["method"] == "rbf"), "seeds"]) == {SEEDS}
    others = (means["experiment"] == "tiny-text") & (means["method"] == "matern") & (means["acquisition"] == "ucb")
    assert set(means.loc[others, "seeds"]) == {SEEDS - 1}


def test_mean_progress_has_the_standard_error_over_seeds(folder: Path) -> None:
    searches = read_stored(folder).searches
    means = mean_progress(searches)
    row = means[(means["experiment"] == "tiny-text") & (means["method"] == "beta-paper") & (means["iteration"] == 11)]
    row = row[row["acquisition"] == "ei"].iloc[0]
    lows = [one(searches, "beta-paper", seed, "ei")["objective"].min() for seed in range(SEEDS)]
    assert row["mean"] == pytest.approx(np.mean(lows))
    assert row["standard_error"] == pytest.approx(np.std(lows, ddof=1) / np.sqrt(SEEDS))


def test_best_point_is_a_whole_row(folder: Path) -> None:
    searches = read_stored(folder).searches
    ends = best_points(searches)
    assert len(ends) == SEEDS * (7 + 7 + 9)
    rows = one(searches, "uniform", 2, "")
    best = rows.loc[rows["objective"].idxmin()]
    found = one(ends, "uniform", 2, "").iloc[0]
    assert found["trial"] == best["trial"]
    assert np.array_equal(found["x"], best["x"])
    assert found["error"] == best["error"]


def test_only_searches_of_equal_length_are_comparable(folder: Path) -> None:
    searches = read_stored(folder).searches
    short = one(searches, "matern", 1)
    searches = searches.drop(short.index[short["trial"] == TRIALS - 1])
    long = one(searches, "random", 0, "").iloc[[-1]].assign(trial=TRIALS, objective=-5.0)
    searches = pd.concat([searches, long], ignore_index=True)
    kept = comparable(searches)
    assert one(kept, "matern", 1).empty
    assert len(one(kept, "matern", 2)) == TRIALS
    assert len(one(kept, "random", 0, "")) == TRIALS
    assert kept["objective"].min() > 0
    assert len(one(kept, "uniform", 0, "")) == LEVELS
