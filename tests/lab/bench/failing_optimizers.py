"""Optimizers that fail, for workers to import."""

from __future__ import annotations

import os
import signal

from betabo.lab.bench.optimizers import OptimizerEntry, register_optimizer
from betabo.lab.bench.optimizers.random_search import RandomSearch


class Raising(RandomSearch):
    def ask(self):
        threads = ", ".join(f"{name}={os.environ.get(name)}" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"))
        raise ZeroDivisionError(f"this optimizer always fails, {threads}")


class Dying(RandomSearch):
    def ask(self):
        os.kill(os.getpid(), signal.SIGKILL)


register_optimizer(OptimizerEntry("raising", "Raises an error.", Raising))
register_optimizer(OptimizerEntry("dying", "Ends its process.", Dying))
