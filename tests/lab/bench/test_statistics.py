from __future__ import annotations

import numpy as np
import pandas
import pytest
import scikit_posthocs
from scipy import stats
from statsmodels.stats.multitest import multipletests

from betabo.lab.bench.statistics import block_table, compare, convergence, holm, rank_curves, summarize, wilcoxon


def made_up(problems: int, seeds: int, optimizers: int, seed: int = 0) -> pandas.DataFrame:
    generator = np.random.default_rng(seed)
    rows = [
        {
            "optimizer": f"o{o}",
            "problem": f"levy-{p + 2}-face",
            "function": "levy",
            "dim": p + 2,
            "placement": "face",
            "seed": s,
            "evaluation": 10,
            "best": 10 * p + 0.4 * o + generator.normal(),
        }
        for p in range(problems)
        for s in range(seeds)
        for o in range(optimizers)
    ]
    table = pandas.DataFrame(rows)
    table["regret"] = table["best"] + 5
    for column in ("optimizer", "problem"):
        table[column] = table[column].astype("category")
    return table


VALUES = made_up(problems=8, seeds=5, optimizers=4)


def test_means_and_standard_errors() -> None:
    summary = summarize(VALUES)
    assert len(summary) == 8 * 4
    for row in summary.itertuples():
        values = VALUES[(VALUES["problem"] == row.problem) & (VALUES["optimizer"] == row.optimizer)]["best"]
        assert row.runs == 5
        assert row.mean == pytest.approx(np.mean(values))
        assert row.standard_error == pytest.approx(stats.sem(values))


def test_a_single_run_has_no_standard_error() -> None:
    assert summarize(made_up(2, 1, 2))["standard_error"].isna().all()


def test_curves_are_summaries_of_each_evaluation() -> None:
    results = pandas.concat([VALUES, VALUES.assign(evaluation=11, regret=VALUES["regret"] / 2)], ignore_index=True)
    curves = convergence(results)
    assert len(curves) == 2 * 8 * 4
    early, late = curves[curves["evaluation"] == 10], curves[curves["evaluation"] == 11]
    np.testing.assert_allclose(late["mean"], early["mean"] / 2)
    np.testing.assert_allclose(early["mean"] - 5, summarize(VALUES)["mean"])


@pytest.mark.parametrize("blocks", ["problem", "run"])
def test_friedman_and_ranks_agree_with_scipy(blocks) -> None:
    table = block_table(VALUES, blocks)
    assert table.shape == ((8 if blocks == "problem" else 40), 4)
    comparison = compare(VALUES, blocks)
    expected = stats.friedmanchisquare(*table.to_numpy().T)
    assert comparison.friedman is not None
    assert comparison.friedman.statistic == pytest.approx(expected.statistic)
    assert comparison.friedman.p == pytest.approx(expected.pvalue)
    ranks = stats.rankdata(table.to_numpy(), axis=1).mean(axis=0)
    assert comparison.ranks.to_dict() == pytest.approx(dict(zip(table.columns, ranks, strict=True)))
    assert comparison.ranks.is_monotonic_increasing
    assert comparison.blocks == len(table)


def test_problems_are_the_means_over_seeds() -> None:
    table = block_table(VALUES, "problem")
    mean = VALUES[(VALUES["problem"] == "levy-4-face") & (VALUES["optimizer"] == "o2")]["best"].mean()
    assert table.loc["levy-4-face", "o2"] == pytest.approx(mean)


@pytest.mark.parametrize("blocks", ["problem", "run"])
def test_pairs_agree_with_scikit_posthocs(blocks) -> None:
    table = block_table(VALUES, blocks)
    melted = table.melt(var_name="optimizer", value_name="best")
    expected = scikit_posthocs.posthoc_wilcoxon(melted, "best", "optimizer", p_adjust="holm")
    comparison = compare(VALUES, blocks)
    matrix = comparison.p_matrix()
    for first in matrix.index:
        for second in matrix.columns:
            assert matrix.loc[first, second] == pytest.approx(expected.loc[first, second])
    wins = comparison.pairs.set_index(["first", "second"])
    assert (wins[["wins", "ties", "losses"]].sum(axis=1) == len(table)).all()
    for first, second in wins.index:
        assert wins.loc[(first, second), "wins"] == (table[first] < table[second]).sum()


@pytest.mark.parametrize("count", [1, 2, 7])
def test_holm_agrees_with_statsmodels(count) -> None:
    p = np.random.default_rng(count).uniform(0, 0.3, size=count)
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1])


def test_wilcoxon_of_nothing_but_ties_is_one() -> None:
    assert wilcoxon(np.zeros(5)) == 1.0
    differences = np.array([0.0, 1.0, -2.0, 3.0, 4.5, 6.0])
    assert wilcoxon(differences) == stats.wilcoxon(differences).pvalue


def test_ties_share_their_ranks() -> None:
    values = VALUES.assign(best=1.0)
    comparison = compare(values)
    assert comparison.ranks.tolist() == [2.5] * 4
    assert comparison.friedman is not None
    assert comparison.friedman.p == 1.0
    assert (comparison.pairs["p_holm"] == 1.0).all()
    assert (comparison.pairs["ties"] == 8).all()


def test_what_not_all_have_done_is_left_out() -> None:
    missing = (VALUES["optimizer"] == "o1") & (VALUES["problem"] == "levy-2-face")
    comparison = compare(VALUES[~missing])
    assert comparison.left_out == ["levy-2-face"]
    assert comparison.blocks == 7
    one = missing & (VALUES["seed"] == 3)
    table = block_table(VALUES[~one])
    kept = VALUES[(VALUES["seed"] != 3) & (VALUES["problem"] == "levy-2-face") & (VALUES["optimizer"] == "o0")]
    assert table.loc["levy-2-face", "o0"] == pytest.approx(kept["best"].mean())


def test_two_optimizers_have_no_friedman_test() -> None:
    comparison = compare(made_up(6, 2, 2))
    assert comparison.friedman is None
    assert len(comparison.pairs) == 1


def test_what_cannot_be_compared_is_explained() -> None:
    with pytest.raises(ValueError, match="only the optimizer o0"):
        compare(made_up(3, 2, 1))
    apart = VALUES[(VALUES["optimizer"] == "o0") == (VALUES["seed"] == 0)]
    with pytest.raises(ValueError, match="no problem was done by all optimizers"):
        compare(apart)
    with pytest.raises(ValueError, match="blocks is 'seed'"):
        compare(VALUES, "seed")  # type: ignore[arg-type]


def test_rank_curves_are_ranks_of_each_evaluation() -> None:
    better = VALUES["best"].where(VALUES["optimizer"] != "o3", -100)
    results = pandas.concat([VALUES, VALUES.assign(evaluation=11, best=better)], ignore_index=True)
    curves = rank_curves(results, "run").set_index(["evaluation", "optimizer"])
    assert curves.loc[(11, "o3"), "rank"] == 1.0
    expected = block_table(VALUES, "run").rank(axis=1)
    for name in expected.columns:
        assert curves.loc[(10, name), "rank"] == pytest.approx(expected[name].mean())
        assert curves.loc[(10, name), "standard_error"] == pytest.approx(stats.sem(expected[name]))
