from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pandas
import pytest
from scipy import stats

from betabo.lab.bench import OPTIMIZERS, OptimizerEntry, run_campaign
from betabo.lab.bench.optimizers.random_search import RandomSearch
from betabo.lab.bench.peers import SUITES, Suite, bbob_suite, plan_peers, read_not_run, record_not_run, suites_named
from betabo.lab.bench.peers_report import Goal, check_goals, step_seconds, write_report
from betabo.lab.bench.peers_runs import FLOOR, read_peer_runs
from betabo.lab.bench.statistics import compare, relative_to_best_peer, relative_to_each_peer
from betabo.lab.bench.storage import read_metadata
from betabo.lab.plots.peer_ratios import draw_peer_ratios
from betabo.lab.plots.style import BLUE, VERMILION
from betabo.lab.problems import problem_by_name
from lab.bench.conftest import Here

# Regrets by problem and optimizer, one number a seed.
TABLE = {
    "levy-6-centre": {"betabo": [1.0, 3.0], "good": [2.0, 2.0], "bad": [8.0, 12.0]},
    "levy-6-face": {"betabo": [1.0, 1.0], "good": [4.0, 4.0], "bad": [2.0, 6.0]},
    "levy-6-vertex": {"betabo": [6.0, 6.0], "good": [3.0, 1.0], "bad": [5.0, 7.0]},
}
TINY = {
    "synthetic-6": Suite("synthetic-6", "Two problems.", ("levy-6-face", "branin-6-centre"), 8, 5),
    "real": Suite("real", "One.", ("pressure_vessel-4-centre",), 9, 6),
}


def made_up(table: dict[str, dict[str, list[float]]] = TABLE) -> pandas.DataFrame:
    rows = [
        {
            "optimizer": optimizer,
            "problem": problem,
            "function": "levy",
            "dim": 6,
            "placement": problem.split("-")[2],
            "seed": seed,
            "regret": regret,
        }
        for problem, optimizers in table.items()
        for optimizer, regrets in optimizers.items()
        for seed, regret in enumerate(regrets)
    ]
    return pandas.DataFrame(rows)


def noisy(seeds: int, problems: int = 1) -> pandas.DataFrame:
    generator = np.random.default_rng(7)
    table = {
        f"levy-{p + 2}-face": {
            name: list(np.exp(generator.normal(mean, 0.5, size=seeds)))
            for name, mean in (("betabo", 0.0), ("good", 0.3), ("bad", 0.5))
        }
        for p in range(problems)
    }
    return made_up(table)


def test_ratios_to_each_peer_are_geometric_means_worked_out_by_hand() -> None:
    rows = relative_to_each_peer(made_up(), "betabo").set_index("peer")
    assert list(rows.index) == ["good", "bad"]  # the closest first
    assert rows.loc["good", ["wins", "ties", "losses"]].tolist() == [1, 1, 1]
    assert rows.loc["bad", ["wins", "ties", "losses"]].tolist() == [2, 1, 0]
    assert rows.loc["good", "ratio"] == pytest.approx((1 * 0.25 * 3) ** (1 / 3))
    assert rows.loc["bad", "ratio"] == pytest.approx((0.2 * 0.25 * 1) ** (1 / 3))
    assert rows.loc["good", ["low", "high"]].tolist() == pytest.approx([0.25, 3.0])  # all draws of one problem


def test_ratios_to_a_peer_use_the_runs_that_both_have() -> None:
    values = made_up()
    late = (values["optimizer"] == "good") & (values["seed"] == 1)
    never = (values["optimizer"] == "good") & (values["problem"] == "levy-6-vertex")
    rows = relative_to_each_peer(values[~late & ~never], "betabo").set_index("peer")
    assert rows.loc["good", ["problems", "runs"]].tolist() == [2, 2]
    assert rows.loc["good", "ratio"] == pytest.approx(math.sqrt(0.5 * 0.25))
    assert rows.loc["bad", ["problems", "runs"]].tolist() == [3, 6]


