from __future__ import annotations

import json
from pathlib import Path

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
from scipy.stats import linregress

from betabo.lab.reproduce import REPRODUCTIONS, Summary, reproduce
from betabo.lab.reproduce.eigendecay_table import DIMS, PRINTED
from oracles import log_paper_kernel

DETERMINISTIC = ("covariance", "eigendecay", "eigendecay-table", "diagonal-bound")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Summary]]:
    out = tmp_path_factory.mktemp("reproduce")
    return out, {name: reproduce(name, scale="smoke", out=out) for name in DETERMINISTIC}


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_files_are_those_of_the_record(name: str, results: tuple[Path, dict[str, Summary]]) -> None:
    out, summaries = results
    record = json.loads((out / name / "reproduction.json").read_text())
    assert sorted(path.name for path in (out / name).iterdir()) == sorted([*record["files"], "reproduction.json"])
    assert {Path(file).suffix for file in record["files"]} >= {".png", ".pdf", ".csv"}
    assert record["comparison"] == summaries[name].comparison
    assert len(record["comparison"].splitlines()) == 1
    assert str(out) not in json.dumps(record)
    assert name in REPRODUCTIONS


def verdicts(summary: Summary) -> list[str]:
    return [claim.verdict for claim in summary.claims]


def test_covariance_surfaces_are_those_of_the_definition(results: tuple[Path, dict[str, Summary]]) -> None:
    table = pd.read_csv(results[0] / "covariance/covariance.csv")
    for _, row in table.sample(20, random_state=0).iterrows():
        gap = abs(row["x"] - row["y"])
        assert row["rbf"] == pytest.approx(np.exp(-(gap**2) / 2))
        r = np.sqrt(5) * gap
        assert row["matern"] == pytest.approx((1 + r + r**2 / 3) * np.exp(-r))
        for h in (0.1, 1.5):
            exact = float(mp.exp(log_paper_kernel([row["x"]], [row["y"]], [h])))
            assert row[f"beta h={h}"] == pytest.approx(exact, rel=1e-6)
    assert verdicts(results[1]["covariance"]) == ["holds", "holds"]


def test_printed_bound_is_found_wrong(results: tuple[Path, dict[str, Summary]]) -> None:
    assert verdicts(results[1]["diagonal-bound"]) == ["does not hold"]
    assert results[1]["diagonal-bound"].figures["bandwidths where it fails"] == [0.05, 0.1, 0.25, 0.5]
    bounds = pd.read_csv(results[0] / "diagonal-bound/bounds.csv")
    assert bounds["repaired bound holds"].all()
    assert not bounds["printed bound holds"].iloc[0]
    assert bounds["printed bound holds"].iloc[-1]


def test_spectra_have_the_trace_of_unit_variance(results: tuple[Path, dict[str, Summary]]) -> None:
    spectra = pd.read_csv(results[0] / "eigendecay/spectra.csv")
    for name in ("rbf l=1", "matern l=1"):
        assert spectra.loc[spectra["kernel"] == name, "eigenvalue"].sum() == pytest.approx(100)
    assert (spectra.groupby("kernel")["rank"].max() == 100).all()


def test_p_values_follow_from_the_spectra(results: tuple[Path, dict[str, Summary]]) -> None:
    import torch

    table = pd.read_csv(results[0] / "eigendecay-table/matrices.csv")
    assert len(table) == (len(PRINTED) + 3) * len(DIMS)
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(10, 100, 5, generator=generator, dtype=torch.float64).numpy()
    gram = np.exp(-((x[:, :, None] - x[:, None]) ** 2).sum(-1) / 2)
    mean = np.linalg.eigvalsh(gram)[:, ::-1].mean(axis=0)
    row = table[(table["kernel"] == "rbf l=1") & (table["d"] == 5)].iloc[0]
    assert np.log(row["described"]) == pytest.approx(np.log(linregress(np.arange(100), np.log(mean)).pvalue), abs=1e-3)
    half = linregress(np.arange(50), np.log(mean[:50])).pvalue
    assert np.log(row["leading 50"]) == pytest.approx(np.log(half), abs=1e-3)


def test_printed_values_stand_beside_their_setting(results: tuple[Path, dict[str, Summary]]) -> None:
    table = pd.read_csv(results[0] / "eigendecay-table/matrices.csv").set_index(["kernel", "d"])
    assert table.loc[("beta h=0.1", 5), "printed"] == 7.7e-36
    assert table.loc[("beta h=0.75", 20), "printed"] == 1.1e-25
    assert table.loc[("beta h=1.5", 50), "printed"] == 2.3e-17
    assert table["printed"].notna().sum() == 24


def test_operator_decays_as_theory_says(results: tuple[Path, dict[str, Summary]]) -> None:
    table = pd.read_csv(results[0] / "eigendecay-table/operator.csv").set_index(["kernel", "d"])
    for h in PRINTED:
        assert table.loc[(f"beta h={h:g}", 1), "best model"] == "exponential"
        assert {table.loc[(f"beta h={h:g}", d), "best model"] for d in (2, 3, 5, 10, 20)} == {"stretched"}
    assert table.loc[("matern-5/2 l=1", 1), "best model"] == "polynomial"


def test_small_p_values_are_not_taken_for_exponential_decay(results: tuple[Path, dict[str, Summary]]) -> None:
    claims = {claim.text: claim.verdict for claim in results[1]["eigendecay-table"].claims}
    assert claims["the trend of log eigenvalues is highly significant in all 24 settings"] == "holds"
    assert claims["a small p-value is evidence of exponential decay"] == "does not hold"
