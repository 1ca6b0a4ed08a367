"""Time and memory of a step with many evaluations, or in many coordinates, beside BoTorch's default loop and GPSampler.

Each contender is told `n` random evaluations of Levy's function and asked for the next point three times, in a process
of its own with one thread. Given are seconds of processor time, which other programs on the machine hardly change, for
the first step and as the mean of the other two, and the largest memory of the process. A contender that takes longer
than `--limit` seconds in all is stopped, and not tried with more data.

    python benchmarks/scale.py --out docs/results/scale.csv
    python benchmarks/scale.py --table docs/results/scale.csv
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

CASES = ("6x500", "6x1000", "6x2000", "6x5000", "6x10000", "20x10000", "100x200", "200x200", "500x200")
NAMES = {"betabo": "betabo", "botorch": "BoTorch", "optuna-gp": "GPSampler"}
_STEPS = 3
COLUMNS = ["dims", "n", "contender", "first", "later", "memory"]


def measure(contender: str, dims: int, n: int, limit: int) -> None:
    """Print the seconds of each step, and the memory in MiB before the first and after the last."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    import torch
    from botorch.test_functions import Levy
    from step import betabo_step, botorch_step, optuna_step
    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    makers = {"betabo": lambda: betabo_step(dims), "botorch": botorch_step, "optuna-gp": optuna_step}
    levy, step = Levy(dim=dims), makers[contender]()
    x = np.random.default_rng(0).random((n, dims))
    with threadpool_limits(1):
        y = levy(torch.from_numpy(-10 + 20 * x)).numpy()
        for _ in range(_STEPS):
            began = time.process_time()
            point = step(x, y)
            print(time.process_time() - began, flush=True)
            x = np.vstack([x, point])
            y = np.append(y, levy(torch.from_numpy(-10 + 20 * point[None])).numpy())
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10, flush=True)


def run(cases: list[str], contenders: list[str], limit: int, out: Path) -> None:
    """Measure what is not in the file yet."""
    out.parent.mkdir(parents=True, exist_ok=True)
    if not out.exists():
        out.write_text(",".join(COLUMNS) + "\n")
    for case in cases:
        dims, n = map(int, case.split("x"))
        for contender in contenders:
            known = [row for row in _rows(out) if (row["dims"], row["contender"]) == (str(dims), contender)]
            if any(row["n"] == str(n) for row in known):
                continue
            first = later = memory = ""
            if all(row["memory"] for row in known):  # else it was stopped with fewer data
                command = [sys.executable, __file__, "--one", contender, case, "--limit", str(limit)]
                environment = os.environ | {"OMP_NUM_THREADS": "1"}
                found = subprocess.run(command, capture_output=True, text=True, env=environment)
                numbers = [float(line) for line in found.stdout.split()]
                if numbers:
                    first = f"{numbers[0]:.3f}"
                if found.returncode == 0:
                    *steps, most = numbers
                    later, memory = f"{np.mean(steps[1:]):.3f}", f"{most:.0f}"
            with out.open("a") as file:
                csv.writer(file, lineterminator="\n").writerow([dims, n, contender, first, later, memory])


def _rows(out: Path) -> list[dict[str, str]]:
    with out.open(newline="") as file:
        return list(csv.DictReader(file))


def table(path: Path) -> str:
    """The measurements as a table: seconds of the first step / of a later one, and memory."""
    import pandas as pd

    rows = pd.read_csv(path)
    names = [name for name in NAMES if (rows["contender"] == name).any()]
    lines = [f"| d | n | {' | '.join(NAMES[name] for name in names)} |", "|---:|---:|" + "---|" * len(names)]
    for (dims, n), some in rows.groupby(["dims", "n"], sort=True):
        cells = []
        for name in names:
            mine = some[some["contender"] == name]
            cells.append(_cell(mine.iloc[0]) if len(mine) else "")
        lines.append(f"| {dims} | {n:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(row: pd.Series) -> str:
    if np.isnan(row["memory"]):
        return "stopped"
    return f"{row['first']:.1f} s, {row['later']:.1f} s, {row['memory'] / 1024:.1f} GiB"


def main() -> None:
    """Run the benchmark, or show what it measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=CASES, help="coordinates x evaluations known")
    parser.add_argument("--contenders", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--limit", type=int, default=90, help="seconds of processor time for one contender and case")
    parser.add_argument("--out", type=Path, default=Path("out/bench/scale.csv"), help="where the measurements go")
    parser.add_argument("--table", type=Path, help="only show these measurements")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        contender, case = arguments.one
        dims, n = map(int, case.split("x"))
        measure(contender, dims, n, arguments.limit)
    elif arguments.table:
        print(table(arguments.table))
    else:
        run(arguments.cases, arguments.contenders, arguments.limit, arguments.out)


if __name__ == "__main__":
    main()