def test_ratios_are_those_of_the_means_worked_out_by_hand() -> None:
    ratios = relative_to_best_peer(made_up(), "betabo", resamples=50)
    rows = ratios.table.set_index("problem")
    assert rows["value"].to_dict() == {"levy-6-centre": 2.0, "levy-6-face": 1.0, "levy-6-vertex": 6.0}
    assert rows["peer_value"].to_dict() == {"levy-6-centre": 2.0, "levy-6-face": 4.0, "levy-6-vertex": 2.0}
    assert rows["ratio"].to_dict() == {"levy-6-centre": 1.0, "levy-6-face": 0.25, "levy-6-vertex": 3.0}
    assert rows.loc["levy-6-centre", "peer"] == rows.loc["levy-6-vertex", "peer"] == "good"
    assert ratios.geometric_mean.estimate == pytest.approx(0.75 ** (1 / 3))
    assert ratios.geometric_mean.estimate == pytest.approx(stats.gmean([1.0, 0.25, 3.0]))
    assert rows["seeds"].tolist() == [2, 2, 2]
    assert ratios.left_out == []


def test_wins_ties_and_losses_are_seed_by_seed_against_the_best_peer() -> None:
    rows = relative_to_best_peer(made_up(), "betabo", resamples=50).table.set_index("problem")
    counts = rows[["wins", "ties", "losses"]]
    assert counts.loc["levy-6-centre"].tolist() == [1, 0, 1]
    assert counts.loc["levy-6-face"].tolist() == [2, 0, 0]
    assert counts.loc["levy-6-vertex"].tolist() == [0, 0, 2]
    tied = {"levy-6-face": {"betabo": [1.0, 2.0, 3.0], "good": [1.0, 1.0, 5.0]}}
    row = relative_to_best_peer(made_up(tied), "betabo", resamples=50).table.iloc[0]
    assert [row["wins"], row["ties"], row["losses"]] == [1, 1, 1]


def test_intervals_of_a_problem_agree_with_scipy() -> None:
    values = noisy(seeds=12)
    ratios = relative_to_best_peer(values, "betabo", resamples=40_000)
    own, good, bad = (
        values.loc[values["optimizer"] == name, "regret"].to_numpy() for name in ("betabo", "good", "bad")
    )

    def ratio(own, good, bad, axis):
        return own.mean(axis=axis) / np.minimum(good.mean(axis=axis), bad.mean(axis=axis))

    expected = stats.bootstrap(
        (own, good, bad), ratio, paired=True, vectorized=True, n_resamples=40_000, method="percentile", rng=1
    ).confidence_interval
    row = ratios.table.iloc[0]
    assert row["low"] == pytest.approx(expected.low, rel=0.02)
    assert row["high"] == pytest.approx(expected.high, rel=0.02)


def test_the_interval_of_the_mean_is_that_of_independent_problems() -> None:
    ratios = relative_to_best_peer(noisy(seeds=20, problems=9), "betabo")
    mean, rows = ratios.geometric_mean, ratios.table
    assert mean.low < mean.estimate < mean.high
    widths = np.log(rows["high"] / rows["low"])  # of means of n logarithms, variances add up and are divided by n^2
    assert math.log(mean.high / mean.low) == pytest.approx(np.sqrt(np.square(widths).sum()) / 9, rel=0.15)
    single = relative_to_best_peer(noisy(6), "betabo")
    row = single.table.iloc[0]
    assert (single.geometric_mean.low, single.geometric_mean.high) == pytest.approx((row["low"], row["high"]))


def test_seeds_that_not_all_have_done_are_left_out() -> None:
    values = made_up()
    late = (values["optimizer"] == "bad") & (values["seed"] == 1)
    never = (values["optimizer"] == "bad") & (values["problem"] == "levy-6-face")
    ratios = relative_to_best_peer(values[~late & ~never], "betabo", resamples=50)
    rows = ratios.table.set_index("problem")
    assert rows["seeds"].to_dict() == {"levy-6-centre": 1, "levy-6-vertex": 1}
    assert rows["ratio"].to_dict() == {"levy-6-centre": 0.5, "levy-6-vertex": 2.0}
    assert ratios.left_out == ["levy-6-face"]


