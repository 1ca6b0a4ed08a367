"""What the runs of betabo and its peers come to: ranks, regrets and runtimes, with intervals, group by group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from betabo.lab.bench.extras import require
from betabo.lab.bench.peers_runs import RUN, first_below, regret_after
from betabo.lab.problems import BBOB_GROUPS

if TYPE_CHECKING:
    import pandas

SUBJECT = "betabo"
FLOOR = 1e-8
"""A regret below this counts as this: the problem is solved, and ratios do not depend on rounding."""

TARGETS = np.logspace(2, -8, 51)
"""The regrets of COCO's runtimes."""

BUDGETS = (5, 15, 50)
"""Evaluations for each coordinate after which optimizers are compared, as far as the runs go."""

ALL = "all"
NEAR, AWAY = "optimum near a face", "optimum away from faces"

_RESAMPLES = 2000  # of the problems, so many that fifty means lie beyond either end of an interval
_TAILS = [2.5, 97.5]  # percent, of an interval of 95 %


def compared(runs: pandas.DataFrame) -> tuple[pandas.DataFrame, list[str]]:
    """The runs that are ranked with one another, and a line for each optimizer that is left out.

    Ranked are the optimizers that have done all of the subject's runs of a suite. The others are compared with the
    subject alone, see `pairwise`.

    Raises:
        ValueError: There are no runs of the subject, or of no other optimizer that has done all of its runs.
    """
    pandas = require("pandas")
    if SUBJECT not in set(runs["optimizer"]):
        raise ValueError(f"there are no runs of {SUBJECT}, which the report is about.")
    parts, notes = [], []
    for suite, part in runs.groupby("suite"):
        done = {str(name): _keys(own) for name, own in part.groupby("optimizer")}
        own = done.get(SUBJECT, set())
        if not own:
            notes.append(f"not compared: {SUBJECT} has done nothing of {suite}")
            continue
        less = [name for name, keys in done.items() if own - keys]
        notes += [f"not ranked: {name} has done {len(done[name] & own)} of {len(own)} runs of {suite}" for name in less]
        if len(less) < len(done) - 1:
            parts.append(_restricted(part[~part["optimizer"].isin(less)], own))
    if not parts:
        raise ValueError(f"there is no other optimizer that has done all runs of {SUBJECT} of a suite.")
    return pandas.concat(parts, ignore_index=True), notes


def pairwise(runs: pandas.DataFrame) -> pandas.DataFrame:
    """Each other optimizer against the subject, on the runs that both have done: rows as those of `ranking`."""
    pandas = require("pandas")
    tables = []
    own = runs[runs["optimizer"] == SUBJECT]
    for name, part in runs[runs["optimizer"] != SUBJECT].groupby("optimizer"):
        both = _keys(own) & _keys(part)
        if both:
            table = ranking(_restricted(pandas.concat([own, part]), both))
            tables.append(table[(table["optimizer"] == name) & (table["group"] == ALL)])
    return pandas.concat(tables, ignore_index=True)


def ranking(runs: pandas.DataFrame) -> pandas.DataFrame:
    """Mean rank and regret of each optimizer, by suite, number of evaluations and group.

    Args:
        runs: Runs that are compared, see `compared`.

    Returns:
        One row a suite, number of evaluations, group and optimizer, the best first: `suite`, `after` (such as `15 d`,
        or `the end`), `group`, `optimizer`, `runs`, mean `rank`, `regret` (geometric mean), and `ratio`, the geometric
        mean of the subject's regret relative to the optimizer's on the same run. `_low` and `_high` are 95 % intervals
        by a bootstrap over the runs, the same draws for all optimizers.
    """
    pandas = require("pandas")
    rows = []
    for suite, after, part, found in _checkpoints(runs):
        table = part.assign(regret=np.maximum(found, FLOOR)).pivot_table(
            index=[*RUN, "group", "near_face"], columns="optimizer", values="regret"
        )
        groups = table.index.get_level_values("group").to_numpy()
        near = table.index.get_level_values("near_face").to_numpy(dtype=bool)
        places = {
            ALL: np.full(len(table), True),
            **{name: groups == name for name in _in_order(part["group"])},
            NEAR: near,
            AWAY: ~near,
        }
        for name, inside in places.items():
            if inside.any():
                rows += [{"suite": suite, "after": after, "group": name, **row} for row in _ranked(table[inside])]
    return pandas.DataFrame(rows)


