from __future__ import annotations

import json
import re
import runpy
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.integrate import trapezoid
from scipy.stats import sem

from betabo.compress.results import (
    EXPERIMENTS_FILE,
    FINAL_COLUMNS,
    FINALS_FILE,
    SEARCH_COLUMNS,
    SEARCHES_FILE,
    read_stored,
)
from betabo.lab.plots.curves import ACQUISITION_NAMES
from betabo.lab.plots.method_looks import METHODS, method_colour, method_name
from betabo.lab.plots.ratios import draw_ratio_maps
from betabo.lab.reproduce import REPRODUCTIONS, Context, Summary, compression
from betabo.lab.reproduce.compression import draw
from betabo.lab.reproduce.compression.claims import judge
from betabo.lab.reproduce.compression.ratios import best_layers, density, describe, visits
from betabo.lab.reproduce.compression.tables import (
    KERNELS,
    MODELS,
    QUANTITIES,
    bootstrap_interval,
    differences,
    spread_of_repeats,
)
from stored_searches import SEEDS, TRIALS, write_stored

PACKAGED = Path(compression.__file__).parent
COLLECT = Path(__file__).parents[3] / "examples" / "compression" / "collect.py"


class Tables(Context):
    """Writes no figures, which take the time."""

    def save_figure(self, name: str, figure: Figure) -> None:
        assert figure.axes


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_stored(tmp_path_factory.mktemp("stored"))


@pytest.fixture(scope="module")
def drawn(stored: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary]:
    context = Context(tmp_path_factory.mktemp("drawn"))
    summary = draw(context, stored)
    assert sorted(path.name for path in context.out.iterdir()) == sorted(context.files)
    return context.out, summary


def objectives(stored: Path, experiment: str, method: str, acquisition: str = "ucb") -> list[float]:
    """Lowest objective of each seed, by pandas alone."""
    table = pd.read_parquet(stored / "searches.parquet")
    chosen = (table["experiment"] == experiment) & (table["method"] == method) & (table["acquisition"] == acquisition)
    return table[chosen].groupby("seed")["objective"].min().to_list()


# Files


def test_every_experiment_has_its_figures(drawn: tuple[Path, Summary]) -> None:
    names = {"objectives", "acquisitions"}
    for experiment in ("tiny-images", "tiny-text"):
        names |= {f"{kind}-{experiment}" for kind in ("objective", "densities", "ratios")}
    for kind, magic in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
        assert {path.stem for path in drawn[0].glob(f"*.{kind}")} == names
        assert all(path.read_bytes().startswith(magic) for path in drawn[0].glob(f"*.{kind}"))


def test_summary_is_json(drawn: tuple[Path, Summary]) -> None:
    figures = json.loads(json.dumps(drawn[1].figures, allow_nan=False))
    assert figures["unfinished searches"] == 0
    assert figures["tiny-text"]["rbf"]["seeds"] == SEEDS
    assert figures["tiny-text"]["original"]["objective"] is None
    assert len(drawn[1].comparison.splitlines()) == 1


def test_unfinished_searches_are_counted_and_left_out(stored: Path, tmp_path: Path) -> None:
    for name in (SEARCHES_FILE, FINALS_FILE, EXPERIMENTS_FILE):
        (tmp_path / name).write_bytes((stored / name).read_bytes())
    table = pd.read_parquet(tmp_path / SEARCHES_FILE)
    short = (table["method"] == "rbf") & (table["seed"] == 1) & (table["trial"] > 9)
    table[~short].to_parquet(tmp_path / SEARCHES_FILE)
    figures = draw(Tables(tmp_path / "out"), tmp_path).figures
    assert figures["unfinished searches"] == 2
    assert figures["tiny-images"]["rbf"]["seeds"] == SEEDS - 1


def test_folder_without_searches_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"experiments.json is missing; expected a folder of stored searches"):
        draw(Context(tmp_path / "out"), tmp_path)
    assert not (tmp_path / "out").exists()


# Tables


