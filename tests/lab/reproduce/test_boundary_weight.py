from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
import torch

from betabo.kernels.factory import beta_covariance
from betabo.lab.reproduce import Context, boundary_weight
from betabo.lab.reproduce.boundary_weight import NAT, PRIORS, WEIGHTS, compare, drawn, fitted
from lab.reproduce.case import names, verdicts

ROOT = Path(__file__).parents[3]


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


def committed() -> pd.DataFrame:
    return pd.read_csv(ROOT / "docs/reproduction/boundary-weight/fits.csv")


def test_the_committed_fits_are_those_of_the_code() -> None:
    for dims, weight, repeat in ((2, 1.0, 0), (2, 0.3, 3)):
        kept = committed().query("d == @dims and drawn == @weight and repeat == @repeat")
        found = [row["fitted"] for row in fitted(dims, weight, repeat)]
        assert found == pytest.approx(kept["fitted"].to_list(), abs=0.01)


def test_the_page_has_the_numbers_of_the_committed_fits() -> None:
    quartiles = committed().groupby(["prior", "drawn", "d"])["fitted"].quantile([0.25, 0.5, 0.75])
    strong, default, flat = PRIORS

    def both(prior: str, weight: float, share: float = 0.5) -> list[str]:
        return [f"{quartiles[prior, weight, d, share]:.2f}" for d in (2, 5)]

    page = (ROOT / "docs/reproduction.md").read_text(encoding="utf-8")
    section = page[page.index("### Whether the boundary weight can be learned") :]
    said = re.findall(r"(\d\.\d\d)", section[: section.index("### Convergence")].replace("bandwidth 0.25", ""))
    spread = [*zip(both(default, 0.3, 0.25), both(default, 0.3, 0.75), strict=True)]
    expected = [*both(default, 1), *both(default, 0), *both(default, 0.3), *spread[0], *spread[1]]
    assert said == [*expected, *both(strong, 1), *both(flat, 0)]
