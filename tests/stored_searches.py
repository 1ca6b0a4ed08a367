"""A small folder of stored searches with random values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

TRIALS = 16
SEEDS = 3
LEVELS = 4
ROLES = ("Q", "K", "FC1")


def describe_experiments() -> dict[str, dict[str, Any]]:
    """One experiment with a coordinate a layer, one with a coordinate a block and one outside the blocks."""
    layers = [(block, role) for block in range(2) for role in ROLES]
    return {
        "tiny-images": {
            "title": "Tiny on images",
            "model": "tiny",
            "metric": "accuracy",
            "dimension": len(layers),
            "coordinates": [f"{block}.{role.lower()}" for block, role in layers],
            "roles": [role for _, role in layers],
            "blocks": [block for block, _ in layers],
            "training": {"steps": 7, "rate": 5e-5},
            "left_out": [{"name": "head"}],
            "command": "python search.py tiny-images",
        },
        "tiny-text": {
            "title": "Tiny on text",
            "metric": "f1",
            "dimension": 4,
            "coordinates": ["layer.0", "layer.1", "layer.2", "classifier"],
            "roles": ["Q", "Q", "Q", "FC1"],
            "blocks": [0, 1, 2, None],
        },
    }


def write_stored(folder: Path, seed: int = 0) -> Path:
    """Write searches of four kernels with UCB, one of them with log EI, both baselines, and two with more and
    the default on text."""
    rng = np.random.default_rng(seed)
    experiments = describe_experiments()
    searches, finals = [], []
    for name, facts in experiments.items():
        runs = [(kernel, "ucb") for kernel in ("rbf", "matern", "beta-paper", "beta-matern")]
        runs += [("beta-matern", "log_ei"), ("random", ""), ("uniform", "")]
        if name == "tiny-text":
            others = ("pi", "ei", "corrected_pi", "corrected_ei")
            runs += [(kernel, other) for kernel in ("matern", "beta-paper") for other in others]
            runs.append(("beta-additive", "log_ei"))
        for method, acquisition in runs:
            for run_seed in range(SEEDS):
                run = {"experiment": name, "method": method, "acquisition": acquisition, "seed": run_seed}
                starts = np.random.default_rng(run_seed).uniform(0.05, 0.95, (5, facts["dimension"]))
                for trial in range(LEVELS if method == "uniform" else TRIALS):
                    x = np.clip(rng.normal(0.4, 0.4, facts["dimension"]), 0.05, 0.95)
                    if method == "uniform":
                        x = np.full(facts["dimension"], 0.05 + 0.3 * trial)
                    elif trial < 5:
                        x = starts[trial]
                    size, error = float(x.mean()), float(rng.uniform(0.1, 0.5))
                    failed = method == "rbf" and trial in (0, 9)
                    searches.append(
                        run
                        | {"trial": trial, "x": x.astype(np.float32), "size": size, "flops": 0.9 * size}
                        | {"objective": np.nan if failed else size + error, "error": np.nan if failed else error}
                        | {"seconds": 1.0, "failed": failed, f"metric_{facts['metric']}": 1 - error}
                    )
                finals.append(run | _final(rng, facts["metric"]))
        original = {"experiment": name, "method": "original", "acquisition": "", "seed": 0}
        finals.append(original | _final(rng, facts["metric"]) | {"size": 1.0, "flops": 1.0})
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(searches).to_parquet(folder / "searches.parquet")
    pd.DataFrame(finals).to_parquet(folder / "finals.parquet")
    (folder / "experiments.json").write_text(json.dumps(experiments))
    return folder


def _final(rng: np.random.Generator, metric: str) -> dict[str, float]:
    size, measured, latency = rng.uniform(0.2, 0.8, 3)
    shares = {"size": size, "flops": 0.9 * size, "parameters": round(1000 * size)}
    return shares | {"latency_cpu": latency / 100, "latency_gpu": np.nan, f"test_{metric}": measured}
