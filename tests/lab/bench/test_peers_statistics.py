from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas
import pytest
from scipy import stats

from betabo.lab.bench.peers_statistics import FLOOR, TARGETS, compared, losses, pairwise, ranking, runtimes
from betabo.lab.bench.statistics import compare

ONE_SEED = Path(__file__).parents[3] / "docs" / "results" / "peers-one-seed" / "runs.csv"

# Regrets at the first and at the tenth evaluation, a column a run.
CURVES = {
    "betabo": [(8.0, 2.0), (8.0, 1.0), (4.0, 0.0)],
    "good": [(4.0, 1.0), (16.0, 4.0), (8.0, 0.0)],
    "bad": [(8.0, 8.0), (8.0, 8.0), (8.0, 8.0)],
}


def made_up(curves: dict[str, list[tuple[float, float]]] = CURVES) -> pandas.DataFrame:
    rows = [
        {
            "suite": "sbox-2",
            "problem": f"p{problem}",
            "dims": 2,
            "group": "separable" if problem < 2 else "moderate",
            "near_face": problem == 0,
            "seed": 0,
            "optimizer": name,
            "budget": 10,
            "own_start": True,
            "seconds": 0.1,
            "evaluation": np.array([1, 10]),
            "regret": np.array(pair),
        }
        for name, pairs in curves.items()
        for problem, pair in enumerate(pairs)
    ]
    return pandas.DataFrame(rows)


def cell(table: pandas.DataFrame, group: str, optimizer: str) -> pandas.Series:
    rows = table[(table["group"] == group) & (table["optimizer"] == optimizer) & (table["after"] == "5 d")]
    assert len(rows) == 1
    return rows.iloc[0]


def test_ranks_and_ratios_are_those_worked_out_by_hand() -> None:
    table = ranking(made_up())
    assert set(table["after"]) == {"5 d"}  # the runs end after 10 evaluations in 2 dimensions
    own, good, bad = (cell(table, "all", name) for name in ("betabo", "good", "bad"))
    assert [own["rank"], good["rank"], bad["rank"]] == pytest.approx([(2 + 1 + 1.5) / 3, (1 + 2 + 1.5) / 3, 3.0])
    assert own["regret"] == pytest.approx((2 * 1 * FLOOR) ** (1 / 3))
    assert good["ratio"] == pytest.approx((2 * 0.25 * 1) ** (1 / 3))
    assert cell(table, "separable", "good")["ratio"] == pytest.approx(math.sqrt(2 * 0.25))
    assert cell(table, "optimum near a face", "good")["ratio"] == pytest.approx(2.0)
    assert cell(table, "optimum away from faces", "good")["runs"] == 2
    assert list(dict.fromkeys(table["group"]))[:3] == ["all", "separable", "moderate"]


def test_after_fewer_evaluations_only_what_was_found_by_then_counts() -> None:
    runs = made_up().assign(budget=30)
    table = ranking(runs)
    assert list(dict.fromkeys(table["after"])) == ["5 d", "15 d"]
    later = runs.assign(evaluation=[np.array([1, 11])] * len(runs))
    assert cell(ranking(later), "all", "good")["ratio"] == pytest.approx((2 * 0.5 * 0.5) ** (1 / 3))


def test_intervals_agree_with_scipy() -> None:
    generator = np.random.default_rng(3)
    logs = {name: generator.normal(mean, 0.7, size=40) for name, mean in (("betabo", 0.0), ("good", 0.3))}
    runs = made_up({name: [(99.0, float(np.exp(log))) for log in values] for name, values in logs.items()})
    row = cell(ranking(runs), "all", "good")
    difference = logs["betabo"] - logs["good"]
    expected = stats.bootstrap((difference,), np.mean, method="percentile", rng=1).confidence_interval
    assert math.log(row["ratio_low"]) == pytest.approx(expected.low, abs=0.03)
    assert math.log(row["ratio_high"]) == pytest.approx(expected.high, abs=0.03)
    assert row["rank_low"] < row["rank"] < row["rank_high"]


def test_losses_are_sorted_worst_first_and_hold_lower_ranks_too() -> None:
    table = losses(ranking(made_up()))
    assert set(table["optimizer"]) == {"good"}
    assert table["ratio"].is_monotonic_decreasing
    assert table.loc[0, ["group", "ratio"]].tolist() == ["optimum near a face", pytest.approx(2.0)]
    assert "all" not in set(table["group"])  # equal ranks, and a ratio below one


