"""The report on betabo and its peers: where it loses, mean ranks, regrets, runtimes and seconds."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from betabo.files import write_bytes
from betabo.lab.bench.peers import read_not_run
from betabo.lab.bench.peers_runs import read_peer_runs, write_packed
from betabo.lab.bench.peers_statistics import ALL, FLOOR, SUBJECT, compared, losses, pairwise, ranking, runtimes
from betabo.lab.plots.runtimes import draw_runtimes
from betabo.lab.plots.style import style

if TYPE_CHECKING:
    import pandas

_MOST_LOSSES = 40  # rows of a table that somebody reads


def write_report(folder: str | Path, out: str | Path | None = None) -> tuple[list[Path], list[str]]:
    """Report on the runs of a folder.

    Args:
        folder: The folder that `betabo bench peers` wrote to, with a folder for each suite.
        out: Where the files go; None is the folder `report` in it.

    Returns:
        The files, the first the report in Markdown, with `runs.parquet`, which has all runs; and what is missing, one
        line each.

    Raises:
        ValueError: There are no runs of betabo, or of no peer on the same problems.
    """
    folder = Path(folder)
    to = folder / "report" if out is None else Path(out)
    runs = read_peer_runs(folder)
    notes = [*not_done(folder, runs), *_failures(folder)]
    files = write_tables(runs, to, notes)
    return files, notes


def write_tables(runs: pandas.DataFrame, to: Path, notes: list[str]) -> list[Path]:
    """Write the report, its tables and its figure.

    Args:
        runs: All runs, see `read_peer_runs`.
        to: The folder.
        notes: What is missing; what is left out of the comparison is added to it.
    """
    kept, left_out = compared(runs)
    notes += left_out
    ranks, curves = ranking(kept), runtimes(kept)
    text = _markdown(kept, ranks, pairwise(runs), curves, notes)
    budgets = {str(suite): float((part["budget"] / part["dims"]).max()) for suite, part in kept.groupby("suite")}
    contents = io.BytesIO()
    with style():
        draw_runtimes(curves, budgets).savefig(contents, format="png")
    files = {
        "report.md": text.encode(),
        "ranking.csv": ranks.to_csv(index=False).encode(),
        "runtimes.png": contents.getvalue(),
    }
    for name, data in files.items():
        write_bytes(to / name, data, parents=True)
    write_packed(runs, to / "runs.parquet")
    return [*(to / name for name in files), to / "runs.parquet"]


def not_done(folder: Path, runs: pandas.DataFrame) -> list[str]:
    """A line for each optimizer and problem that could not be run and has no runs."""
    done = {*runs["optimizer"], *runs["problem"]}
    return [f"not run: {name}: {reason}" for name, reason in read_not_run(folder).items() if name not in done]


def _failures(folder: Path) -> list[str]:
    """A line for each optimizer and reason with runs that failed."""
    counts: dict[tuple[str, str], int] = {}
    for path in sorted(folder.glob("*/*/*/*.error")):
        lines = path.read_text(encoding="utf-8").strip().splitlines() or ["no reason was left"]
        key = (path.parent.parent.name, lines[-1])
        counts[key] = counts.get(key, 0) + 1
    return [f"failed: {name}, {count} runs: {reason}" for (name, reason), count in counts.items()]


def _markdown(
    runs: pandas.DataFrame,
    ranks: pandas.DataFrame,
    pairs: pandas.DataFrame,
    curves: pandas.DataFrame,
    notes: Sequence[str],
) -> str:
    start = "its own design" if runs["own_start"].all() else "common starting points"
    if runs["own_start"].nunique() > 1:
        start = "its own design in some suites and common starting points in others"
    lost = losses(ranks)
    lines = [
        f"# {SUBJECT} and its peers",
        "",
        f"{runs['optimizer'].nunique()} optimizers, {runs['problem'].nunique()} problems, {len(runs)} runs; each "
        f"optimizer started from {start}. A regret below {FLOOR:g} counts as {FLOOR:g}. Brackets are 95 % intervals by "
        "a bootstrap over the runs, the same draws for all optimizers.",
        "",
        f"## Where {SUBJECT} loses",
        "",
        f"All cells in which another optimizer has the lower regret or mean rank, worst first"
        f"{f', the first {_MOST_LOSSES} of {len(lost)}' if len(lost) > _MOST_LOSSES else ''}. "
        f"The ratio is the geometric mean of {SUBJECT}'s regret relative to the other's on the same run.",
        "",
        *_table(
            ["suite, after, group", "other", "ratio", "its mean rank", "runs"],
            [
                [f"{row.suite}, {row.after}, {row.group}", row.optimizer, _ratio(row), _rank(row), f"{row.runs}"]
                for row in lost.head(_MOST_LOSSES).itertuples()
            ],
        ),
        "",
        "## Mean ranks and regrets",
    ]
    overall = ranks[ranks["group"] == ALL]
    for (suite, after), part in overall.groupby(["suite", "after"], sort=False):
        lines += [
            "",
            f"**{suite}, after {after}**, {part['runs'].iloc[0]} runs",
            "",
            *_table(
                ["optimizer", "mean rank", "geometric mean of regret", f"{SUBJECT}'s regret relative to it"],
                [[row.optimizer, _rank(row), f"{row.regret:.3g}", _ratio(row)] for row in part.itertuples()],
            ),
        ]
    lines += ["", "## Mean ranks by group"]
    for (suite, after), part in ranks.groupby(["suite", "after"], sort=False):
        table = part.pivot_table(index="optimizer", columns="group", values="rank", sort=False)
        lines += [
            "",
            f"**{suite}, after {after}**",
            "",
            *_table(
                ["optimizer", *map(str, table.columns)],
                [[str(name), *(f"{rank:.2f}" for rank in row)] for name, row in table.iterrows()],
            ),
        ]
    reached = curves.groupby(["optimizer", "suite"])["share"].max().unstack()
    seconds = runs.pivot_table(index="optimizer", columns="suite", values="seconds", aggfunc="median")
    lines += [
        "",
        f"## {SUBJECT} against each",
        "",
        "On the runs that both have done, whether or not the other has done all of them.",
        "",
        *_table(
            ["suite, after", "other", f"{SUBJECT}'s regret relative to it", "its mean rank of two", "runs"],
            [
                [f"{row.suite}, {row.after}", row.optimizer, _ratio(row), _rank(row), f"{row.runs}"]
                for row in pairs.sort_values("ratio", ascending=False).itertuples()
            ],
        ),
        "",
        "## Runtimes",
        "",
        "The share of runs and of 51 targets for the regret, from 100 down to 1e-8, that is reached by the end.",
        "",
        *_frame(reached, ".2f"),
        "",
        "![Runtimes](runtimes.png)",
        "",
        "## Median seconds of a step",
        "",
        "Asking and telling, one thread a run. Runs that share a machine with others take longer.",
        "",
        *_frame(seconds, ".3g"),
        "",
        "## What is missing",
        "",
        *([f"- {note}" for note in notes] or ["Nothing."]),
    ]
    return "\n".join(lines) + "\n"


def _rank(row: pandas.core.frame.Pandas) -> str:
    return f"{row.rank:.2f} [{row.rank_low:.2f}, {row.rank_high:.2f}]"


def _ratio(row: pandas.core.frame.Pandas) -> str:
    return "1" if row.optimizer == SUBJECT else f"{row.ratio:.3g} [{row.ratio_low:.3g}, {row.ratio_high:.3g}]"


def _frame(table: pandas.DataFrame, digits: str) -> list[str]:
    rows = [[str(name), *(format(value, digits) for value in row)] for name, row in table.iterrows()]
    return _table([str(table.index.name), *map(str, table.columns)], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    return [*lines, *(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows)]