@pytest.mark.parametrize("method", ["uniform", "random", "rbf", "matern", "beta-paper", "beta-matern"])
def test_means_are_those_of_the_searches(method: str, stored: Path, drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "summary.csv").set_index(["experiment", "method"])
    acquisition = "" if method in ("random", "uniform") else "ucb"
    values = objectives(stored, "tiny-text", method, acquisition)
    row = table.loc[("tiny-text", method)]
    assert row["objective"] == pytest.approx(np.mean(values))
    assert row["objective_error"] == pytest.approx(sem(values))
    assert row["seeds"] == SEEDS
    assert row["size"] + row["error"] == pytest.approx(row["objective"])
    finals = pd.read_parquet(stored / "finals.parquet")
    finals = finals[(finals["experiment"] == "tiny-text") & (finals["method"] == method)]
    finals = finals[finals["acquisition"] == acquisition]
    assert row["test_f1"] == pytest.approx(finals["test_f1"].mean())
    assert row["latency_cpu"] == pytest.approx(finals["latency_cpu"].mean())
    assert row["objective_on_test"] == pytest.approx((finals["size"] + 1 - finals["test_f1"]).mean())


def test_search_from_levels_is_a_method_of_its_own(stored: Path, drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "summary.csv").set_index(["experiment", "method"])["objective"]
    values = objectives(stored, "tiny-images", "beta-matern", "log_ei")
    assert table["tiny-images", "from-levels"] == pytest.approx(np.mean(values))


def test_the_default_is_shown_where_it_was_run(stored: Path, drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "summary.csv").set_index(["experiment", "method"])["objective"]
    assert table["tiny-text", "default"] == pytest.approx(
        np.mean(objectives(stored, "tiny-text", "beta-additive", "log_ei"))
    )
    assert ("tiny-images", "default") not in table.index
    assert "| betabo's default | 3 |" in (drawn[0] / "table.md").read_text()
    assert table["tiny-images", "beta-matern"] == pytest.approx(
        np.mean(objectives(stored, "tiny-images", "beta-matern"))
    )
    assert "log_ei" not in set(pd.read_csv(drawn[0] / "acquisitions.csv")["acquisition"])


def test_markdown_shows_the_numbers(stored: Path, drawn: tuple[Path, Summary]) -> None:
    text = (drawn[0] / "table.md").read_text()
    head, images, words = text.split("\n## ")
    assert head.startswith("Means ± standard errors")
    assert "6 coordinates; model: tiny; training: steps 7, rate 5e-05\n" in images
    assert "`python search.py tiny-images`" in images
    values = objectives(stored, "tiny-images", "matern")
    assert f"| Matérn | 3 | {np.mean(values):.3f} ± {sem(values):.3f} |" in images
    assert "| Original | 1 | - | 1.000 | - | 0.0 |" in images
    assert "| f1 | CPU latency, ms |" in words
    assert "GPU latency" not in text
    assert "nan" not in text
    ei = objectives(stored, "tiny-text", "beta-paper", "ei")
    (row,) = [line for line in words.splitlines() if line.startswith("| EI |")]
    assert row.split(" | ")[3] == f"{np.mean(ei):.3f} ± {sem(ei):.3f}"
    assert "| EI |" not in images


def test_differences_are_seed_by_seed(stored: Path, drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "differences.csv")
    table = table.set_index(["experiment", "first", "second", "quantity"]).sort_index()
    row = table.loc[("tiny-images", "beta-paper", "matern", "objective")]
    gaps = np.subtract(objectives(stored, "tiny-images", "beta-paper"), objectives(stored, "tiny-images", "matern"))
    assert row["difference"] == pytest.approx(gaps.mean())
    assert (row["wins"], row["seeds"]) == ((gaps < 0).sum(), SEEDS)
    assert (row["low"], row["high"]) == pytest.approx((gaps.min(), gaps.max()))
    parts = [table.loc[("tiny-images", "beta-paper", "matern", name), "difference"] for name in QUANTITIES]
    assert parts[1] + parts[2] == pytest.approx(parts[0])


