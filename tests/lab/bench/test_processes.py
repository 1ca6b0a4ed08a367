from __future__ import annotations

import os
from dataclasses import replace

from betabo.lab.bench import Campaign, OptimizerChoice, run_campaign
from betabo.lab.bench.executor import WORKER_ENVIRONMENT, Failed, Finished, Started
from betabo.lab.bench.storage import read_metadata

CHANCE = Campaign("chance", {"random": OptimizerChoice("random")}, ("levy-2-face",), (0,), 8, 5)


def test_workers_have_one_thread_and_outlive_failures(tmp_path, failing, listener, monkeypatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    before = {name: os.environ.get(name) for name in WORKER_ENVIRONMENT}
    optimizers = {name: OptimizerChoice(name) for name in ("raising", "dying", "random")}
    campaign = replace(CHANCE, imports=failing, optimizers=optimizers)
    outcome = run_campaign(campaign, tmp_path, workers=1, display=listener)
    assert {name: os.environ.get(name) for name in WORKER_ENVIRONMENT} == before
    assert outcome.done == ["random/levy-2-face/0"]
    assert [type(event) for event in listener.events] == [Started, Failed, Started, Failed, Started, Finished]
    raised = outcome.failed["raising/levy-2-face/0"].read_text()
    assert raised.startswith("Traceback")
    assert "this optimizer always fails, OMP_NUM_THREADS=1, MKL_NUM_THREADS=1" in raised
    assert "killed by SIGKILL" in outcome.failed["dying/levy-2-face/0"].read_text()
    metadata = read_metadata(tmp_path / "random/levy-2-face/0.parquet")
    assert metadata["threads"] == 1
