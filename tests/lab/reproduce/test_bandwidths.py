from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from betabo.files import write_bytes
from betabo.lab.bench.run import perform
from betabo.lab.bench.storage import encode
from betabo.lab.reproduce import (
    Context,
    bandwidths,
)
from lab.reproduce.case import campaigns_of, names, verdicts


@pytest.mark.parametrize(
    ("h1", "h2", "expected"),
    [
        (lambda t: 0.1 + 0 * t, lambda t: 2.0 + 0 * t, ["holds", "holds"]),
        (lambda t: 0.1 + 0 * t, lambda t: 0.1 + 0 * t, ["holds", "does not hold"]),
        (lambda t: np.exp(t), lambda t: np.exp(t + 0.1), ["does not hold", "does not hold"]),
        (lambda t: 0.1 + 0 * t, lambda t: 1 + t**4, ["holds in part", "holds"]),
    ],
    ids=["distinct", "equal", "drifting", "one-drifts"],
)
def test_bandwidths_are_judged_by_the_last_quarter(h1: object, h2: object, expected: list[str]) -> None:
    t = np.arange(1, 41)
    path = pd.DataFrame({"iteration": t, "h1": h1(t / 20), "h2": h2(t / 20), "boundary weight": 1.0})
    assert verdicts(bandwidths.compare(pd.DataFrame([bandwidths.describe(path)]))) == expected


def test_bandwidths_draws_the_runs(tmp_path: Path) -> None:
    (campaign,) = campaigns_of("bandwidths", "smoke")
    for run in campaign.runs():
        record = perform(replace(run, use="random", settings={}))
        for row in record.rows[run.starting_points :]:
            row |= {"bandwidth": [0.1, 0.2 + run.seed], "boundary_weight": 0.5}
        write_bytes(tmp_path / f"runs/{run.key}.parquet", encode(record), parents=True)
    context = Context(tmp_path / "out", "smoke")
    summary = bandwidths.summarize(context, tmp_path / "runs")
    assert names(tmp_path / "out") == set(context.files)
    assert summary.figures["beta"] == {
        "seeds": 2,
        "median h1": 0.1,
        "median h2": 0.7,
        "median boundary weight": 0.5,
        "seeds with distinct bandwidths": 2,
    }
    assert verdicts(summary.claims) == ["holds", "holds"]
