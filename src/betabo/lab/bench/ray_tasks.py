"""Runs on a Ray cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from typing import Any

from betabo.lab.bench.executor import WORKER_ENVIRONMENT, Event, Failed, Finished, Started
from betabo.lab.bench.extras import require
from betabo.lab.bench.run import Run, perform
from betabo.lab.bench.storage import encode


class RayExecutor:
    """Workers are tasks of a Ray cluster, one CPU and one thread each.

    The cluster is the one that Ray is connected to; else that of the variable `RAY_ADDRESS`; else this machine.
    Files are written by the process that asks for the runs, so machines need not share a file system.

    Args:
        workers: The most tasks at a time; None is the number of CPUs of the cluster.
    """

    def __init__(self, workers: int | None) -> None:
        self._ray = require("ray", extra="ray")
        self._ours = not self._ray.is_initialized()
        if self._ours:
            self._ray.init(log_to_driver=False)
        self.workers = workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def execute(self, runs: Sequence[Run]) -> Generator[Event]:
        """Carry out all runs, see `Executor.execute`. There is no progress within a run."""
        ray = self._ray
        task = ray.remote(num_cpus=1, max_retries=0, runtime_env={"env_vars": WORKER_ENVIRONMENT})(_carry_out)
        waiting = deque(runs)
        running: dict[Any, Run] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self.workers:
                    run = waiting.popleft()
                    running[task.remote(run)] = run
                    yield Started(run)
                (done,), _ = ray.wait(list(running), num_returns=1)
                run = running.pop(done)
                try:
                    contents = ray.get(done)
                except Exception as error:  # of the run, or of Ray about its worker
                    yield Failed(run, str(error))
                else:
                    yield Finished(run, contents)
        finally:
            for reference in running:
                ray.cancel(reference, force=True)
            if self._ours:
                ray.shutdown()


def _carry_out(run: Run) -> bytes:
    import torch

    torch.set_num_threads(1)
    return encode(perform(run))