def test_what_cannot_be_compared_is_explained() -> None:
    values = made_up()
    with pytest.raises(ValueError, match=r"runs of bad, good, expected some of betabo"):
        relative_to_best_peer(values[values["optimizer"] != "betabo"], "betabo")
    with pytest.raises(ValueError, match="raise it to a floor first"):
        relative_to_best_peer(values.assign(regret=0.0), "betabo")
    apart = values[(values["optimizer"] == "betabo") == (values["seed"] == 0)]
    with pytest.raises(ValueError, match="no problem was done by all"):
        relative_to_best_peer(apart, "betabo")


def goals_of(values: pandas.DataFrame, seconds: dict[str, float]) -> dict[str, Goal]:
    table = pandas.DataFrame({"all": seconds})
    comparisons = {"all": compare(values, column="regret"), "d = 6": compare(values, column="regret")}
    return {goal.text: goal for goal in check_goals(comparisons, relative_to_best_peer(values, "betabo"), table)}


def test_goals_are_judged_by_the_numbers() -> None:
    # Ranks: betabo 1.5, 1, 2.5 and good 1.5, 2.5, 1: means 5/3 each, which is not the lowest alone.
    goals = goals_of(made_up(), {"betabo": 0.2, "optuna-gp": 0.1})
    assert goals["lowest mean rank, all problems"].verdict == "not reached"
    assert "betabo 1.67, good 1.67" in goals["lowest mean rank, all problems"].evidence
    assert goals["geometric mean of the regret relative to the best peer at most 0.8"].verdict == "not reached"
    worst = goals["worst such ratio at most 2"]
    assert worst.verdict == "not reached"
    assert worst.evidence == "3 on levy-6-vertex, against good"
    pace = goals["median seconds a step at most those of optuna-gp"]
    assert (pace.verdict, pace.evidence) == ("not reached", "betabo 0.2 s, optuna-gp 0.1 s")
    assert goals["lowest mean rank, d = 20"].verdict == "cannot be told"


def test_goals_can_be_reached() -> None:
    values = made_up()
    values.loc[values["optimizer"] == "betabo", "regret"] *= 0.25
    goals = goals_of(values, {"betabo": 0.1, "optuna-gp": 0.1})
    assert {goal.verdict for text, goal in goals.items() if "d = 20" in text} == {"cannot be told"}
    judged = [goal for goal in goals.values() if goal.reached is not None]
    assert [goal.verdict for goal in judged] == ["reached"] * 5
    goals = goals_of(values, {"betabo": 0.1})
    assert goals["median seconds a step at most those of optuna-gp"].verdict == "cannot be told"


def test_seconds_are_medians_over_steps() -> None:
    steps = pandas.DataFrame(
        {
            "optimizer": ["betabo"] * 5 + ["good"],
            "suite": ["synthetic-6"] * 3 + ["real"] * 2 + ["real"],
            "seconds": [1.0, 2.0, 30.0, 4.0, 6.0, 0.5],
        }
    )
    table = step_seconds(steps)
    assert list(table.columns) == ["all", "synthetic-6", "real"]
    assert table.loc["betabo"].tolist() == [4.0, 2.0, 5.0]
    assert list(table.index) == ["good", "betabo"]


def test_the_figure_of_ratios_has_a_dot_and_an_interval_a_problem() -> None:
    table = pandas.DataFrame(
        {
            "problem": ["levy-6-centre", "levy-6-face", "levy-6-vertex"],
            "peer": ["good", "bad", "good"],
            "ratio": [1.0, 0.25, 3.0],
            "low": [0.5, 0.2, 2.0],
            "high": [1.5, 0.3, 4.0],
        }
    )
    (panel,) = draw_peer_ratios(table, "a title").axes
    assert panel.get_xscale() == "log"
    assert [label.get_text() for label in panel.get_yticklabels()] == [
        "levy-6-centre, good", "levy-6-face, bad", "levy-6-vertex, good",
    ]  # fmt: skip
    dots = [line for line in panel.lines if line.get_marker() == "o"]
    assert [line.get_xdata()[0] for line in dots] == [1.0, 0.25, 3.0]
    assert [line.get_color() for line in dots] == [BLUE, BLUE, VERMILION]


