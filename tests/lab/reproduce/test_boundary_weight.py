from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch

from betabo.kernels.factory import beta_covariance
from betabo.lab.reproduce import Context, boundary_weight
from betabo.lab.reproduce.boundary_weight import NAT, PRIORS, WEIGHTS, compare, drawn, fitted
from lab.reproduce.case import names, verdicts


def test_default_prior_is_the_one_that_is_called_so() -> None:
    prior = beta_covariance(2).base_kernel.boundary_weight_prior
    assert (prior.concentration.item(), prior.rate.item()) == (1.0, 1.0)
    known = PRIORS[NAT]
    assert (known.concentration.item(), known.rate.item()) == (1.0, 1.0)


def test_data_have_the_variance_of_their_kernel() -> None:
    # Over many draws, values at points near a vertex vary more than at the centre with weight 1, and alike with 0.
    ratios = {}
    for weight in (0.0, 1.0):
        outer, inner = [], []
        for seed in range(60):
            x, y = drawn(2, weight, seed)
            far = (2 * x - 1).abs().min(dim=1).values
            outer.append(y[far > 0.8])
            inner.append(y[(2 * x - 1).abs().max(dim=1).values < 0.5])
        ratios[weight] = float(torch.cat(outer).var() / torch.cat(inner).var())
    assert ratios[0.0] == pytest.approx(1, abs=0.35)
    assert ratios[1.0] > 1.8


def test_fits_are_made_under_every_prior_and_stay_in_their_range() -> None:
    rows = list(fitted(2, 1.0, repeat=0))
    assert [row["prior"] for row in rows] == list(PRIORS)
    assert all(0 <= row["fitted"] <= 1 for row in rows)
    assert rows == list(fitted(2, 1.0, repeat=0))


def table_of(strong: tuple[float, ...], default: tuple[float, ...]) -> pd.DataFrame:
    fits = dict(zip(PRIORS, (strong, default, default), strict=True))
    return pd.DataFrame(
        [
            {"d": d, "drawn": weight, "prior": prior, "fitted": value}
            for prior, values in fits.items()
            for d in (2, 5)
            for weight, value in zip(WEIGHTS, values, strict=True)
        ]
    )


def test_claims_follow_from_the_fits() -> None:
    assert verdicts(compare(table_of((0.0, 0.0, 0.1), (0.1, 0.4, 0.9)))) == ["holds", "holds"]
    assert verdicts(compare(table_of((0.0, 0.3, 0.9), (0.1, 0.4, 0.9)))) == ["holds", "does not hold"]
    assert verdicts(compare(table_of((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))) == ["does not hold", "does not hold"]


def test_files_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundary_weight, "DIMS", (2,))
    context = Context(tmp_path, "smoke")
    summary = boundary_weight.summarize(context)
    assert names(tmp_path) == set(context.files)
    fits = pd.read_csv(tmp_path / "fits.csv")
    assert len(fits) == len(WEIGHTS) * len(PRIORS)
    assert len(verdicts(summary.claims)) == 2
