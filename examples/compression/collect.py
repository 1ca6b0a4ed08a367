"""Put the searches of run.py into the three files that `betabo reproduce compression` draws.

    python examples/compression/collect.py out/compression src/betabo/lab/reproduce/compression --command "..."

Only finished searches are taken; experiments that the run has not prepared stay as they are stored. With
latency-cpu.json or latency-cuda.json in the folder, the table has latencies.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from betabo.lab.reproduce.compression.results import EXPERIMENTS_FILE, FINALS_FILE, SEARCHES_FILE
from betabo.lab.reproduce.compression.searches import read_search

TRIALS, UNIFORM_TRIALS, START = 35, 19, "uniform-start"
TIMED = {  # by column: device and examples in a pass
    "latency_cpu": ("cpu", 1),
    "latency_gpu": ("cuda", 128),
    "latency_gpu_one": ("cuda", 1),
}


def collect(run: Path, out: Path, command: str) -> dict[str, int]:
    """Write the files; returns how many searches and evaluations the run added to them."""
    if not any(run.glob("prepared/*/facts.json")):
        raise SystemExit(f"{run} holds no prepared experiment: is it a folder of run.py?")
    facts = {path.parent.name: json.loads(path.read_text()) for path in sorted(run.glob("prepared/*/facts.json"))}
    latency, machines = _latencies(run)
    rows, finals = [], []
    timed: dict[tuple[str, str], float] = {}
    for experiment, about in facts.items():
        finals.append(_original(experiment, about, latency))
        for path in sorted((run / "searches").glob(f"{experiment}-*.jsonl")):
            search, records = _name(experiment, path.stem), read_search(path)
            best = min((record["objective"] for record in records if "objective" in record), default=np.inf)
            timed[_key(search)] = min(timed.get(_key(search), np.inf), best)
            if len(records) < (UNIFORM_TRIALS if search["method"] == "uniform" else TRIALS):
                continue
            rows += [_row(search, record, about) for record in records]
            finals.append(_final(search, records, about, latency, run / "finals" / f"{path.stem}.json"))
    out.mkdir(parents=True, exist_ok=True)
    described = {name: {**_tidy(about), "timed": machines, "command": command} for name, about in facts.items()}
    _store(out / SEARCHES_FILE, pd.DataFrame(rows), described)
    _store(out / FINALS_FILE, pd.DataFrame(_only_timed(finals, timed)), described)
    file = out / EXPERIMENTS_FILE
    stored = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    file.write_text(json.dumps(stored | described, indent=1) + "\n", encoding="utf-8")
    return {"searches": len(finals) - len(facts), "evaluations": len(rows)}


def _store(path: Path, table: pd.DataFrame, replaced: Iterable[str]) -> None:
    """Write a table, after the rows of other experiments that are stored already."""
    if path.exists():
        stored = pd.read_parquet(path)
        table = pd.concat([stored[~stored["experiment"].isin(list(replaced))], table], ignore_index=True)
    table.to_parquet(path, compression="zstd", index=False)


def _name(experiment: str, stem: str) -> dict[str, Any]:
    """What run.py put into a file's name: method, acquisition function, start, seed."""
    parts = stem.removeprefix(f"{experiment}-").rsplit("-s", 1)
    what, start = parts[0].removesuffix(f"-{START}"), parts[0].endswith(START)
    acquisitions = ("ucb", "pi", "ei", "corrected_pi", "corrected_ei", "log_ei")
    acquisition = next((name for name in acquisitions if what.endswith(f"-{name}")), "")
    method = what.removesuffix(f"-{acquisition}") if acquisition else what
    return {
        "experiment": experiment,
        "method": method,
        "acquisition": acquisition,
        "start": "uniform" if start else "sobol",
        "seed": int(parts[1]),
    }


def _row(search: dict[str, Any], record: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    failed = "objective" not in record
    metrics = {f"metric_{name}": value for name, value in record.get("metrics", {}).items()}
    return {
        **search,
        "trial": record["trial"],
        "x": np.array(record["x"], dtype=np.float32),
        **{name: record.get(name, np.nan) for name in ("objective", "size", "error")},
        "flops": np.nan if failed else record["flops"] / about["flops"],
        "seconds": record.get("seconds", np.nan),
        "failed": failed,
        **metrics,
    }


def _final(
    search: dict[str, Any],
    records: list[dict[str, Any]],
    about: dict[str, Any],
    latency: dict[tuple[str, str], dict[str, float]],
    more: Path,
) -> dict[str, Any]:
    best = min((record for record in records if "objective" in record), key=lambda record: record["objective"])
    tests = {f"test_{name}": value for name, value in best["test"].items()}
    if more.exists():
        for place, metrics in json.loads(more.read_text())["also"].items():
            tests.update({f"test_{place}_{name}": value for name, value in metrics.items()})
    return {
        **search,
        "objective": best["objective"],
        "size": best["size"],
        "flops": best["flops"] / about["flops"],
        "parameters": best["parameters"],
        **_columns(latency, _key(search)),
        **tests,
    }


def _only_timed(finals: list[dict[str, Any]], timed: dict[tuple[str, str], float]) -> list[dict[str, Any]]:
    """The timed model is the best of all seeds, unfinished ones included: the others have no latency."""
    for final in finals:
        if final["objective"] > timed.get(_key(final), np.inf):
            final.update(dict.fromkeys(TIMED, np.nan))
    return finals


def _key(search: dict[str, Any]) -> tuple[str, str]:
    """What run.py calls the timed model of a search."""
    return search["experiment"], f"{search['method']}/{search['acquisition']}"


def _original(
    experiment: str, about: dict[str, Any], latency: dict[tuple[str, str], dict[str, float]]
) -> dict[str, Any]:
    tests = {f"test_{name}": value for name, value in about["test"].items()}
    for place, metrics in about["also"].items():
        tests.update({f"test_{place}_{name}": value for name, value in metrics.items()})
    return {
        "experiment": experiment,
        "method": "original",
        "acquisition": "",
        "start": "",
        "seed": 0,
        "objective": 2 - about["validation"][about["metric"]],
        "size": 1.0,
        "flops": 1.0,
        "parameters": about["parameters"],
        **_columns(latency, (experiment, "original")),
        **tests,
    }


def _latencies(run: Path) -> tuple[dict[tuple[str, str], dict[str, float]], dict[str, str]]:
    """Seconds by model and column, and the machines they were measured on."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    machines = {}
    for column, (device, batch) in TIMED.items():
        path = run / f"latency-{device}.json"
        if path.exists():
            content = json.loads(path.read_text())
            machines[device] = content["device"]
            for row in content["rows"]:
                if row["batch"] == batch:
                    found.setdefault((row["experiment"], row["method"]), {})[column] = row["median"]
    return found, machines


def _columns(latency: dict[tuple[str, str], dict[str, float]], key: tuple[str, str]) -> dict[str, float]:
    return {column: latency.get(key, {}).get(column, np.nan) for column in TIMED}


def _tidy(about: dict[str, Any]) -> dict[str, Any]:
    left = about.pop("left_out")
    about.pop("seconds")
    about["title"] = about["title"][0].upper() + about["title"][1:]
    about["left_out_parameters"] = sum(part["parameters"] for part in left)
    return about


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of run.py")
    parser.add_argument("out", type=Path, help="folder for the three files")
    parser.add_argument("--command", default="", help="the command that made the searches")
    arguments = parser.parse_args()
    print(collect(arguments.run, arguments.out, arguments.command))