def test_suites_are_the_placed_functions_and_real_problems() -> None:
    large, small, real = (SUITES[name] for name in ("synthetic-20", "synthetic-6", "real"))
    assert (large.starting_points, large.budget) == (60, 60 + 80)
    assert (small.starting_points, small.budget) == (18, 18 + 42)
    for suite, dim in ((large, 20), (small, 6)):
        assert len(set(suite.problems)) == 15
        assert {problem_by_name(name).dim for name in suite.problems} == {dim}
        assert all(sum(name.endswith(p) for name in suite.problems) == 5 for p in ("centre", "face", "vertex"))
    names = [name for suite in SUITES.values() for name in suite.problems]
    assert len(names) == len(set(names))
    assert sum("noise" in name for name in real.problems) == 2


def test_a_suite_of_bbob_has_all_functions_in_each_dimension() -> None:
    two, five = suites_named("sbox", dims=[2, 5], instances=[1, 4], evaluations=10)
    assert (two.name, two.budget, five.name, five.budget) == ("sbox-2", 20, "sbox-5", 50)
    assert five.problems[:3] == ("sbox-f1-d5-i1", "sbox-f1-d5-i4", "sbox-f2-d5-i1")
    assert len(set(five.problems)) == 48
    assert bbob_suite("bbob-boxed", 20).starting_points == 40


class Missing(RandomSearch):
    def __init__(self) -> None:
        raise ImportError("this optimizer needs nothing: pip install 'betabo[peers]'")


def make_tiny(patch: pytest.MonkeyPatch) -> None:
    for module in ("peers", "peers_report", "peers_runs"):
        patch.setattr(f"betabo.lab.bench.{module}.SUITES", TINY)
    patch.setitem(OPTIMIZERS, "absent", OptimizerEntry("absent", "Not installed.", Missing))


@pytest.fixture
def tiny(monkeypatch) -> None:
    """Two tiny suites, and an optimizer whose package is missing."""
    make_tiny(monkeypatch)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """The runs of betabo, random points and corners in tiny suites."""
    made = tmp_path_factory.mktemp("peers")
    with pytest.MonkeyPatch.context() as patch:
        make_tiny(patch)
        plan = plan_peers(suites_named("all"), ["betabo", "random", "corners", "absent"], seeds=2, common_start=True)
        record_not_run(plan, made)
        for name, campaign in plan.campaigns.items():
            assert not run_campaign(campaign, made / name, executor=Here()).failed
    return made


@pytest.fixture
def folder(tiny, made, tmp_path) -> Path:
    """A copy of those runs."""
    return Path(shutil.copytree(made, tmp_path / "runs"))


@pytest.mark.usefixtures("tiny")
def test_a_plan_has_a_campaign_a_suite_and_no_settings() -> None:
    plan = plan_peers(suites_named("all"), ["random", "betabo"], seeds=3, common_start=True)
    assert list(plan.campaigns) == ["synthetic-6", "real"]
    campaign = plan.campaigns["synthetic-6"]
    assert (campaign.budget, campaign.starting_points, campaign.seeds) == (8, 5, (0, 1, 2))
    assert {choice.use: choice.settings for choice in campaign.optimizers.values()} == {"random": {}, "betabo": {}}
    assert plan.not_run == {}
    assert list(plan_peers(suites_named("real"), ["random"], seeds=1).campaigns) == ["real"]


@pytest.mark.usefixtures("tiny")
def test_an_optimizer_that_plans_ahead_is_told_the_evaluations_after_the_starting_points(monkeypatch) -> None:
    class Planning(RandomSearch):
        def __init__(self, budget: int = 100) -> None:
            self.budget = budget

    monkeypatch.setitem(OPTIMIZERS, "planning", OptimizerEntry("planning", "Plans.", Planning, ("budget",)))
    plan = plan_peers(suites_named("all"), ["planning"], seeds=1, common_start=True)
    settings = {name: campaign.optimizers["planning"].settings for name, campaign in plan.campaigns.items()}
    assert settings == {"synthetic-6": {"budget": 8 - 5}, "real": {"budget": 9 - 6}}
    own = plan_peers(suites_named("real"), ["planning"], seeds=1).campaigns["real"]
    assert (own.optimizers["planning"].settings, own.starting_points) == ({"budget": 9}, 0)


