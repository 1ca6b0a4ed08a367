"""What carries out runs, and what it says about them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from betabo.lab.bench.run import Run

WORKER_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",  # some optimizers go through sets
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}
"""Environment of a worker. Libraries read it when they are loaded, so it is set before a worker starts."""


@dataclass(frozen=True)
class Started:
    """A run has begun."""

    run: Run


@dataclass(frozen=True)
class Progressed:
    """A run has made so many evaluations; the lowest value without noise so far."""

    run: Run
    evaluations: int
    best: float


@dataclass(frozen=True)
class Finished:
    """A run has come to its end; the contents of its file."""

    run: Run
    contents: bytes


@dataclass(frozen=True)
class Failed:
    """A run has failed; the traceback, or what is known about the end of its worker."""

    run: Run
    error: str


Event: TypeAlias = Started | Progressed | Finished | Failed


class Executor(Protocol):
    """Carries out runs, several at a time."""

    workers: int

    def execute(self, runs: Sequence[Run]) -> Generator[Event]:
        """Carry out all runs. For each there is one `Started` and then one `Finished` or `Failed`.

        Closing the generator ends the runs that are under way.
        """
        ...