def test_single_run_is_compared_with_every_seed() -> None:
    rows = [{"method": "rbf", "seed": seed, "objective": 0.5 + seed} for seed in range(4)]
    rows.append({"method": "uniform", "seed": 7, "objective": 1.0})
    ends = pd.DataFrame(rows).assign(experiment="e", size=0.0, error=0.0)
    found = differences(ends)
    row = found[found["quantity"] == "objective"].iloc[0]
    assert (row["first"], row["second"], row["seeds"], row["wins"]) == ("rbf", "uniform", 4, 1)
    assert row["difference"] == pytest.approx(1.0)


def test_spread_of_repeats_is_that_of_equal_points() -> None:
    points = [np.array([0.05, 0.5]), np.array([0.05, 0.5]), np.array([0.05, 0.6]), np.array([0.1, 0.1])]
    table = pd.DataFrame({"experiment": ["e", "e", "e", "other"], "x": points, "objective": [1.0, 1.2, 5.0, 2.0]})
    found = spread_of_repeats(table.assign(failed=False))
    assert found["e"] == pytest.approx(np.std([1.0, 1.2], ddof=1))
    assert np.isnan(found["other"])


def test_interval_is_about_that_of_the_normal_distribution() -> None:
    values = np.random.default_rng(1).normal(2, 1, 400)
    low, high = bootstrap_interval(values)
    assert low == pytest.approx(values.mean() - 1.96 * sem(values), abs=0.01)
    assert high == pytest.approx(values.mean() + 1.96 * sem(values), abs=0.01)


def test_fewer_than_three_seeds_have_no_interval() -> None:
    assert np.isnan(bootstrap_interval(np.array([1.0, 2.0]))).all()
    assert bootstrap_interval(np.array([1.0, 2.0, 3.0])) == (1.0, 3.0)


# Ratios


def test_strategies_count_ratios_near_the_bounds(stored: Path) -> None:
    experiment = read_stored(stored).experiments["tiny-images"]
    x = np.array([0.05, 0.1, 0.11, 0.6, 0.9, 0.89], dtype=np.float32)
    ends = pd.DataFrame({"experiment": ["e"], "method": ["rbf"], "acquisition": ["ucb"], "seed": [0], "x": [x]})
    row = describe(ends, experiment).iloc[0]
    assert row["mean ratio"] == pytest.approx(2.65 / 6)
    assert row["near a bound"] == pytest.approx(3 / 6)
    assert row["near the lower bound"] == pytest.approx(2 / 6)
    assert row["above the middle"] == pytest.approx(3 / 6)


def test_visits_are_of_iterations_alone(stored: Path) -> None:
    experiment = read_stored(stored).experiments["tiny-images"]
    points = [np.full(6, 0.05)] * 5 + [np.array([0.05, 0.1, 0.3, 0.4, 0.5, 0.6]), np.full(6, 0.9)]
    names = {"experiment": "e", "method": "rbf", "acquisition": "ucb", "seed": 0}
    table = pd.DataFrame({"trial": range(7), "x": points}).assign(**names)
    (row,) = visits(pd.concat([table, table.assign(method="uniform")]), experiment).to_dict("records")
    assert row["method"] == "rbf"
    assert row["visited near a bound"] == pytest.approx((2 / 6 + 1) / 2)


@pytest.mark.parametrize(
    ("sample", "share"),
    [([0.05] * 8 + [0.95] * 2, 0.8), ([0.05] * 10, 1.0), ([0.3, 0.4, 0.5, 0.9], 0.75)],
    ids=["on both bounds", "all equal", "inside"],
)
def test_density_integrates_to_one_and_keeps_what_lies_on_the_bounds(sample: list[float], share: float) -> None:
    places, values = density(np.array(sample), (0.05, 0.95))
    assert (places[0], places[-1]) == (0.05, 0.95)
    assert (values >= 0).all()
    assert trapezoid(values, places) == pytest.approx(1, abs=0.02)
    left = places <= 0.6
    assert trapezoid(values[left], places[left]) == pytest.approx(share, abs=0.12)


