"""The runs of betabo and its peers as tables, and what is missing among them.

Regret is the lowest value without noise that a run has seen, less the optimum, or the best value known. One below
`FLOOR` counts as `FLOOR`, so that ratios and ties do not depend on rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from betabo.lab.bench.extras import require
from betabo.lab.bench.peers import SUITES, read_not_run
from betabo.lab.bench.results import read_results, run_files, values_at

if TYPE_CHECKING:
    import pandas

SUBJECT = "betabo"
FLOOR = 1e-9
REAL = "real"


@dataclass(frozen=True)
class Runs:
    """The runs of a folder.

    Attributes:
        values: One row a run that is compared, as `values_at` gives it, with `suite`, `group` (the placement, or
            `"real"`), `regret` not below `FLOOR`, and the median `seconds` of its steps.
        everything: Likewise, with the runs of optimizers that have done too little to be ranked with the others.
        steps: One row a step of a model in the runs that are compared: `optimizer`, `problem`, `suite`, `seed`,
            `seconds`.
        below: Lowest value by problem, where a run went below the best value known.
        notes: What is missing, one line each.
    """

    values: pandas.DataFrame
    everything: pandas.DataFrame
    steps: pandas.DataFrame
    below: dict[str, float]
    notes: list[str]


def read_peer_runs(folder: Path) -> Runs:
    """Read the runs of all suites, and leave out what cannot be compared.

    Compared are the problems that betabo has done, and the optimizers that have done all of those with at least half of
    its seeds.
    """
    pandas = require("pandas")
    parts, steps = [], []
    for name in SUITES:
        if not run_files(folder / name):
            continue
        results = read_results(folder / name, columns=["origin", "ask_seconds", "tell_seconds"])
        for column in ("optimizer", "problem"):
            results[column] = results[column].astype(str)
        values = values_at(results).assign(suite=name)
        values["group"] = REAL if name == REAL else values["placement"]
        parts.append(values)
        model = results[results["origin"] == "model"].assign(suite=name)
        model["seconds"] = model["ask_seconds"] + model["tell_seconds"]
        steps.append(model[["optimizer", "problem", "suite", "seed", "seconds"]])
    if not parts:
        raise ValueError(f"{folder} holds no runs; `betabo bench peers --out {folder}` makes some.")
    values, times = pandas.concat(parts, ignore_index=True), pandas.concat(steps, ignore_index=True)
    seeds = {str(name): part.groupby("problem")["seed"].nunique() for name, part in values.groupby("optimizer")}
    own = seeds.get(SUBJECT)
    if own is None:
        raise ValueError(f"{folder} holds no runs of {SUBJECT}, which the report is about.")
    enough = {name: counts.reindex(own.index, fill_value=0) >= own / 2 for name, counts in seeds.items()}
    compared = {name for name, problems in enough.items() if problems.all()}
    if compared == {SUBJECT}:
        raise ValueError(
            f"{folder} holds no peer that has done all {len(own)} problems of {SUBJECT} with half of its seeds."
        )
    notes = [*_missing(folder, seeds, compared), *_failures(folder)]
    below = _below(values)
    medians = times.groupby(["optimizer", "problem", "seed"])["seconds"].median().reset_index()
    values = values[values["problem"].isin(own.index)].merge(medians, how="left")
    values["regret"] = values["regret"].clip(lower=FLOOR)
    kept = values[values["optimizer"].isin(compared)].reset_index(drop=True)
    kept_times = times[times["optimizer"].isin(compared) & times["problem"].isin(own.index)]
    return Runs(kept, values, kept_times, below, notes)


def _missing(folder: Path, seeds: dict[str, pandas.Series], compared: set[str]) -> list[str]:
    lines = [f"not run: {name}: {reason}" for name, reason in read_not_run(folder).items() if name not in seeds]
    own = seeds[SUBJECT]
    for name, counts in seeds.items():
        if name not in compared:
            shared = counts[counts.index.isin(own.index)]
            lines.append(
                f"not ranked: {name} has done {len(shared)} of the {len(own)} problems of {SUBJECT}, "
                f"{shared.sum()} runs for its {own.sum()}"
            )
    left = sorted(set().union(*(counts.index for counts in seeds.values())) - set(own.index))
    return lines + ([f"not compared: {SUBJECT} has not done {', '.join(left)}"] if left else [])


def _failures(folder: Path) -> list[str]:
    """A line for each optimizer and reason with runs that failed."""
    counts: dict[tuple[str, str], int] = {}
    for name in SUITES:
        for path in sorted((folder / name).glob("*/*/*.error")):
            lines = path.read_text(encoding="utf-8").strip().splitlines() or ["no reason was left"]
            key = (path.parent.parent.name, lines[-1])
            counts[key] = counts.get(key, 0) + 1
    return [f"failed: {name}, {count} runs: {reason}" for (name, reason), count in counts.items()]


def _below(values: pandas.DataFrame) -> dict[str, float]:
    """Lowest value of the problems in which a run went below the value that was thought the best."""
    low = values[values["regret"] < -FLOOR].groupby("problem")["best"].min()
    return {str(name): float(value) for name, value in low.items()}
