from __future__ import annotations

from dataclasses import replace

import pytest

from betabo.lab.bench import Campaign, OptimizerChoice, run_campaign
from betabo.lab.bench.results import run_files
from betabo.lab.bench.storage import read_metadata

CHANCE = Campaign("chance", {"random": OptimizerChoice("random")}, ("levy-2-face", "levy-2-vertex"), (0, 1), 8, 5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_does_the_same_runs(tmp_path) -> None:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        run_campaign(CHANCE, tmp_path / "processes")
        outcome = run_campaign(replace(CHANCE, executor="ray"), tmp_path / "ray")
        assert len(outcome.done) == 4
        for path in run_files(tmp_path / "ray"):
            metadata = read_metadata(path)
            other = read_metadata(tmp_path / "processes" / path.relative_to(tmp_path / "ray"))
            assert metadata["configuration"] == other["configuration"]
            assert metadata["threads"] == 1
    finally:
        ray.shutdown()