def test_runtimes_count_runs_and_targets() -> None:
    curves = runtimes(made_up())
    own = curves[curves["optimizer"] == "betabo"]
    assert own["evaluations"].tolist() == [0.5, 5.0]  # evaluations 1 and 10, in 2 dimensions
    counts = [sum(regret <= TARGETS) for pair in CURVES["betabo"] for regret in pair]
    assert own["share"].tolist() == pytest.approx([sum(counts[::2]) / 153, sum(counts[1::2]) / 153])
    assert len(TARGETS) == 51


def test_who_has_done_less_is_not_ranked_but_compared() -> None:
    runs = made_up()
    runs = runs[~((runs["optimizer"] == "good") & (runs["problem"] == "p0"))]
    kept, notes = compared(runs)
    assert set(kept["optimizer"]) == {"betabo", "bad"}
    assert notes == ["not ranked: good has done 2 of 3 runs of sbox-2"]
    pairs = pairwise(runs).set_index("optimizer")
    assert pairs["runs"].to_dict() == {"good": 2, "bad": 3}
    assert pairs.loc["good", "ratio"] == pytest.approx(math.sqrt(0.25 * 1))
    assert pairs.loc["good", "rank"] == pytest.approx((2 + 1.5) / 2)


def test_runs_of_others_that_betabo_has_not_done_are_left_out() -> None:
    runs = made_up()
    kept, notes = compared(runs[~((runs["optimizer"] == "betabo") & (runs["problem"] == "p2"))])
    assert set(kept["problem"]) == {"p0", "p1"}
    assert notes == []
    with pytest.raises(ValueError, match="no runs of betabo"):
        compared(runs[runs["optimizer"] != "betabo"])
    with pytest.raises(ValueError, match="no other optimizer"):
        compared(runs[runs["optimizer"] == "betabo"])


def published(text: str, row: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(f"| {row} |"))
    return [cell.strip(" *") for cell in line.split("|")[2:-1]]


def test_the_published_figures_of_one_seed_are_those_of_its_runs() -> None:
    runs = pandas.read_csv(ONE_SEED)
    full = runs[runs["optimizer"] != "smac"]
    placed = full[full["suite"] != "real"]
    parts = [full, placed[placed["dim"] == 20], placed[placed["dim"] == 6]]
    parts += [placed[placed["placement"] == name] for name in ("centre", "face", "vertex")]
    parts.append(full[full["suite"] == "real"])
    ranks = [compare(part, column="regret").ranks for part in parts]
    regrets = runs.pivot_table(index="problem", columns="optimizer", values="regret")
    document = (ONE_SEED.parents[2] / "peers.md").read_text(encoding="utf-8")
    document = document[document.index("### On the suites of our own") :]
    names = {"betabo": "betabo", "HEBO": "hebo", "Optuna, GPSampler": "optuna-gp", "Ax": "ax", "TuRBO-1": "turbo"}
    for title, name in {**names, "BoTorch": "botorch"}.items():
        row = published(document, f"**{title}**" if name == "betabo" else title)
        assert row == [f"{rank[name]:.2f}" for rank in ranks]
    against = document[document.index("| peer | problems") :]
    for title, name in {"HEBO": "hebo", "SMAC": "smac", "Ax": "ax", "BoTorch": "botorch"}.items():
        logs = np.log(regrets["betabo"] / regrets[name]).dropna()
        expected = [len(logs), (logs < 0).sum(), (logs > 0).sum()]
        assert published(against, title) == [*map(str, expected), f"{np.exp(logs.mean()):.2f}"]
    for left_out, figure in ((["betabo", "smac"], "0.44"), (["betabo"], "0.57")):
        best = regrets.drop(columns=left_out).min(axis=1)
        assert f"{np.exp(np.log(regrets['betabo'] / best).mean()):.2f}" == figure
        assert figure in document
    readme = (ONE_SEED.parents[3] / "README.md").read_text(encoding="utf-8")
    assert published(readme, "**betabo**") == [f"{ranks[i]['betabo']:.2f}" for i in (0, 3, 4, 5, 6)]
    assert published(readme, "HEBO") == [f"{ranks[i]['hebo']:.2f}" for i in (0, 3, 4, 5, 6)]
