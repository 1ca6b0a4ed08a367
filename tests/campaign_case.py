"""A tiny campaign, and what carries out runs without processes."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from betabo.lab.bench import Campaign, OptimizerChoice
from betabo.lab.bench.executor import Event, Failed, Finished, Started
from betabo.lab.bench.run import Run, perform
from betabo.lab.bench.storage import encode

TINY = Campaign(
    name="tiny",
    optimizers={
        "beta": OptimizerChoice("betabo", {"kernel": "beta", "noise": "none"}),
        "matern": OptimizerChoice("betabo", {"kernel": "matern"}),
        "random": OptimizerChoice("random"),
    },
    problems=("levy-2-vertex", "branin-2-centre-noise0.5"),
    seeds=(0, 1),
    budget=8,
    starting_points=5,
)


class Here:
    """Carries out runs in this process, one after another."""

    workers = 1

    def execute(self, runs: Sequence[Run]) -> Generator[Event]:
        for run in runs:
            yield Started(run)
            try:
                yield Finished(run, encode(perform(run)))
            except ArithmeticError as error:
                yield Failed(run, repr(error))
