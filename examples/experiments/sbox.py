"""What betabo and its peers come to on SBOX-COST, from the runs that are kept in `docs/results/sbox.parquet`.

The tables of `docs/peers.md`, losses first. `betabo bench peers` made the runs; each optimizer started with its own
design, and instances 6 and up were looked at for nothing else.

    python examples/experiments/sbox.py
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from betabo.lab.bench.peers_runs import read_packed
from betabo.lab.bench.peers_statistics import ALL, SUBJECT, compared, losses, pairwise, ranking

RUNS = Path(__file__).parents[2] / "docs" / "results" / "sbox.parquet"
NAMES = {
    "betabo": "**betabo**",
    "cobyqa": "COBYQA",
    "cobyqa-scaled": "COBYQA, `scale`",
    "optuna-gp": "Optuna, GPSampler",
    "turbo": "TuRBO-1",
    "pycma": "CMA-ES",
    "pycma-lq": "lq-CMA-ES",
    "random": "random points",
}
WORTH_NAMING = 1.5  # times the other's regret, from which a lost group is listed
SHORT = ("optuna-gp", "turbo")  # were run for 15 d evaluations, so betabo's first 15 d are compared with theirs


def lost(ranks: pd.DataFrame) -> list[str]:
    """The groups in which betabo has at least one and a half times another's regret, worst first."""
    rows = losses(ranks)
    rows = rows[rows["ratio"] >= WORTH_NAMING]
    lines = ["| d | after | group | other | betabo's regret relative to its | runs |", "|---|---|---|---|---|---:|"]
    for row in rows.itertuples():
        dims = str(row.suite).rsplit("-", 1)[1]
        lines.append(f"| {dims} | {row.after} | {row.group} | {NAMES[row.optimizer]} | {_interval(row)} | {row.runs} |")
    return lines


def ranked(ranks: pd.DataFrame, after: str | None = None) -> list[str]:
    """Mean ranks by number of coordinates and of evaluations, or after some number of evaluations alone."""
    overall = ranks[(ranks["group"] == ALL) & ((ranks["after"] == after) | (after is None))]
    table = overall.pivot_table(index="optimizer", columns=["dims", "after"], values="rank")
    table = table[sorted(table.columns, key=_column)].loc[table.mean(axis=1).sort_values().index]
    best = table.min()
    lines = [_head("mean rank", table.columns), "|---" + "|---:" * len(table.columns) + "|"]
    for name, row in table.iterrows():
        cells = [_bold(f"{rank:.2f}", rank == best[column]) for column, rank in row.items()]
        lines.append(f"| {NAMES[str(name)]} | {' | '.join(cells)} |")
    return lines


def against(pairs: pd.DataFrame) -> list[str]:
    """The geometric mean of betabo's regret relative to each other's, on the runs that both have done."""
    table = pairs.assign(cell=[_interval(row) for row in pairs.itertuples()])
    counts = table.pivot_table(index="optimizer", columns="dims", values="runs")
    cells = table.pivot_table(index="optimizer", columns=["dims", "after"], values="cell", aggfunc="first")
    cells = cells[sorted(cells.columns, key=_column)]
    order = table[table["after"] == "15 d"].groupby("optimizer")["ratio"].mean().sort_values(ascending=False).index
    lines = [_head("peer | runs", cells.columns), "|---|---" + "|---" * len(cells.columns) + "|"]
    for name in order:
        runs = ", ".join(str(int(count)) for count in counts.loc[name].dropna())
        row = ["" if pd.isna(cell) else str(cell) for cell in cells.loc[name]]
        lines.append(f"| {NAMES[str(name)]} | {runs} | {' | '.join(row)} |")
    return lines


def short(pairs: pd.DataFrame) -> str:
    """What the README says: betabo's regret relative to COBYQA's, as it comes and with `scale`, in each dimension."""
    table = pairs[pairs["after"] == "15 d"].pivot_table(index="optimizer", columns="dims", values="ratio")
    plain, scaled = (_enumerated(f"{ratio:.2f}" for ratio in table.loc[name]) for name in ("cobyqa", "cobyqa-scaled"))
    dims = _enumerated(map(str, table.columns))
    return f"{plain} of COBYQA's in {dims} dimensions, and {scaled} of what COBYQA reaches with `scale`"


def tables() -> dict[str, list[str]]:
    """The lines of each table, by what it shows, and the sentence."""
    runs = read_packed(RUNS)
    is_short = runs["optimizer"].isin(SHORT)
    own = runs[runs["optimizer"] == SUBJECT]
    ranks = ranking(compared(runs[~is_short])[0])
    pairs = pd.concat([pairwise(runs[~is_short]), pairwise(pd.concat([_cut(own), runs[is_short]]))], ignore_index=True)
    for frame in (ranks, pairs):
        frame["dims"] = frame["suite"].str.rsplit("-", n=1).str[1].astype(int)
    return {
        "lost": lost(ranks),
        "ranked": ranked(ranks),
        "brief": ranked(ranks, "15 d"),
        "against": against(pairs),
        "short": [short(pairs)],
    }


def _cut(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs as they were after 15 d evaluations."""
    budget = 15 * runs["dims"]
    kept = [np.searchsorted(at, end, side="right") for at, end in zip(runs["evaluation"], budget, strict=True)]
    return runs.assign(
        budget=budget,
        evaluation=[at[:count] for at, count in zip(runs["evaluation"], kept, strict=True)],
        regret=[regret[:count] for regret, count in zip(runs["regret"], kept, strict=True)],
    )


def _enumerated(parts: Iterable[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}"


def _interval(row: pd.core.frame.Pandas) -> str:
    return f"{row.ratio:.2f} [{row.ratio_low:.2f}, {row.ratio_high:.2f}]"


def _bold(text: str, best: bool) -> str:
    return f"**{text}**" if best else text


def _column(column: tuple[int, str]) -> tuple[int, int]:
    dims, after = column
    return dims, int(str(after).split()[0])


def _head(first: str, columns: pd.Index) -> str:
    return f"| {first} | {' | '.join(f'd = {dims}, {after}' for dims, after in columns)} |"


def main() -> None:
    """Print all tables."""
    print(f"{SUBJECT} and its peers on SBOX-COST")
    for lines in tables().values():
        print("\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