@pytest.mark.usefixtures("tiny")
def test_what_is_not_installed_is_listed_and_not_hidden(tmp_path, monkeypatch) -> None:
    plan = plan_peers(suites_named("real"), ["random", "absent"], seeds=1)
    assert plan.not_run == {"absent": "this optimizer needs nothing: pip install 'betabo[peers]'"}
    assert list(plan.campaigns["real"].optimizers) == ["random"]
    record_not_run(plan, tmp_path)
    assert read_not_run(tmp_path) == plan.not_run
    monkeypatch.setitem(OPTIMIZERS, "absent", OptimizerEntry("absent", "Installed now.", RandomSearch))
    record_not_run(plan_peers(suites_named("real"), ["absent"], seeds=1), tmp_path)
    assert read_not_run(tmp_path) == {}


@pytest.mark.usefixtures("tiny")
def test_a_problem_without_its_package_is_listed(monkeypatch) -> None:
    def fails(name: str):
        raise ImportError(f"the problem {name} needs a package")

    monkeypatch.setattr(
        "betabo.lab.bench.peers.problem_by_name", lambda n: fails(n) if "vessel" in n else problem_by_name(n)
    )
    plan = plan_peers(suites_named("all"), ["random"], seeds=1)
    assert list(plan.campaigns) == ["synthetic-6"]
    assert list(plan.not_run) == ["pressure_vessel-4-centre"]
    with pytest.raises(ValueError, match="none of the problems can be run: pressure_vessel"):
        plan_peers(suites_named("real"), ["random"], seeds=1)


@pytest.mark.usefixtures("tiny")
def test_bad_plans_are_explained() -> None:
    with pytest.raises(ValueError, match="'unreal', expected one of synthetic-6, real, sbox, bbob, bbob-boxed, all"):
        suites_named("unreal")
    with pytest.raises(ValueError, match="evaluations is 0, expected at least 1"):
        suites_named("sbox", [2], [1], 0)
    with pytest.raises(ValueError, match="the optimizer is 'rando'"):
        plan_peers(suites_named("real"), ["rando"])
    with pytest.raises(ValueError, match="seeds is 0"):
        plan_peers(suites_named("real"), ["random"], seeds=0)
    with pytest.raises(ValueError, match="none of the optimizers can be run: absent"):
        plan_peers(suites_named("real"), ["absent"])


def test_the_report_has_tables_figures_and_what_is_missing(folder) -> None:
    report = write_report(folder)
    names = {path.name for path in report.files}
    assert names == {
        "report.md", "runs.csv", "regrets.csv", "ratios.csv", "pairs.csv", "ranks.csv", "seconds.csv",
        "critical-difference.png", "ratios.png",
    }  # fmt: skip
    assert all(path.stat().st_size > 60 for path in report.files)
    text = report.files[0].read_text()
    assert "3 optimizers, 3 problems, 2 seeds. A regret below 1e-09 counts as 1e-09." in text
    assert "- not run: absent: this optimizer needs nothing" in text
    for goal in report.goals:
        assert f"| {goal.text} | {goal.verdict} | {goal.evidence} |" in text
    assert len(report.goals) == 7 + 3
    ratios = pandas.read_csv(folder / "report" / "ratios.csv")
    assert ratios["problem"].tolist() == ["levy-6-face", "branin-6-centre", "pressure_vessel-4-centre"]
    assert ratios["group"].tolist() == ["face", "centre", "real"]
    runs = read_peer_runs(folder).values
    for row in ratios.itertuples():
        means = runs[runs["problem"] == row.problem].groupby("optimizer")["regret"].mean()
        assert row.ratio == pytest.approx(means["betabo"] / means[["random", "corners"]].min())


