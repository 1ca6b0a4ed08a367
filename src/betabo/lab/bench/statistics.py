"""Means, standard errors, ranks, and tests of whether optimizers differ.

Optimizers are compared over blocks, within which they had the same task. A block is a problem, with the mean over
the seeds as its value; or a single run, one problem with one seed. Problems are the honest choice for statements about
optimizers in general: runs of the same problem are not independent evidence about other problems.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy import stats

from betabo.lab.bench.extras import require

if TYPE_CHECKING:
    import pandas

Blocks: TypeAlias = Literal["problem", "run"]


@dataclass(frozen=True)
class Friedman:
    """Friedman's test of whether any optimizer differs from the others.

    Attributes:
        statistic: Chi-squared statistic, corrected for ties.
        p: p-value.
    """

    statistic: float
    p: float


@dataclass(frozen=True)
class Comparison:
    """Optimizers compared over blocks.

    Attributes:
        blocks: Number of blocks in which every optimizer has a value.
        left_out: Blocks in which some optimizer has no value.
        ranks: Mean rank of each optimizer, best first; 1 is the best, ties share the mean of their ranks.
        friedman: Friedman's test, None for fewer than three optimizers or two blocks.
        pairs: One row a pair, `first` the one with the better rank: `wins`, `ties`, `losses` of `first`, `p` of
            Wilcoxon's signed-rank test, `p_holm` after Holm's correction.
    """

    blocks: int
    left_out: list[str]
    ranks: pandas.Series
    friedman: Friedman | None
    pairs: pandas.DataFrame

    def p_matrix(self) -> pandas.DataFrame:
        """The corrected p-values as a symmetric table, 1 on the diagonal."""
        names = list(self.ranks.index)
        table = require("pandas").DataFrame(np.ones((len(names), len(names))), index=names, columns=names)
        for row in self.pairs.itertuples():
            table.loc[row.first, row.second] = table.loc[row.second, row.first] = row.p_holm
        return table


def summarize(values: pandas.DataFrame, column: str = "best") -> pandas.DataFrame:
    """Mean and standard error over the seeds.

    Args:
        values: One row a run, see `betabo.lab.bench.results.values_at`.
        column: The column to summarize.

    Returns:
        One row a problem and optimizer: `problem`, `function`, `dim`, `placement`, `optimizer`, `mean`,
        `standard_error` (NaN for a single run), `runs`.
    """
    groups = values.groupby(["problem", "function", "dim", "placement", "optimizer"], observed=True)[column]
    return _mean_and_error(groups)


def convergence(results: pandas.DataFrame, column: str = "regret") -> pandas.DataFrame:
    """Mean and standard error over the seeds after each evaluation.

    Returns:
        One row a problem, optimizer and evaluation, with the columns of `summarize`.
    """
    keys = ["problem", "function", "dim", "placement", "optimizer", "evaluation"]
    return _mean_and_error(results.groupby(keys, observed=True)[column])


def rank_curves(results: pandas.DataFrame, blocks: Blocks = "run") -> pandas.DataFrame:
    """Mean rank of each optimizer after each evaluation.

    Returns:
        One row an optimizer and evaluation: `optimizer`, `evaluation`, `rank`, `standard_error` over the blocks.
    """
    pandas = require("pandas")
    rows = []
    for evaluation, values in results.groupby("evaluation"):
        table = block_table(values, blocks).dropna()
        ranks = table.rank(axis=1)
        errors = ranks.std() / np.sqrt(len(ranks))
        rows += [
            {"optimizer": name, "evaluation": evaluation, "rank": ranks[name].mean(), "standard_error": errors[name]}
            for name in ranks.columns
            if len(ranks)
        ]
    return pandas.DataFrame(rows, columns=["optimizer", "evaluation", "rank", "standard_error"])


def block_table(values: pandas.DataFrame, blocks: Blocks = "problem", column: str = "best") -> pandas.DataFrame:
    """Values by block and optimizer.

    Args:
        values: One row a run.
        blocks: `"problem"`, where seeds that not every optimizer has done are left out of the mean; or `"run"`.
        column: The column with the values.

    Returns:
        One row a block, one column an optimizer, NaN where there is no value.
    """
    if blocks not in get_args(Blocks):
        raise ValueError(f"blocks is {blocks!r}, expected 'problem' or 'run'.")
    table = values.pivot_table(index=["problem", "seed"], columns="optimizer", values=column, observed=True)
    table.columns = [str(name) for name in table.columns]
    if blocks == "run":
        table.index = [f"{problem}/{seed}" for problem, seed in table.index]
        return table
    complete = table.dropna().groupby("problem", observed=True).mean()
    problems = table.index.get_level_values("problem").unique()
    return complete.reindex(problems).rename(index=str)


def compare(values: pandas.DataFrame, blocks: Blocks = "problem", column: str = "best") -> Comparison:
    """Rank optimizers and test whether they differ. Lower values are better.

    Args:
        values: One row a run, see `betabo.lab.bench.results.values_at`.
        blocks: What optimizers are compared over, `"problem"` or `"run"`.
        column: The column with the values.

    Raises:
        ValueError: There are fewer than two optimizers, or no block that all have done.
    """
    pandas = require("pandas")
    table = block_table(values, blocks, column)
    if table.shape[1] < 2:
        raise ValueError(f"there is only the optimizer {', '.join(table.columns)}, expected at least two to compare.")
    complete = table.dropna()
    if complete.empty:
        raise ValueError("no problem was done by all optimizers with the same seed; finish the campaign first.")
    ranks = complete.rank(axis=1).mean().sort_values(kind="stable")
    friedman = None
    if complete.shape[1] > 2 and len(complete) > 1:
        friedman = _friedman(complete)
    pairs = []
    for first, second in combinations(ranks.index, 2):
        difference = (complete[first] - complete[second]).to_numpy()
        pairs.append(
            {
                "first": first,
                "second": second,
                "wins": int((difference < 0).sum()),
                "ties": int((difference == 0).sum()),
                "losses": int((difference > 0).sum()),
                "p": wilcoxon(difference),
            }
        )
    frame = pandas.DataFrame(pairs)
    frame["p_holm"] = holm(frame["p"].to_numpy())
    left_out = [str(block) for block in table.index.difference(complete.index, sort=False)]
    return Comparison(len(complete), left_out, ranks, friedman, frame)


@dataclass(frozen=True)
class Interval:
    """An estimate with the limits of a confidence interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Ratios:
    """One optimizer's values relative to the best of the others, problem by problem.

    Attributes:
        table: One row a problem: `problem`, `seeds` (those that every optimizer has done), `value` and `peer_value`
            (means over the seeds), `peer` (the optimizer with the lowest mean of the others), `ratio` of the two
            with `low` and `high`, and `wins`, `ties`, `losses` against that peer, seed by seed.
        geometric_mean: Geometric mean of the ratios over the problems.
        left_out: Problems that have no seed that every optimizer has done.
    """

    table: pandas.DataFrame
    geometric_mean: Interval
    left_out: list[str]


