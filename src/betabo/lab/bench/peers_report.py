"""The report on betabo and its peers: ranks, ratios, times, and whether the goals are reached."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from betabo.files import write_bytes
from betabo.lab.bench.extras import require
from betabo.lab.bench.peers import SUITES
from betabo.lab.bench.peers_runs import FLOOR, REAL, SUBJECT, Runs, read_peer_runs
from betabo.lab.bench.plots import draw_critical_difference
from betabo.lab.bench.results import RUN_COLUMNS
from betabo.lab.bench.statistics import (
    Comparison,
    Interval,
    Ratios,
    compare,
    relative_to_best_peer,
    relative_to_each_peer,
    summarize,
)
from betabo.lab.plots.peer_ratios import draw_peer_ratios
from betabo.lab.plots.style import style

if TYPE_CHECKING:
    import pandas

PACE = "optuna-gp"
"""The peer whose time a step is the one to reach."""

LARGEST_MEAN = 0.8
LARGEST_RATIO = 2.0


@dataclass(frozen=True)
class Goal:
    """Something to reach.

    Attributes:
        text: What is to be reached.
        reached: Whether it is, None where the runs do not say.
        evidence: The numbers.
    """

    text: str
    reached: bool | None
    evidence: str

    @property
    def verdict(self) -> str:
        """In words."""
        return {True: "reached", False: "not reached", None: "cannot be told"}[self.reached]


@dataclass(frozen=True)
class PeerReport:
    """What was written.

    Attributes:
        goals: The goals.
        notes: What is missing, one line each.
        files: The files; the first is the report in Markdown.
    """

    goals: list[Goal]
    notes: list[str]
    files: list[Path]


def write_report(folder: str | Path, out: str | Path | None = None) -> PeerReport:
    """Report on the runs of a folder.

    Args:
        folder: The folder that `betabo bench peers` wrote to, with a folder for each suite.
        out: Where the files go; None is the folder `report` in it.

    Raises:
        ValueError: There are no runs of betabo, or of no peer on the same problems.
    """
    folder = Path(folder)
    runs = read_peer_runs(folder)
    comparisons = {name: compare(part, column="regret") for name, part in _groups(runs.values).items()}
    ratios = relative_to_best_peer(runs.values, SUBJECT)
    seconds = step_seconds(runs.steps)
    goals = check_goals(comparisons, ratios, seconds)
    named = runs.values.drop_duplicates("problem").set_index("problem")[["suite", "group"]]
    order = [problem for suite in SUITES.values() for problem in suite.problems if problem in named.index]
    ratio_table = named.loc[order].reset_index().merge(ratios.table, on="problem")
    ranks = rank_table(comparisons)
    summary = summarize(runs.values, "regret")
    pairs = relative_to_each_peer(runs.everything, SUBJECT)
    text = _markdown(runs, comparisons, ratios, ratio_table, ranks, summary, seconds, pairs, goals)
    seeds = "95 % intervals over the seeds" if ratios.table["seeds"].max() > 1 else "one seed"
    title = f"{SUBJECT} and the best peer, {seeds}"
    figures = {
        "critical-difference": draw_critical_difference(comparisons["all"]),
        "ratios": draw_peer_ratios(ratio_table, title),
    }
    files = {"report.md": text.encode()}
    each_run = runs.everything[["suite", *RUN_COLUMNS, "best", "regret", "seconds"]]
    for name, table in (("runs", each_run), ("regrets", summary), ("ratios", ratio_table), ("pairs", pairs)):
        files[f"{name}.csv"] = table.to_csv(index=False).encode()
    for name, table in (("ranks", ranks), ("seconds", seconds)):
        files[f"{name}.csv"] = table.to_csv(index_label="optimizer").encode()
    for name, figure in figures.items():
        contents = io.BytesIO()
        with style():
            figure.savefig(contents, format="png")
        files[f"{name}.png"] = contents.getvalue()
    to = folder / "report" if out is None else Path(out)
    for name, data in files.items():
        write_bytes(to / name, data, parents=True)
    return PeerReport(goals, runs.notes, [to / name for name in files])


def rank_table(comparisons: dict[str, Comparison]) -> pandas.DataFrame:
    """Mean rank of each optimizer (rows, the best first) in each group of problems (columns)."""
    pandas = require("pandas")
    table = pandas.DataFrame({name: comparison.ranks for name, comparison in comparisons.items()})
    return table.sort_values("all", kind="stable")


def step_seconds(steps: pandas.DataFrame) -> pandas.DataFrame:
    """Median seconds of a step, asking and telling: a row an optimizer, a column a suite and one for `all`."""
    by_suite = steps.pivot_table(index="optimizer", columns="suite", values="seconds", aggfunc="median")
    by_suite = by_suite[[name for name in SUITES if name in by_suite]]
    by_suite.insert(0, "all", steps.groupby("optimizer")["seconds"].median())
    by_suite.columns.name = None
    return by_suite.sort_values("all", kind="stable")


def check_goals(comparisons: dict[str, Comparison], ratios: Ratios, seconds: pandas.DataFrame) -> list[Goal]:
    """Whether betabo has the lowest mean rank, small ratios, and is as fast as `PACE`."""
    goals = []
    for name in _GROUPS:
        text = f"lowest mean rank, {_title(name)}"
        if name not in comparisons:
            goals.append(Goal(text, None, "no runs"))
            continue
        ranks = comparisons[name].ranks
        others = ranks.drop(SUBJECT)
        peer = str(others.idxmin())
        count = comparisons[name].blocks
        over = f"over {count} problem{'s' if count > 1 else ''}"
        evidence = f"{SUBJECT} {ranks[SUBJECT]:.2f}, {peer} {others[peer]:.2f}, {over}"
        goals.append(Goal(text, bool(ranks[SUBJECT] < others[peer]), evidence))
    mean = ratios.geometric_mean
    goals.append(
        Goal(
            f"geometric mean of the regret relative to the best peer at most {LARGEST_MEAN:g}",
            mean.estimate <= LARGEST_MEAN,
            f"{mean.estimate:.3g}, {_interval(mean, ratios.table['seeds'].max())}",
        )
    )
    worst = ratios.table.loc[ratios.table["ratio"].idxmax()]
    goals.append(
        Goal(
            f"worst such ratio at most {LARGEST_RATIO:g}",
            bool(worst["ratio"] <= LARGEST_RATIO),
            f"{worst['ratio']:.3g} on {worst['problem']}, against {worst['peer']}",
        )
    )
    text = f"median seconds a step at most those of {PACE}"
    own = seconds.loc[SUBJECT, "all"] if SUBJECT in seconds.index else None
    if own is None or PACE not in seconds.index:
        goals.append(Goal(text, None, f"{PACE if own is not None else SUBJECT} has no steps to compare"))
    else:
        theirs = seconds.loc[PACE, "all"]
        goals.append(Goal(text, bool(own <= theirs), f"{SUBJECT} {own:.3g} s, {PACE} {theirs:.3g} s"))
    return goals


_GROUPS = ("all", "d = 20", "d = 6", "centre", "face", "vertex", REAL)


def _title(group: str) -> str:
    return {"all": "all problems", REAL: "real problems"}.get(group, group)


def _groups(values: pandas.DataFrame) -> dict[str, pandas.DataFrame]:
    """The runs of each group that has some: all, by dimension and by placement of the placed functions, real."""
    placed = values[values["group"] != REAL]
    parts = {
        "all": values,
        "d = 20": placed[placed["dim"] == 20],
        "d = 6": placed[placed["dim"] == 6],
        **{name: values[values["group"] == name] for name in ("centre", "face", "vertex", REAL)},
    }
    return {name: part for name, part in parts.items() if len(part)}


def _markdown(
    runs: Runs,
    comparisons: dict[str, Comparison],
    ratios: Ratios,
    ratio_table: pandas.DataFrame,
    ranks: pandas.DataFrame,
    summary: pandas.DataFrame,
    seconds: pandas.DataFrame,
    pairs: pandas.DataFrame,
    goals: Sequence[Goal],
) -> str:
    mean = ratios.geometric_mean
    values = runs.values
    seeds = values.groupby(["problem", "optimizer"])["seed"].nunique()
    many = f"{seeds.min()}" if seeds.min() == seeds.max() else f"{seeds.min()} to {seeds.max()}"
    lines = [
        f"# {SUBJECT} and its peers",
        "",
        f"{values['optimizer'].nunique()} optimizers, {values['problem'].nunique()} problems, {many} seeds. "
        f"A regret below {FLOOR:g} counts as {FLOOR:g}.",
        "",
        "## Goals",
        "",
        *_table(["goal", "verdict", "numbers"], [[goal.text, goal.verdict, goal.evidence] for goal in goals]),
        "",
        "## Mean ranks",
        "",
        "Over problems, by the mean regret over the seeds; 1 is the best.",
        "",
        *_table(
            ["optimizer", *(_title(str(name)) for name in ranks.columns)],
            [[str(name), *(f"{rank:.2f}" for rank in row)] for name, row in ranks.iterrows()],
        ),
        "",
        f"![Mean ranks over {comparisons['all'].blocks} problems](critical-difference.png)",
        "",
        f"## Regret of {SUBJECT} relative to the best peer",
        "",
        f"Geometric mean {mean.estimate:.3g} ({_interval(mean, ratios.table['seeds'].max())}), median "
        f"{ratios.table['ratio'].median():.3g}, worst {ratios.table['ratio'].max():.3g}. Intervals are by a paired "
        "bootstrap over the seeds. Wins, ties and losses are over the seeds, against the best peer.",
        "",
        *_table(
            ["problem", SUBJECT, "best peer", "its regret", "ratio", "interval", "wins", "ties", "losses"],
            [
                [
                    row.problem,
                    f"{row.value:.3g}",
                    row.peer,
                    f"{row.peer_value:.3g}",
                    f"{row.ratio:.3g}",
                    f"{row.low:.3g} to {row.high:.3g}" if row.seeds > 1 else "one seed",
                    f"{row.wins}",
                    f"{row.ties}",
                    f"{row.losses}",
                ]
                for row in ratio_table.itertuples()
            ],
        ),
        "",
        "![Ratios](ratios.png)",
        "",
        "## Mean regret",
        "",
        *_regrets(summary, list(ranks.index), list(ratio_table["problem"])),
        "",
        f"## {SUBJECT} against each peer",
        "",
        f"On the runs that both have done: problems won, tied and lost by {SUBJECT}, by mean regret over seeds; the "
        "geometric mean over problems of its regret relative to the peer's, with a 95 % interval by a bootstrap over "
        "problems; Wilcoxon's p after Holm's correction, of those that have done enough to be ranked.",
        "",
        *_table(
            ["peer", "problems", "runs", "wins", "ties", "losses", "ratio", "interval", "p"],
            _against(pairs, comparisons["all"]),
        ),
        "",
        "## Median seconds of a step",
        "",
        "Asking and telling, one thread a run. Runs that share a machine with others take longer.",
        "",
        *_table(
            ["optimizer", *map(str, seconds.columns)],
            [[str(name), *(f"{value:.3g}" for value in row)] for name, row in seconds.iterrows()],
        ),
        "",
        "## What is missing",
        "",
        *([f"- {note}" for note in runs.notes] or ["Nothing."]),
    ]
    left_out = [*comparisons["all"].left_out]
    if left_out:
        lines.append(f"- left out, since no seed was done by all: {', '.join(left_out)}")
    if runs.below:
        found = ", ".join(f"{name} ({value!r})" for name, value in runs.below.items())
        lines += ["", f"Runs went below the best value known, which should be corrected: {found}."]
    return "\n".join(lines) + "\n"


def _interval(mean: Interval, seeds: int) -> str:
    """The interval in words; one seed has none."""
    return f"95 % interval {mean.low:.3g} to {mean.high:.3g}" if seeds > 1 else "one seed"


def _regrets(summary: pandas.DataFrame, optimizers: list[str], problems: list[str]) -> list[str]:
    cells = {(row.problem, row.optimizer): row.mean for row in summary.itertuples()}
    rows = []
    for problem in problems:
        shown = {name: cells[problem, name] for name in optimizers if (problem, name) in cells}
        best = min(shown.values())
        texts = {name: f"{mean:.3g}" for name, mean in shown.items()}
        rows.append([problem, *(f"**{texts[n]}**" if shown[n] == best else texts[n] for n in optimizers)])
    return _table(["problem", *optimizers], rows)


def _against(pairs: pandas.DataFrame, comparison: Comparison) -> list[list[str]]:
    p_values = comparison.p_matrix()[SUBJECT]
    return [
        [
            row.peer,
            *(f"{count}" for count in (row.problems, row.runs, row.wins, row.ties, row.losses)),
            f"{row.ratio:.3g}",
            f"{row.low:.3g} to {row.high:.3g}",
            f"{p_values[row.peer]:.2g}" if row.peer in p_values else "",
        ]
        for row in pairs.itertuples()
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    return [*lines, *(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows)]