def test_density_falls_from_the_bound_where_all_ratios_lie() -> None:
    _, values = density(np.full(72, 0.05), (0.05, 0.95))
    assert (np.diff(values) <= 0).all()
    assert values[0] > 50 * values[len(values) // 2]


def test_densities_are_of_all_seeds_at_each_iteration(drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "densities.csv")
    assert set(table["seeds"]) == {SEEDS}
    assert set(table["iteration"].dropna()) == {1, 10}
    assert TRIALS - 4 < 20
    assert set(table["method"]) == set(MODELS)


def test_map_has_the_best_seed_of_each_kernel(stored: Path, drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "ratios.csv")
    searches = pd.read_parquet(stored / "searches.parquet")
    for experiment, dimension in (("tiny-images", 6), ("tiny-text", 4)):
        chosen = (searches["experiment"] == experiment) & (searches["method"] == "matern")
        best = searches.loc[searches.loc[chosen & (searches["acquisition"] == "ucb"), "objective"].idxmin()]
        rows = table[(table["experiment"] == experiment) & (table["method"] == "matern")]
        assert len(rows) == dimension
        assert set(rows["seed"]) == {best["seed"]}
        np.testing.assert_allclose(rows["ratio"], best["x"], rtol=1e-6)


def test_layers_stand_by_block_and_role(stored: Path, drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "ratios.csv", dtype={"column": str})
    rows = table[table["method"] == "rbf"]
    layers = rows[rows["experiment"] == "tiny-images"]
    assert layers["column"].to_list() == ["0"] * 3 + ["1"] * 3
    assert layers["row"].to_list() == ["Q", "K", "FC1"] * 2
    blocks = rows[rows["experiment"] == "tiny-text"]
    assert blocks["column"].to_list() == ["0", "1", "2", "classifier"]
    assert set(blocks["row"]) == {"all layers"}


def test_layers_of_one_role_in_a_block_are_numbered(stored: Path) -> None:
    experiment = replace(read_stored(stored).experiments["tiny-images"], roles=("Q", "FC", "FC") * 2)
    ends = pd.DataFrame({"method": ["rbf"], "seed": [0], "objective": [1.0], "x": [np.linspace(0.05, 0.95, 6)]})
    layers = best_layers(ends, experiment, KERNELS)
    assert layers["row"].to_list() == ["Q", "FC", "FC (2)"] * 2
    (panel, _) = draw_ratio_maps(layers, (0.05, 0.95), "title").axes
    np.testing.assert_allclose(panel.images[0].get_array(), np.linspace(0.05, 0.95, 6).reshape(2, 3).T)
    assert [text.get_text() for text in panel.texts] == ["5", "59", "23", "77", "41", "95"]


# Looks


def test_methods_have_names_and_colours_of_their_own() -> None:
    assert len({method_name(method) for method in METHODS}) == len(METHODS)
    assert len({method_colour(method) for method in METHODS if method != "original"}) == len(METHODS) - 1


# Claims


def claims_of(
    means: dict[str, tuple[float, float]],
    ratios: dict[str, tuple[float, float, float]] | None = None,
    by_acquisition: dict[tuple[str, str], float] | None = None,
) -> dict[str, str]:
    """Verdicts by the claim's first words, of one experiment.

    Args:
        means: Size and error of each method.
        ratios: Mean ratio, share near the lower bound, which is all near a bound, and share above the middle.
        by_acquisition: Objectives by kernel and acquisition function.
    """
    shifts = (-0.002, 0.0, 0.002)
    rows = [
        {
            "experiment": "e",
            "method": m,
            "seed": s,
            "size": size,
            "error": error + shift,
            "objective": size + error + shift,
        }
        for m, (size, error) in means.items()
        for s, shift in enumerate(shifts)
    ]
    ends = pd.DataFrame(rows)
    summary = ends.groupby(["experiment", "method"])[["objective", "size", "error"]].mean().reset_index()
    summary = summary.assign(objective_on_test=summary["objective"])
    layers = pd.DataFrame(
        [("e", m, "ucb", 0, mean, low, low, above) for m, (mean, low, above) in (ratios or {}).items()],
        columns=[
            *("experiment", "method", "acquisition", "seed"),
            *("mean ratio", "near a bound", "near the lower bound", "above the middle"),
        ],
    )
    acquisitions = pd.DataFrame(
        [("e", m, a, value) for (m, a), value in (by_acquisition or {}).items()],
        columns=["experiment", "method", "acquisition", "mean"],
    )
    claims = judge(summary, differences(ends), layers, acquisitions)
    assert all(claim.checks and claim.evidence for claim in claims)
    return {claim.text.split(":")[0]: claim.verdict for claim in claims}


PAPER = {
    "rbf": (0.5, 0.2),
    "matern": (0.45, 0.2),
    "beta-paper": (0.3, 0.2),
    "random": (0.6, 0.3),
    "uniform": (0.5, 0.3),
}


def test_claims_hold_on_numbers_like_those_of_the_paper() -> None:
    ratios = {"rbf": (0.5, 0.1, 0.5), "matern": (0.48, 0.15, 0.5), "beta-paper": (0.2, 0.8, 0.15)}
    order = ("ucb", "corrected_ei", "pi", "corrected_pi", "ei")
    values = {
        (m, a): base + 0.01 * place
        for m, base in (("matern", 0.6), ("beta-paper", 0.5))
        for place, a in enumerate(order)
    }
    verdicts = claims_of(PAPER, ratios, values)
    assert len(verdicts) == 11
    assert set(verdicts.values()) == {"holds"}


def test_claims_fail_on_numbers_unlike_those_of_the_paper() -> None:
    means = dict.fromkeys(("rbf", "matern"), (0.3, 0.2)) | {
        "beta-paper": (0.5, 0.2),
        "beta-matern": (0.55, 0.2),
        "from-levels": (0.6, 0.2),
    }
    means |= {"random": (0.25, 0.2), "uniform": (0.1, 0.2)}
    ratios = {"rbf": (0.2, 0.5, 0.1), "matern": (0.2, 0.5, 0.1), "beta-paper": (0.5, 0.1, 0.5)}
    values = {(m, a): (0.5 if m == "matern" else 0.6) for m in ("matern", "beta-paper") for a in ACQUISITION_NAMES}
    values |= {("beta-paper", "ei"): 0.55, ("matern", "pi"): 0.4, ("matern", "ei"): 0.4}
    verdicts = claims_of(means, ratios, values)
    assert len(verdicts) == 18
    assert set(verdicts.values()) == {"does not hold"}


def test_advantage_in_error_is_none_in_size() -> None:
    text = "Where Beta (paper) is ahead of Matérn in the mean, it is by size"
    assert claims_of(PAPER)[text] == "holds"
    assert claims_of(PAPER | {"beta-paper": (0.44, 0.1)})[text] == "does not hold"


def test_difference_within_the_spread_of_the_seeds_does_not_count() -> None:
    rows = [
        {"experiment": "e", "method": m, "seed": s, "size": 0.1, "error": value, "objective": 0.1 + value}
        for m, values in {"matern": (0.3, 0.3, 0.3), "beta-paper": (0.1, 0.29, 0.31)}.items()
        for s, value in enumerate(values)
    ]
    ends = pd.DataFrame(rows)
    summary = ends.groupby(["experiment", "method"])["objective"].mean().reset_index()
    summary = summary.assign(objective_on_test=np.nan)
    empty = pd.DataFrame(columns=["experiment", "method", "acquisition", "seed", "mean ratio", "mean"])
    first, *_ = judge(summary, differences(ends), empty, empty)
    assert first.text.startswith("Beta (paper) ends lower than Matérn")
    assert first.verdict == "does not hold"


# Searches of a run, collected


@pytest.mark.parametrize("trials", [34, 35], ids=["unfinished", "finished"])
def test_latency_belongs_to_the_timed_model_alone(trials: int, tmp_path: Path) -> None:
    """The timed model is the best of all seeds; if its search is not finished, no row has a latency."""
    about = {
        "title": "a tiny model",
        "metric": "accuracy",
        "flops": 10,
        "parameters": 9,
        "left_out": [],
        "seconds": 1.0,
    }
    about |= {"validation": {"accuracy": 0.9}, "test": {"accuracy": 0.8}, "also": {}}
    prepared, searches = tmp_path / "prepared" / "tiny", tmp_path / "searches"
    prepared.mkdir(parents=True)
    searches.mkdir()
    (prepared / "facts.json").write_text(json.dumps(about))
    measured = {"error": 0.1, "flops": 5, "parameters": 4, "metrics": {"accuracy": 0.9}, "test": {"accuracy": 0.7}}
    for seed, count, objective in ((0, 35, 0.6), (1, trials, 0.5)):
        lines = [
            {"trial": k, "x": [0.5], "objective": objective, "size": objective - 0.1} | measured for k in range(count)
        ]
        (searches / f"tiny-rbf-ucb-s{seed}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    timed = [
        {"experiment": "tiny", "method": method, "batch": batch, "median": seconds}
        for method, batch, seconds in (
            ("original", 1, 3.0),
            ("original", 128, 4.0),
            ("rbf/ucb", 1, 1.0),
            ("rbf/ucb", 128, 2.0),
        )
    ]
    (tmp_path / "latency-cuda.json").write_text(json.dumps({"rows": timed, "device": "a GPU"}))
    counts = runpy.run_path(str(COLLECT))["collect"](tmp_path, tmp_path / "out", "make")
    assert counts["searches"] == 1 + (trials == 35)
    finals = pd.read_parquet(tmp_path / "out" / FINALS_FILE).set_index(["method", "seed"])
    assert finals.loc[("original", 0), ["latency_gpu", "latency_gpu_one"]].to_list() == [4.0, 3.0]
    assert np.isnan(finals.loc[("rbf", 0), "latency_gpu"])
    if trials == 35:
        assert finals.loc[("rbf", 1), ["latency_gpu", "latency_gpu_one"]].to_list() == [2.0, 1.0]
    assert finals["latency_cpu"].isna().all()
    described = json.loads((tmp_path / "out" / EXPERIMENTS_FILE).read_text())["tiny"]
    assert (described["title"], described["timed"], described["command"]) == ("A tiny model", {"cuda": "a GPU"}, "make")


def test_collecting_nothing_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="holds no prepared experiment"):
        runpy.run_path(str(COLLECT))["collect"](tmp_path / "nowhere", tmp_path / "out", "make")
    assert not (tmp_path / "out").exists()


