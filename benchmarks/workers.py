"""How many trials a second workers get through when the objective takes no time, beside Optuna's own samplers.

All that is measured is what a trial costs besides its objective: proposals, the database, the bookkeeping. The figures
are ratios of what ran in turns on the same machine in the same minutes.

    python benchmarks/workers.py --postgres        # PostgreSQL from the package pgserver
    python benchmarks/workers.py --storage postgresql://USER:PASSWORD@HOST/DATABASE
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

OBJECTIVE = "def objective(x, y):\n    return (x - 0.3) ** 2 + y\n"
BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def betabo_worker(url: str, name: str, starting_points: int, seconds: float, barrier: Any, results: Any) -> None:
    """Count the trials that `betabo minimize` has done in a worker after so many seconds."""
    from betabo.optimizer import Config
    from betabo.studies import Event, FunctionObjective, Plan, parse_parameters, run_worker

    space = parse_parameters([f"{key}={low}..{high}" for key, (low, high) in BOX.items()])
    config = Config(starting_points=starting_points)
    plan = Plan(name, space, FunctionObjective("train.py:objective"), trials=100_000, storage=url, config=config)
    stop = threading.Event()

    def begin(event: Event) -> None:
        if event.kind == "ready":
            barrier.wait()
            threading.Timer(seconds, stop.set).start()

    results.put(run_worker(plan, stop=stop, on_event=begin).trials)


def optuna_worker(sampler: str, url: str, name: str, seconds: float, barrier: Any, results: Any) -> None:
    """Count the trials of Optuna's loop with one of its samplers."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    samplers = optuna.samplers
    made = samplers.RandomSampler() if sampler == "random" else samplers.GPSampler(n_startup_trials=8)
    study = optuna.create_study(storage=url, study_name=name, sampler=made, load_if_exists=True)

    def objective(trial: optuna.Trial) -> float:
        x, y = (trial.suggest_float(key, low, high) for key, (low, high) in BOX.items())
        return float((x - 0.3) ** 2 + y)

    barrier.wait()
    mine: list[int] = []
    study.optimize(objective, timeout=seconds, callbacks=[lambda _, trial: mine.append(trial.number)])
    results.put(len(mine))


def rate(worker: Callable[..., None], arguments: tuple[Any, ...], workers: int, seconds: float) -> float:
    """Trials a second of so many processes together."""
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(workers), context.Queue()
    processes = [context.Process(target=worker, args=(*arguments, seconds, barrier, results)) for _ in range(workers)]
    for process in processes:
        process.start()
    counts = [results.get(timeout=600) for _ in processes]
    for process in processes:
        process.join()
    return sum(counts) / seconds


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The address of a PostgreSQL server of our own."""
    import pgserver

    with tempfile.TemporaryDirectory(prefix="betabo-postgres-") as folder:
        started = pgserver.get_server(folder)
        try:
            yield str(started.get_uri())
        finally:
            started.cleanup()


def measure(url: str, label: str, seconds: float, rounds: int, models: bool) -> None:
    """Print the rates on one storage, in turns, and their ratios to Optuna's in the same round."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    contenders: dict[str, tuple[Callable[..., None], tuple[Any, ...]]] = {
        "betabo, starting design": (betabo_worker, (100_000,)),
        "Optuna, random": (optuna_worker, ("random",)),
    }
    if models:
        contenders["betabo, with the model"] = (betabo_worker, (8,))
        contenders["Optuna, GPSampler"] = (optuna_worker, ("gp",))
    found: dict[tuple[str, int], list[float]] = {}
    for turn in range(rounds):
        for workers in (1, 4):
            for name, (worker, settings) in contenders.items():
                study = f"{name}-{workers}-{turn}-{time.time()}"
                address = url.replace("FILE", f"{len(name)}-{workers}-{turn}")
                with contextlib.suppress(optuna.exceptions.DuplicatedStudyError):  # the tables are there beforehand
                    optuna.create_study(storage=address, study_name="tables")
                arguments = (address, study, *settings) if worker is betabo_worker else (*settings, address, study)
                found.setdefault((name, workers), []).append(rate(worker, arguments, workers, seconds))
    print(f"\n{label}: trials a second, median of {rounds}")
    for name in contenders:
        one, four = median(found[name, 1]), median(found[name, 4])
        print(f"  {name:<26} 1 worker {one:7.1f}   4 workers {four:7.1f}   4 / 1 {four / one:5.2f}")
    pairs = [("betabo, starting design", "Optuna, random"), ("betabo, with the model", "Optuna, GPSampler")]
    for ours, theirs in pairs[: 2 if models else 1]:
        ratios = {w: median(a / b for a, b in zip(found[ours, w], found[theirs, w], strict=True)) for w in (1, 4)}
        print(f"  {ours} / {theirs}: {ratios[1]:.2f} with 1 worker, {ratios[4]:.2f} with 4")


def main() -> None:
    """Measure on SQLite, and on PostgreSQL if it was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="of all measurements in turns")
    parser.add_argument("--models", action="store_true", help="also with models, which takes longer")
    parser.add_argument("--postgres", action="store_true", help="also PostgreSQL, from the package pgserver")
    parser.add_argument("--storage", help="also this PostgreSQL database")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("train.py").write_text(OBJECTIVE, encoding="utf-8")
        settings = (options.seconds, options.rounds, options.models)
        measure("sqlite:///FILE.db", "SQLite", *settings)
        if options.storage:
            measure(options.storage, "PostgreSQL", *settings)
        if options.postgres:
            with server() as url:
                measure(url, "PostgreSQL", *settings)
        os.chdir("/")


if __name__ == "__main__":
    main()
