"""Carry out the searches of a reproduction on a machine that has PyTorch, GPyTorch and BoTorch, and little else.

    python examples/run_elsewhere.py placements --scale paper --out DIR --workers 16 --seconds 560

does what is missing in DIR, seed by seed, and stops in time: a run that is not expected to end before the deadline is
not started, and one that does not is given up. Each finished run is one file, gzipped JSON, written whole or not at
all. Several of these processes may share DIR: a run that one is at is locked, and the others leave it alone.
`--only REGEX` takes the runs whose names, OPTIMIZER/PROBLEM/SEED, match. On a machine with everything installed,

    python examples/run_elsewhere.py --collect DIR out/reproduce/placements/runs/paper

makes of them the files that `betabo reproduce placements --scale paper` goes on from.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import time
import traceback
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from multiprocessing.pool import AsyncResult
from pathlib import Path

from filelock import FileLock, Timeout

from betabo.files import write_bytes
from betabo.lab.bench.executor import WORKER_ENVIRONMENT
from betabo.lab.bench.run import Record, Run, perform
from betabo.lab.bench.storage import encode
from betabo.lab.reproduce import REPRODUCTIONS, Searches
from betabo.lab.reproduce.campaigns import expected_seconds
from betabo.lab.reproduce.entry import SCALES

SEARCHED = {name: entry for name, entry in REPRODUCTIONS.items() if isinstance(entry, Searches)}
"""The reproductions that are drawn from searches."""

SAFETY = 1.15
"""A run may take this many times longer than expected."""


@dataclass(frozen=True)
class Running:
    """A run that a worker is at, and the lock on it, which is given back when its holder ends, however it does."""

    run: Run
    lock: FileLock
    began: float
    error: AsyncResult[str]


def main() -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=list(SEARCHED), help="which reproduction")
    parser.add_argument("--scale", choices=SCALES, default="paper")
    parser.add_argument("--out", type=Path, help="folder of the runs as JSON")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=re.compile, default=re.compile(""), metavar="REGEX", help="runs with such names")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time after which it ends")
    parser.add_argument("--collect", nargs=2, type=Path, metavar=("DIR", "RUNS"), help="runs as JSON to Parquet")
    arguments = parser.parse_args()
    if arguments.collect:
        print(f"{collect(*arguments.collect)} runs collected")
    elif arguments.name and arguments.out and arguments.workers > 0:
        deadline = time.monotonic() + arguments.seconds
        every = [run for campaign in SEARCHED[arguments.name].campaigns(arguments.scale) for run in campaign.runs()]
        runs = [run for run in every if arguments.only.search(run.key)]
        if not runs:
            parser.error(f"--only is {arguments.only.pattern!r}, expected a pattern in names such as {every[0].key}")
        carry_out(runs, arguments.out, arguments.workers, deadline)
    else:
        parser.error("give a name, --out and at least one worker; or --collect DIR RUNS")


def carry_out(runs: list[Run], out: Path, workers: int, deadline: float) -> None:
    """Do the runs that have no file, as far as they can be done before the deadline of the monotonic clock."""
    waiting = sorted((run for run in runs if not file_of(run, out).exists()), key=lambda run: run.seed)
    print(f"{len(waiting)} of {len(runs)} runs to do, {workers} at a time", flush=True)
    os.environ.update(WORKER_ENVIRONMENT)  # workers inherit it, and libraries read it when they are loaded
    running: list[Running] = []
    slowness = 1.0
    done = 0
    with get_context("spawn").Pool(workers, _one_thread) as pool:  # leaving it ends the workers
        while True:
            while len(running) < workers:
                left = (deadline - time.monotonic()) / SAFETY
                fitting = next((run for run in waiting if slowness * expected_seconds(run) < left), None)
                if fitting is None:
                    break
                waiting.remove(fitting)
                lock = begin(fitting, out)
                if lock is not None:
                    error = pool.apply_async(carry_out_one, (fitting, out))
                    running.append(Running(fitting, lock, time.monotonic(), error))
            if not running or time.monotonic() > deadline:
                break
            time.sleep(0.05)
            for ended in [one for one in running if one.error.ready()]:
                running.remove(ended)
                ended.lock.release()
                took = time.monotonic() - ended.began
                error = ended.error.get()
                done += not error
                slowness += 0.2 * (took / expected_seconds(ended.run) - slowness)
                print(f"{ended.run.key} {'FAILED' if error else 'done'} in {took:.0f} s", flush=True)
                if error:
                    print(error, flush=True)
    unfinished = f", {len(running)} given up" if running else ""
    print(f"{done} runs done, {len(waiting)} not started{unfinished}", flush=True)


def begin(run: Run, out: Path) -> FileLock | None:
    """Lock a run for this process; None if another is at it or has finished it."""
    file = file_of(run, out)
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file.with_name(f"{run.seed}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    if file.exists():
        lock.release()
        return None
    return lock


def carry_out_one(run: Run, out: Path) -> str:
    """Do one run and write its file; the traceback if it fails, else nothing."""
    try:
        record = perform(run)
    except Exception:
        return traceback.format_exc()
    write_bytes(file_of(run, out), gzip.compress(json.dumps(asdict(record)).encode(), mtime=0), parents=True)
    return ""


def collect(folder: Path, runs: Path) -> int:
    """Turn runs as JSON into Parquet files, and say how many; those that are there already are left alone."""
    count = 0
    for path in sorted(folder.glob("*/*/*.json.gz")):
        target = runs / path.relative_to(folder).with_name(path.name.replace(".json.gz", ".parquet"))
        if not target.exists():
            write_bytes(target, encode(Record(**json.loads(gzip.decompress(path.read_bytes())))), parents=True)
            count += 1
    return count


def file_of(run: Run, out: Path) -> Path:
    """The file of a run as JSON."""
    return out / f"{run.key}.json.gz"


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


if __name__ == "__main__":
    main()