def relative_to_best_peer(
    values: pandas.DataFrame,
    subject: str,
    column: str = "regret",
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Ratios:
    """Compare an optimizer with the best of the others on each problem. Lower values are better.

    The intervals are percentiles of a bootstrap over the seeds: those of a problem are drawn with replacement, the same
    for all optimizers, which started from the same points. The best peer is chosen anew in each draw.

    Args:
        values: One row a run, see `betabo.lab.bench.results.values_at`.
        subject: The optimizer.
        column: The column with the values, all above zero.
        level: Level of the intervals.
        resamples: Draws of the bootstrap.
        seed: Seed of the draws.

    Raises:
        ValueError: The optimizer or any peer is missing, a value is not above zero, or nothing was done by all.
    """
    pandas = require("pandas")
    runs = values.pivot_table(index=["problem", "seed"], columns="optimizer", values=column, observed=True)
    runs.columns = [str(name) for name in runs.columns]
    peers = [name for name in runs.columns if name != subject]
    if subject not in runs.columns or not peers:
        raise ValueError(f"there are runs of {', '.join(runs.columns)}, expected some of {subject} and of a peer.")
    if not (values[column] > 0).all():
        raise ValueError(f"{column} has {values[column].min()}, expected values above zero; raise it to a floor first.")
    generator = np.random.default_rng(seed)
    rows, drawn = [], []
    tails = [50 * (1 - level), 50 * (1 + level)]
    for problem, part in runs.dropna().groupby(level="problem", observed=True):
        own, others = part[subject].to_numpy(), part[peers].to_numpy()
        draws = generator.integers(len(part), size=(resamples, len(part)))
        ratios = own[draws].mean(axis=1) / others[draws].mean(axis=1).min(axis=1)
        drawn.append(ratios)
        best = int(others.mean(axis=0).argmin())
        low, high = np.percentile(ratios, tails)
        rows.append(
            {
                "problem": str(problem),
                "seeds": len(part),
                "value": own.mean(),
                "peer": peers[best],
                "peer_value": others[:, best].mean(),
                "ratio": own.mean() / others[:, best].mean(),
                "low": low,
                "high": high,
                "wins": int((own < others[:, best]).sum()),
                "ties": int((own == others[:, best]).sum()),
                "losses": int((own > others[:, best]).sum()),
            }
        )
    if not rows:
        raise ValueError("no problem was done by all optimizers with the same seed; finish the campaign first.")
    table = pandas.DataFrame(rows)
    means = np.exp(np.log(drawn).mean(axis=0))
    low, high = np.percentile(means, tails)
    geometric_mean = Interval(float(np.exp(np.log(table["ratio"]).mean())), float(low), float(high))
    known = dict.fromkeys(str(name) for name in runs.index.get_level_values("problem"))
    return Ratios(table, geometric_mean, [name for name in known if name not in set(table["problem"])])


def relative_to_each_peer(
    values: pandas.DataFrame,
    subject: str,
    column: str = "regret",
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> pandas.DataFrame:
    """Compare an optimizer with each of the others on the runs that both have done. Lower values are better.

    Args:
        values: One row a run, see `betabo.lab.bench.results.values_at`.
        subject: The optimizer.
        column: The column with the values, all above zero.
        level: Level of the intervals, percentiles of a bootstrap over the problems.
        resamples: Draws of the bootstrap.
        seed: Seed of the draws.

    Returns:
        One row a peer with any such run, the closest first: `peer`, `problems` and `runs` that both have done, `wins`,
        `ties` and `losses` of the subject over the problems, the geometric mean over the problems of the `ratio` of
        the two means over the seeds, and its `low` and `high`.
    """
    pandas = require("pandas")
    runs = values.pivot_table(index=["problem", "seed"], columns="optimizer", values=column, observed=True)
    runs.columns = [str(name) for name in runs.columns]
    generator = np.random.default_rng(seed)
    rows = []
    for peer in runs.columns.drop(subject):
        both = runs[[subject, peer]].dropna()
        if both.empty:
            continue
        means = both.groupby(level="problem", observed=True).mean()
        logs = np.log(means[subject] / means[peer]).to_numpy()
        draws = logs[generator.integers(len(logs), size=(resamples, len(logs)))].mean(axis=1)
        low, high = np.exp(np.percentile(draws, [50 * (1 - level), 50 * (1 + level)]))
        rows.append(
            {
                "peer": peer,
                "problems": len(means),
                "runs": len(both),
                "wins": int((logs < 0).sum()),
                "ties": int((logs == 0).sum()),
                "losses": int((logs > 0).sum()),
                "ratio": float(np.exp(logs.mean())),
                "low": float(low),
                "high": float(high),
            }
        )
    return pandas.DataFrame(rows).sort_values("ratio", ascending=False, ignore_index=True)


def wilcoxon(differences: npt.NDArray[np.float64]) -> float:
    """p-value of Wilcoxon's signed-rank test, two-sided; 1 where nothing differs."""
    return 1.0 if not differences.any() else float(stats.wilcoxon(differences).pvalue)


def holm(p: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """p-values after Holm's step-down correction for the number of tests."""
    order = np.argsort(p)
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(raised, 1.0)
    return corrected


def _friedman(table: pandas.DataFrame) -> Friedman:
    if (table.nunique(axis=1) == 1).all():  # the statistic would be 0/0
        return Friedman(0.0, 1.0)
    statistic, p = stats.friedmanchisquare(*(table[name] for name in table.columns))
    return Friedman(float(statistic), float(p))


def _mean_and_error(groups: pandas.api.typing.SeriesGroupBy) -> pandas.DataFrame:
    summary = groups.agg(mean="mean", deviation="std", runs="size").reset_index()
    summary["standard_error"] = summary.pop("deviation") / np.sqrt(summary["runs"])
    return summary
