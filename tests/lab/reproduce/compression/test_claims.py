from __future__ import annotations

import numpy as np
import pandas as pd

from betabo.lab.plots.names import ACQUISITION_NAMES
from betabo.lab.reproduce.compression.claims import judge
from betabo.lab.reproduce.compression.tables import (
    differences,
)


def claims_of(
    means: dict[str, tuple[float, float]],
    ratios: dict[str, tuple[float, float, float]] | None = None,
    by_acquisition: dict[tuple[str, str], float] | None = None,
) -> dict[str, str]:
    """Verdicts by the claim's first words, of one experiment.

    Args:
        means: Size and error of each method.
        ratios: Mean ratio, share near the lower bound, which is all near a bound, and share above the middle.
        by_acquisition: Objectives by kernel and acquisition function.
    """
    shifts = (-0.002, 0.0, 0.002)
    rows = [
        {
            "experiment": "e",
            "method": m,
            "seed": s,
            "size": size,
            "error": error + shift,
            "objective": size + error + shift,
        }
        for m, (size, error) in means.items()
        for s, shift in enumerate(shifts)
    ]
    ends = pd.DataFrame(rows)
    summary = ends.groupby(["experiment", "method"])[["objective", "size", "error"]].mean().reset_index()
    summary = summary.assign(objective_on_test=summary["objective"])
    layers = pd.DataFrame(
        [("e", m, "ucb", 0, mean, low, low, above) for m, (mean, low, above) in (ratios or {}).items()],
        columns=[
            *("experiment", "method", "acquisition", "seed"),
            *("mean ratio", "near a bound", "near the lower bound", "above the middle"),
        ],
    )
    acquisitions = pd.DataFrame(
        [("e", m, a, value) for (m, a), value in (by_acquisition or {}).items()],
        columns=["experiment", "method", "acquisition", "mean"],
    )
    claims = judge(summary, differences(ends), layers, acquisitions)
    assert all(claim.checks and claim.evidence for claim in claims)
    return {claim.text.split(":")[0]: claim.verdict for claim in claims}


PAPER = {
    "rbf": (0.5, 0.2),
    "matern": (0.45, 0.2),
    "beta-paper": (0.3, 0.2),
    "random": (0.6, 0.3),
    "uniform": (0.5, 0.3),
}


def test_claims_hold_on_numbers_like_those_of_the_paper() -> None:
    ratios = {"rbf": (0.5, 0.1, 0.5), "matern": (0.48, 0.15, 0.5), "beta-paper": (0.2, 0.8, 0.15)}
    order = ("ucb", "corrected_ei", "pi", "corrected_pi", "ei")
    values = {
        (m, a): base + 0.01 * place
        for m, base in (("matern", 0.6), ("beta-paper", 0.5))
        for place, a in enumerate(order)
    }
    verdicts = claims_of(PAPER, ratios, values)
    assert len(verdicts) == 11
    assert set(verdicts.values()) == {"holds"}


def test_claims_fail_on_numbers_unlike_those_of_the_paper() -> None:
    means = dict.fromkeys(("rbf", "matern"), (0.3, 0.2)) | {
        "beta-paper": (0.5, 0.2),
        "beta-matern": (0.55, 0.2),
        "from-levels": (0.6, 0.2),
    }
    means |= {"random": (0.25, 0.2), "uniform": (0.1, 0.2)}
    ratios = {"rbf": (0.2, 0.5, 0.1), "matern": (0.2, 0.5, 0.1), "beta-paper": (0.5, 0.1, 0.5)}
    values = {(m, a): (0.5 if m == "matern" else 0.6) for m in ("matern", "beta-paper") for a in ACQUISITION_NAMES}
    values |= {("beta-paper", "ei"): 0.55, ("matern", "pi"): 0.4, ("matern", "ei"): 0.4}
    verdicts = claims_of(means, ratios, values)
    assert len(verdicts) == 18
    assert set(verdicts.values()) == {"does not hold"}


def test_advantage_in_error_is_none_in_size() -> None:
    text = "Where Beta (paper) is ahead of Matérn in the mean, it is by size"
    assert claims_of(PAPER)[text] == "holds"
    assert claims_of(PAPER | {"beta-paper": (0.44, 0.1)})[text] == "does not hold"


def test_difference_within_the_spread_of_the_seeds_does_not_count() -> None:
    rows = [
        {"experiment": "e", "method": m, "seed": s, "size": 0.1, "error": value, "objective": 0.1 + value}
        for m, values in {"matern": (0.3, 0.3, 0.3), "beta-paper": (0.1, 0.29, 0.31)}.items()
        for s, value in enumerate(values)
    ]
    ends = pd.DataFrame(rows)
    summary = ends.groupby(["experiment", "method"])["objective"].mean().reset_index()
    summary = summary.assign(objective_on_test=np.nan)
    empty = pd.DataFrame(columns=["experiment", "method", "acquisition", "seed", "mean ratio", "mean"])
    first, *_ = judge(summary, differences(ends), empty, empty)
    assert first.text.startswith("Beta (paper) ends lower than Matérn")
    assert first.verdict == "does not hold"