def test_collecting_keeps_the_experiments_of_other_runs(stored: Path, tmp_path: Path) -> None:
    folder, run = Path(shutil.copytree(stored, tmp_path / "stored")), tmp_path / "run"
    before = {name: pd.read_parquet(folder / name) for name in (SEARCHES_FILE, FINALS_FILE)}
    prepared = run / "prepared" / "tiny-text"
    prepared.mkdir(parents=True)
    about = {"title": "again", "metric": "accuracy", "flops": 1, "parameters": 1, "left_out": [], "seconds": 1.0}
    about |= {"validation": {"accuracy": 0.9}, "test": {"accuracy": 0.8}, "also": {}}
    (prepared / "facts.json").write_text(json.dumps(about))
    runpy.run_path(str(COLLECT))["collect"](run, folder, "make")
    searches, finals = (pd.read_parquet(folder / name) for name in before)
    assert set(searches["experiment"]) == {"tiny-images"}  # the other one is replaced, by a run without searches
    kept = before[SEARCHES_FILE][before[SEARCHES_FILE]["experiment"] == "tiny-images"].reset_index(drop=True)
    pd.testing.assert_frame_equal(searches[kept.columns], kept)
    assert finals.groupby("experiment").size()["tiny-text"] == 1
    described = json.loads((folder / EXPERIMENTS_FILE).read_text())
    assert list(described) == ["tiny-images", "tiny-text"]
    assert described["tiny-text"]["title"] == "Again"


# The searches that come with the package

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