def losses(ranks: pandas.DataFrame) -> pandas.DataFrame:
    """The rows of `ranking` in which another optimizer has the lower regret or the lower mean rank, worst first."""
    keys = ["suite", "after", "group"]
    own = ranks[ranks["optimizer"] == SUBJECT].set_index(keys)["rank"]
    against = ranks[ranks["optimizer"] != SUBJECT]
    own_rank = own.reindex(against.set_index(keys).index).to_numpy()
    lost = against[(against["ratio"] > 1) | (against["rank"].to_numpy() < own_rank)]
    return lost.sort_values("ratio", ascending=False, ignore_index=True)


def runtimes(runs: pandas.DataFrame) -> pandas.DataFrame:
    """The share of all runs and `TARGETS` that is reached, by evaluations for each coordinate.

    Args:
        runs: Runs that are compared, see `compared`.

    Returns:
        One row a suite, optimizer and step of the curve: `suite`, `optimizer`, `evaluations` (a coordinate), `share`.
    """
    pandas = require("pandas")
    rows = []
    for (suite, optimizer), part in runs.groupby(["suite", "optimizer"]):
        reached = first_below(part, TARGETS) / part["dims"].to_numpy()[:, None]
        at, count = np.unique(reached[np.isfinite(reached)], return_counts=True)
        share = np.cumsum(count) / reached.size
        rows += [
            {"suite": suite, "optimizer": optimizer, "evaluations": x, "share": y}
            for x, y in zip(at, share, strict=True)
        ]
    return pandas.DataFrame(rows, columns=["suite", "optimizer", "evaluations", "share"])


def _checkpoints(runs: pandas.DataFrame) -> Iterator[tuple[str, str, pandas.DataFrame, npt.NDArray[np.float64]]]:
    """For each suite and number of evaluations its name, that number in words, the runs, and what they had found."""
    for suite, part in runs.groupby("suite"):
        dims, budget = part["dims"].to_numpy(), part["budget"].to_numpy()
        for times in BUDGETS:
            if (times * dims <= budget).all():
                yield str(suite), f"{times} d", part, regret_after(part, times * dims)
        if not any((times * dims == budget).all() for times in BUDGETS):
            yield str(suite), "the end", part, regret_after(part, budget)


def _ranked(table: pandas.DataFrame) -> list[dict[str, object]]:
    """A row for each optimizer, a column of `table`; the rows of the table are runs."""
    logs, ranks = np.log(table.to_numpy()), table.rank(axis=1).to_numpy()
    names = [str(name) for name in table.columns]
    ratios = logs[:, [names.index(SUBJECT)]] - logs
    generator = np.random.default_rng(0)
    draws = generator.multinomial(len(table), np.full(len(table), 1 / len(table)), size=_RESAMPLES) / len(table)
    rank_limits = np.percentile(draws @ ranks, _TAILS, axis=0)
    ratio_limits = np.exp(np.percentile(draws @ ratios, _TAILS, axis=0))
    rows: list[dict[str, object]] = [
        {
            "optimizer": name,
            "runs": len(table),
            "rank": ranks[:, i].mean(),
            "rank_low": rank_limits[0, i],
            "rank_high": rank_limits[1, i],
            "regret": np.exp(logs[:, i].mean()),
            "ratio": np.exp(ratios[:, i].mean()),
            "ratio_low": ratio_limits[0, i],
            "ratio_high": ratio_limits[1, i],
        }
        for i, name in enumerate(names)
    ]
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    return [rows[i] for i in order]


def _in_order(groups: pandas.Series) -> list[str]:
    """The groups, those of BBOB in its order."""
    return sorted({*groups}, key=lambda name: (list(BBOB_GROUPS).index(name) if name in BBOB_GROUPS else -1, name))


def _keys(runs: pandas.DataFrame) -> set[tuple[object, ...]]:
    return set(zip(*(runs[name] for name in RUN), strict=True))


def _restricted(runs: pandas.DataFrame, keys: set[tuple[object, ...]]) -> pandas.DataFrame:
    """The runs with these keys."""
    return runs[[key in keys for key in zip(*(runs[name] for name in RUN), strict=True)]]