def test_runs_that_failed_and_optimizers_that_lack_problems_are_noted(folder) -> None:
    for path in (folder / "real" / "corners" / "pressure_vessel-4-centre").glob("*.parquet"):
        path.with_suffix(".error").write_text("Traceback\nRuntimeError: no luck\n")
        path.unlink()
    report = write_report(folder)
    assert "failed: corners, 2 runs: RuntimeError: no luck" in report.notes
    assert "not ranked: corners has done 2 of the 3 problems of betabo, 4 runs for its 6" in report.notes
    assert set(read_peer_runs(folder).values["optimizer"]) == {"betabo", "random"}
    pairs = pandas.read_csv(folder / "report" / "pairs.csv").set_index("peer")
    assert pairs[["problems", "runs"]].T.to_dict("list") == {"random": [3, 6], "corners": [2, 4]}
    rows = [line for line in report.files[0].read_text().splitlines() if line.startswith("| corners | 2 | 4 |")]
    assert [row.endswith("|  |") for row in rows] == [True]  # no test of what is not ranked


def test_an_optimizer_with_few_seeds_leaves_those_of_the_others(folder) -> None:
    path = folder / "synthetic-6" / "random" / "levy-6-face"
    next(iter(path.glob("*.parquet"))).unlink()
    runs = read_peer_runs(folder)
    assert set(runs.values["optimizer"]) == {"betabo", "random", "corners"}  # one of two seeds is half of them
    for left in path.glob("*.parquet"):
        left.unlink()
    runs = read_peer_runs(folder)
    assert set(runs.values["optimizer"]) == {"betabo", "corners"}
    assert runs.values.groupby("optimizer").size().to_dict() == {"betabo": 6, "corners": 6}
    assert runs.everything.groupby("optimizer").size().to_dict() == {"betabo": 6, "corners": 6, "random": 4}


def test_one_seed_has_no_interval(folder) -> None:
    for path in folder.glob("*/*/*/1.parquet"):
        path.unlink()
    text = write_report(folder).files[0].read_text()
    assert len([line for line in text.splitlines() if "| one seed |" in line]) == 3
    assert "(one seed), median" in text
    assert "95 % interval" not in text.split("## Mean regret")[0]


def test_each_run_is_written_with_its_regret_and_time(folder) -> None:
    write_report(folder)
    table = pandas.read_csv(folder / "report" / "runs.csv")
    assert len(table) == 3 * 3 * 2
    assert (table["regret"] >= FLOOR).all()
    steps = read_peer_runs(folder).steps
    one = (table["optimizer"] == "betabo") & (table["problem"] == "levy-6-face") & (table["seed"] == 1)
    own = (steps["optimizer"] == "betabo") & (steps["problem"] == "levy-6-face") & (steps["seed"] == 1)
    assert own.sum() == 8 - 5
    assert table.loc[one, "seconds"].item() == pytest.approx(steps.loc[own, "seconds"].median())


def test_regret_has_a_floor_and_better_than_best_is_said(folder, monkeypatch) -> None:
    def with_a_poor_best_value(path: Path):
        metadata = read_metadata(path)
        if "vessel" in str(path):
            metadata["problem"]["optimal_value"] = 1e12
        return metadata

    monkeypatch.setattr("betabo.lab.bench.results.read_metadata", with_a_poor_best_value)
    runs = read_peer_runs(folder)
    assert list(runs.below) == ["pressure_vessel-4-centre"]
    assert (runs.values.loc[runs.values["group"] == "real", "regret"] == FLOOR).all()
    assert "Runs went below the best value known" in write_report(folder).files[0].read_text()


def test_a_report_without_betabo_or_peers_is_refused(folder) -> None:
    with pytest.raises(ValueError, match="holds no runs; `betabo bench peers"):
        write_report(folder / "nothing")
    for name in TINY:
        (folder / name / "betabo").rename(folder / name / "kept")
    for path in folder.glob("*/kept/*/*.parquet"):
        path.rename(path.with_suffix(".moved"))
    with pytest.raises(ValueError, match="holds no runs of betabo"):
        write_report(folder)
    assert json.loads((folder / "not-run.json").read_text())
