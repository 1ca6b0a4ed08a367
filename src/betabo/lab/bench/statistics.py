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
