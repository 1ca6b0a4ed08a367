from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from betabo.lab.plots.names import ACQUISITION_NAMES, METHODS
from betabo.lab.reproduce import REPRODUCTIONS, Context, compression
from betabo.lab.reproduce.compression.results import (
    EXPERIMENTS_FILE,
    FINAL_COLUMNS,
    SEARCH_COLUMNS,
    SEARCHES_FILE,
    read_stored,
)
from betabo.lab.reproduce.compression.tables import (
    KERNELS,
)

PACKAGED = Path(compression.__file__).parent


packaged = pytest.mark.skipif(not (PACKAGED / SEARCHES_FILE).exists(), reason="no searches are stored in the package")


@packaged
def test_packaged_searches_have_the_documented_columns() -> None:
    found = read_stored(PACKAGED)
    assert set(SEARCH_COLUMNS) <= set(found.searches.columns)
    assert set(FINAL_COLUMNS) <= set(found.finals.columns)
    for name, experiment in found.experiments.items():
        assert {f"metric_{experiment.metric}"} <= set(found.searches.columns), name
        assert {f"test_{experiment.metric}"} <= set(found.finals.columns), name
    assert set(found.searches["method"]) <= {*METHODS, "beta-additive"}
    assert set(found.searches["acquisition"]) <= {"", "log_ei", *ACQUISITION_NAMES}


@packaged
def test_packaged_searches_have_each_kernel() -> None:
    found = read_stored(PACKAGED)
    assert len(found.experiments) == 7
    searches = found.searches[found.searches["acquisition"].isin(("ucb", ""))]
    seeds = searches.groupby(["experiment", "method"])["seed"].nunique().unstack()
    assert set(seeds.index) == set(found.experiments)
    assert (seeds[[*KERNELS, "random"]] >= 2).all(axis=None)
    for text in ("minilm-", "-narrow"):
        assert (seeds.filter(like=text, axis="index")[[*KERNELS, "random"]] >= 3).all(axis=None)
    assert (seeds["uniform"] == 1).all()


@packaged
def test_packaged_searches_compare_acquisition_functions() -> None:
    searches = read_stored(PACKAGED).searches
    several = searches[searches["method"].isin(("matern", "beta-paper"))]
    seeds = several.groupby(["experiment", "method", "acquisition"])["seed"].nunique().unstack()
    assert (seeds.loc["gpt2-shakespeare-narrow"][list(ACQUISITION_NAMES)] >= 3).all(axis=None)


@packaged
def test_packaged_searches_from_uniform_levels_begin_with_them() -> None:
    searches = read_stored(PACKAGED).searches
    from_levels = (searches["method"] == "beta-matern") & (searches["acquisition"] == "log_ei")
    starts = searches[from_levels & (searches["trial"] < 5)]
    assert (starts.groupby("experiment")["seed"].nunique() >= 2).all()
    for row in starts.itertuples():
        np.testing.assert_allclose(row.x, 0.05 + 0.225 * row.trial, rtol=1e-6)


@packaged
def test_packaged_descriptions_have_no_place_of_a_machine() -> None:
    text = (PACKAGED / EXPERIMENTS_FILE).read_text()
    assert not re.search(r'[" ](/|~|[A-Z]:\\)', text)


@packaged
def test_packaged_searches_of_a_seed_start_from_the_same_points() -> None:
    searches = read_stored(PACKAGED).searches
    starts = searches[(searches["acquisition"] == "ucb") & (searches["trial"] < 5)]
    for _, same in starts.groupby(["experiment", "seed", "trial"]):
        points = np.stack(same["x"].to_list())
        np.testing.assert_array_equal(points, np.broadcast_to(points[0], points.shape))


@packaged
def test_packaged_objectives_are_size_and_error() -> None:
    searches = read_stored(PACKAGED).searches
    good = searches[~searches["failed"]]
    np.testing.assert_allclose(good["objective"], good["size"] + good["error"], atol=1e-5)


@packaged
@pytest.mark.slow
def test_packaged_searches_can_be_drawn(tmp_path: Path) -> None:
    context = Context(tmp_path, scale="smoke")
    summary = REPRODUCTIONS["compression"].run(context)
    assert "objectives.png" in context.files
    assert len(summary.claims) >= 8
