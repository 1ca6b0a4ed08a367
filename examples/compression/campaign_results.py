"""What the campaign of compressions came to: the tables and the figure of docs/compression.md.

    python examples/compression/campaign_results.py collect out/campaign out/pilot
    python examples/compression/campaign_results.py write
    python examples/compression/campaign_results.py figure

`collect` puts the lines that campaign.py wrote into `docs/results/compression.parquet`, from which all else comes.
A result has the name of its folder as its run: `pilot` is the one that our way was chosen by, from validation examples.
Means are over the seeds of the training, with standard errors.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

DOCS = Path(__file__).parents[2] / "docs"
RUNS = DOCS / "results" / "compression.parquet"
PAGE = DOCS / "compression.md"
FIGURE = DOCS / "images" / "compression-sizes.svg"
METRICS = {"sst2": "accuracy", "mrpc": "accuracy", "squadshifts": "f1", "wikitext2": "perplexity"}
TITLES = {"sst2": "SST-2", "mrpc": "MRPC", "squadshifts": "SQuADShifts"}
OURS, OURS_NOW = "ours; trained", "ours"
RIVALS = {
    "one ratio, inputs; trained on labels": "one ratio, whitened",
    "one ratio, plain; trained on labels": "one ratio, plain SVD",
    "LoSparse; trained on labels": "LoSparse",
    "magnitude; trained on labels": "magnitude pruning",
    "search matern": "the paper's search, Matérn",
    "search beta-paper": "the paper's search, Beta",
}
"""All trained for as long as ours."""
UNTRAINED = {
    "one ratio, inputs": "one ratio, whitened",
    "one ratio, plain": "one ratio, plain SVD",
    "magnitude": "magnitude pruning",
}
EIGHT_BITS = 0.25
"""Share of the bytes of float32 that eight bits take."""
ROUNDS, PILOT = 10_000, "pilot"


def collect(folders: Sequence[Path], runs: Path = RUNS) -> int:
    """Put the lines of some folders into one file; returns how many there are."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for folder in folders:
        for path in sorted(folder.rglob("rows-*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                found.setdefault((folder.name, row["key"]), {"run": folder.name, **_flat(row)})
    table = pd.DataFrame(list(found.values())).sort_values(["run", "key"], ignore_index=True)
    runs.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(runs, compression="zstd", index=False)
    return len(table)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """One line as a row of the table."""
    metric = METRICS[row["pair"]]
    flat = {
        name: row.get(name) for name in ("key", "part", "pair", "seed", "way", "size", "reached", "steps", "failed")
    }
    flat["seconds"] = row["seconds"]
    for split in ("validation", "test"):
        flat[split] = (row.get(split) or row.get("original", {}).get(split) or {}).get(metric)
    flat["ratios"] = row.get("ratios")
    trials = row.get("trials", [])
    flat["values"] = row.get("losses") or [trial.get("objective", np.nan) for trial in trials] or None
    flat["sizes"] = row.get("sizes") or [trial.get("size", np.nan) for trial in trials] or None
    flat["errors"] = row.get("errors") or [trial.get("error", np.nan) for trial in trials] or None
    flat["tests"] = [trial.get("test", {}).get(metric, np.nan) for trial in trials] or None
    flat["fresh"] = row.get("fresh")
    flat["latency"] = row.get("latency")
    return flat


def read(runs: Path = RUNS) -> pd.DataFrame:
    """All results; the searches of the paper to a size have names of their own."""
    table = pd.read_parquet(runs)
    searched = table["part"] == "search"
    table.loc[searched, "way"] = "search " + table.loc[searched, "way"]
    return table


def compared(runs: pd.DataFrame) -> pd.DataFrame:
    """Test metrics by pair, size, way and seed, of what has all seeds."""
    rows = runs[runs["part"].isin(["compare", "search"]) & runs["test"].notna() & (runs["run"] != PILOT)]
    return rows.pivot_table(index=["pair", "size", "way"], columns="seed", values="test").dropna()


def cell(values: Any) -> str:
    """Mean and standard error over the seeds, in points of a hundred."""
    points = 100 * np.asarray(values, dtype=float)
    return f"{points.mean():.1f} ± {points.std(ddof=1) / np.sqrt(len(points)):.1f}"


def _head(first: Sequence[str], pairs: Sequence[str]) -> str:
    return f"| {' | '.join([*first, *(TITLES[pair] for pair in pairs)])} |"


def _rule(texts: int, pairs: Sequence[str]) -> str:
    return "|" + "---|" * texts + "---:|" * len(pairs)


def main_table(runs: pd.DataFrame) -> list[str]:
    """Ours against all rivals that were trained, and eight bits."""
    table = compared(runs)
    pairs = [pair for pair in TITLES if pair in table.index.get_level_values("pair")]
    lines = [_head(["", "size"], pairs), _rule(2, pairs)]
    for way, name in (("original", "original"), ("int8", "eight bits")):
        lines.append(f"| {name} | 1 | " + " | ".join(cell(table.loc[pair, 1.0, way]) for pair in pairs) + " |")
    for size in (0.5, 0.3, 0.15):
        for way, name in {OURS: "**ours**", "ours; trained; int8": "**ours, eight bits on top**", **RIVALS}.items():
            cells = [cell(table.loc[pair, size, way]) if (pair, size, way) in table.index else "" for pair in pairs]
            if any(cells):
                lines.append(f"| {name} | {size:g} | " + " | ".join(cells) + " |")
    return lines


def untrained_table(runs: pd.DataFrame) -> list[str]:
    """The same without any training."""
    table = compared(runs)
    pairs = [pair for pair in TITLES if pair in table.index.get_level_values("pair")]
    lines = [_head(["no training", "size"], pairs), _rule(2, pairs)]
    for size in (0.5, 0.3, 0.15):
        for way, name in {OURS_NOW: "**ours**", **UNTRAINED}.items():
            lines.append(
                f"| {name} | {size:g} | " + " | ".join(cell(table.loc[pair, size, way]) for pair in pairs) + " |"
            )
    return lines


def lost(runs: pd.DataFrame) -> list[str]:
    """Where a rival of the same size, or eight bits in fewer bytes, has a higher mean on test examples, worst first."""
    table = compared(runs)
    found = []
    for pair, size in sorted({(pair, size) for pair, size, _ in table.index if size < 1}):
        rivals = {(size, way): name for way, name in RIVALS.items()}
        if size > EIGHT_BITS:
            rivals[1.0, "int8"] = "eight bits alone, 0.25 of the bytes"
        for (of_size, way), name in rivals.items():
            if (pair, of_size, way) in table.index:
                gap = table.loc[pair, of_size, way] - table.loc[pair, size, OURS]
                if gap.mean() > 0:
                    seeds = f"{int((gap > 0).sum())} of {len(gap)}"
                    cells = (TITLES[pair], f"{size:g}", name, f"{100 * gap.mean():.1f}", seeds)
                    found.append((gap.mean(), f"| {' | '.join(cells)} |"))
    rows = [line for _, line in sorted(found, reverse=True)]
    return ["| | our size | rival | ahead by | seeds |", "|---|---|---|---|---|", *rows]


def recovered(runs: pd.DataFrame, rival: str, size: float = 0.3) -> dict[str, float]:
    """The share of what a rival loses that ours does not lose, by pair, of the means over the seeds."""
    table = compared(runs)
    shares = {}
    for pair in TITLES:
        if (pair, size, OURS) in table.index:
            original = table.loc[pair, 1.0, "original"].mean()
            loss = original - table.loc[pair, size, rival].mean()
            shares[pair] = 1 - (original - table.loc[pair, size, OURS].mean()) / loss
    return shares


def interval(values: Sequence[float], seed: int = 0) -> tuple[float, float, float]:
    """The mean and its 95 % bootstrap interval."""
    array = np.asarray(values, dtype=float)
    draws = np.random.default_rng(seed).choice(array, (ROUNDS, len(array))).mean(1)
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(array.mean()), float(low), float(high)


def contributions(runs: pd.DataFrame) -> list[str]:
    """What each part of the way adds on validation and test examples, over all pairs, sizes and seeds."""
    steps = (
        ("one ratio, inputs", "one ratio, plain", "whitening by the inputs"),
        ("one ratio, both", "one ratio, inputs", "weighing outputs by gradients"),
        ("ours", "one ratio, both", "ratios by sensitivity"),
        ("inputs", "inputs, labels", "divergence instead of the loss, in the sensitivities"),
        ("ours, more examples", "ours", "1,024 examples instead of 256"),
        ("ours, rows", "ours", "rows beside the low-rank part"),
        ("ours; trained", "ours", "200 steps for the original's answers"),
        ("ours; trained", "ours; trained on labels", "the original's answers instead of labels, in these"),
        ("ours, rows; trained", "ours; trained", "rows, with training"),
    )
    rows = runs[runs["part"].isin(["compare", "parts"]) & (runs["size"] < 1)]
    lines = ["| what | pairs | validation | test |", "|---|---|---|---|"]
    for with_it, without, what in steps:
        cells = []
        for split in ("validation", "test"):
            table = rows.pivot_table(index=["run", "pair", "size", "seed"], columns="way", values=split)
            if with_it not in table or without not in table:
                break
            gains = (100 * (table[with_it] - table[without])).dropna().to_numpy()
            mean, low, high = interval(gains)
            cells.append(f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]")
        else:
            lines.append(f"| {what} | {len(gains)} | {' | '.join(cells)} |")
    return lines


def latency_table(runs: pd.DataFrame) -> list[str]:
    """Time for one example on a CPU, as a share of the original's."""
    rows = runs[(runs["part"] == "latency") & runs["latency"].notna()]
    table = rows.pivot_table(index=["pair", "size", "way"], values="latency")["latency"]
    pairs = [pair for pair in TITLES if pair in table.index.get_level_values("pair")]
    lines = [_head(["time of the original's", "size"], pairs), _rule(2, pairs)]
    names = {
        OURS: "**ours**",
        "ours; trained; int8": "**ours, eight bits on top**",
        "one ratio, inputs; trained on labels": "one ratio",
        "LoSparse; trained on labels": "LoSparse",
        "int8": "eight bits",
    }
    for size in (1.0, 0.5, 0.3, 0.15):
        for way, name in names.items():
            if any((pair, size, way) in table.index for pair in pairs):
                times = (table[pair, size, way] / table[pair, 1.0, "original"] for pair in pairs)
                lines.append(f"| {name} | {size:g} | " + " | ".join(f"{time:.2f}" for time in times) + " |")
    return lines


def paper_table(runs: pd.DataFrame) -> list[str]:
    """The paper's search at the paper's length."""
    names = {
        "uniform": "one ratio, 19 levels",
        "beta-paper": "Beta (paper)",
        "matern": "Matérn",
        "rbf": "RBF",
        "spectral-mixture": "spectral mixture",
        "newton-girard": "Newton-Girard",
        "cylindrical": "cylindrical",
    }
    rows = runs[runs["part"] == "paper"]
    lines = ["| | seeds | objective | size | error | test |", "|---|---|---|---|---|---|"]
    for way, name in names.items():
        of_way = rows[rows["way"] == way]
        if len(of_way):
            best = [int(np.nanargmin(values)) for values in of_way["values"]]
            columns = [
                np.array([values[place] for values, place in zip(of_way[column], best, strict=True)])
                for column in ("values", "sizes", "errors", "tests")
            ]
            cells = [_plain(column) for column in columns]
            lines.append(f"| {name} | {len(of_way)} | {' | '.join(cells)} |")
    return lines


def _plain(values: Any) -> str:
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{values.mean():.3f} ± {error:.3f}" if len(values) > 1 else f"{values.mean():.3f}"


def kernel_table(runs: pd.DataFrame) -> list[str]:
    """Kernels in the search from sensitivities: the lowest divergence found, relative to Matérn's, pair by pair."""
    rows = runs[runs["part"] == "kernels"].copy()
    rows["best"] = rows["values"].map(min)
    index = ["pair", "size", "seed"]
    best, fresh = (rows.pivot_table(index=index, columns="way", values=value) for value in ("best", "fresh"))
    names = {
        "none": "no search, the five designs",
        "random": "random designs",
        "rbf": "RBF",
        "beta-paper": "Beta (paper)",
        "beta-additive": "beta-additive, the default",
    }
    lines = ["| relative to Matérn's | pairs | where it is searched | on other examples |", "|---|---|---|---|"]
    for way, name in names.items():
        cells = []
        for table in (best, fresh):
            ratios = np.log(table[way] / table["matern"]).dropna().to_numpy()
            mean, low, high = np.exp(interval(ratios))
            cells.append(f"{mean:.2f} [{low:.2f}, {high:.2f}]")
        lines.append(f"| {name} | {len(ratios)} | {' | '.join(cells)} |")
    return lines


def causal_table(runs: pd.DataFrame) -> list[str]:
    """The perplexity of a language model, without any training."""
    rows = runs[runs["part"] == "causal"]
    table = rows.pivot_table(index="way", columns="size", values="test")
    sizes = sorted(table.columns, reverse=True)
    names = {
        "original": "original",
        "ours": "**ours**",
        "ours; int8": "**ours, eight bits on top**",
        "one ratio, both": "one ratio, outputs weighed",
        "one ratio, inputs": "one ratio, whitened",
        "one ratio, plain": "one ratio, plain SVD",
    }
    lines = ["| perplexity | " + " | ".join(f"{size:g}" for size in sizes) + " |", "|---|" + "---:|" * len(sizes)]
    for way, name in names.items():
        if way in table.index:
            cells = ["" if np.isnan(value) else f"{value:,.0f}" for value in table.loc[way, sizes]]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def tables(runs: Path = RUNS) -> dict[str, list[str]]:
    """All tables by name."""
    rows = read(runs)
    made = {
        "lost": lost,
        "main": main_table,
        "untrained": untrained_table,
        "contributions": contributions,
        "latency": latency_table,
        "paper": paper_table,
        "kernels": kernel_table,
        "causal": causal_table,
    }
    return {name: make(rows) for name, make in made.items()}


def figure(runs: Path = RUNS, out: Path = FIGURE) -> None:
    """Test metric against size, a panel for each pair."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "betabo"
    from matplotlib import pyplot as plt

    table = compared(read(runs))
    drawn = {OURS: "ours", "ours": "ours, no training", **RIVALS}
    pairs = [pair for pair in TITLES if (pair, 0.3, OURS) in table.index]
    panels, axes = plt.subplots(1, len(pairs), figsize=(11, 3.8), layout="constrained")
    for axis, pair in zip(np.atleast_1d(axes), pairs, strict=True):
        for way, name in drawn.items():
            points = [
                (size, 100 * table.loc[pair, size, way])
                for size in (0.15, 0.3, 0.5)
                if (pair, size, way) in table.index
            ]
            axis.errorbar(
                [size for size, _ in points],
                [values.mean() for _, values in points],
                [values.std(ddof=1) / np.sqrt(len(values)) for _, values in points],
                label=name,
                marker="o",
                linewidth=2.5 if way == OURS else 1.2,
                color="black" if way == OURS else None,
            )
        axis.axhline(100 * table.loc[pair, 1.0, "original"].mean(), color="gray", linestyle=":", label="original")
        axis.set(title=TITLES[pair], xlabel="size", ylabel=f"{METRICS[pair]}, test")
    handles, labels = np.atleast_1d(axes)[0].get_legend_handles_labels()
    panels.legend(handles, labels, loc="outside lower center", ncols=5, fontsize="small", frameon=False)
    out.parent.mkdir(parents=True, exist_ok=True)
    panels.savefig(out, metadata={"Date": None})


def written(page: str, found: dict[str, list[str]]) -> str:
    """A page with its tables renewed."""
    for name, lines in found.items():
        start, end = f"<!-- table {name} -->\n", "<!-- end -->"
        before, after = page.split(start)
        page = before + start + "\n".join([*lines, ""]) + end + after.split(end, 1)[1]
    return page


def shares(runs: pd.DataFrame) -> Iterator[str]:
    """What ours recovers at 0.3 of what one ratio for all loses."""
    for rival in ("one ratio, plain; trained on labels", "one ratio, inputs; trained on labels"):
        found = {pair: f"{share:.0%}" for pair, share in recovered(runs, rival).items()}
        yield f"of what {rival!r} loses at 0.3, ours does not lose: {found}"


def write() -> None:
    """Renew the tables of the page and the figure."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), tables()), encoding="utf-8")
    figure()
    print("\n".join(shares(read())))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    collecting = commands.add_parser("collect", help="put results into one file")
    collecting.add_argument("folders", type=Path, nargs="+")
    collecting.set_defaults(call=lambda given: print(collect(given.folders), "results"))
    commands.add_parser("write", help="renew the tables of the page and the figure").set_defaults(
        call=lambda _: write()
    )
    arguments = parser.parse_args()
    arguments.call(arguments)
