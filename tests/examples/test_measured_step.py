"""The published times of a step."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

DOCS = Path(__file__).parents[2] / "docs"


def test_published_times_of_a_step_are_those_that_were_measured() -> None:
    page = (DOCS / "performance.md").read_text(encoding="utf-8")
    for case in json.loads((DOCS / "results" / "step.json").read_text(encoding="utf-8"))["results"]:
        for step in ("first", "later"):
            times = {name: some[0] if step == "first" else fmean(some[1:]) for name, some in case["seconds"].items()}
            shown = [f"{times[name]:.3f}" for name in ("betabo", "BoTorch default", "Optuna GPSampler")]
            ratio = f"{times['betabo'] / times['Optuna GPSampler']:.2f}"
            line = " | ".join([str(case["dims"]), str(case["n"]), step, *shown, ratio])
            assert f"| {line} |" in page
