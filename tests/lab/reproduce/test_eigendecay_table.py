from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import linregress

from betabo.lab.reproduce import Summary, reproduce
from betabo.lab.reproduce.eigendecay_table import DIMS, PRINTED
from lab.reproduce.case import assert_files_are_those_of_the_record


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary]:
    out = tmp_path_factory.mktemp("out")
    return out / "eigendecay-table", reproduce("eigendecay-table", scale="smoke", out=out)


def test_files_are_those_of_the_record(drawn: tuple[Path, Summary]) -> None:
    assert_files_are_those_of_the_record(*drawn)


def test_p_values_follow_from_the_spectra(drawn: tuple[Path, Summary]) -> None:
    import torch

    table = pd.read_csv(drawn[0] / "matrices.csv")
    assert len(table) == (len(PRINTED) + 3) * len(DIMS)
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(10, 100, 5, generator=generator, dtype=torch.float64).numpy()
    gram = np.exp(-((x[:, :, None] - x[:, None]) ** 2).sum(-1) / 2)
    mean = np.linalg.eigvalsh(gram)[:, ::-1].mean(axis=0)
    row = table[(table["kernel"] == "rbf l=1") & (table["d"] == 5)].iloc[0]
    assert np.log(row["described"]) == pytest.approx(np.log(linregress(np.arange(100), np.log(mean)).pvalue), abs=1e-3)
    half = linregress(np.arange(50), np.log(mean[:50])).pvalue
    assert np.log(row["leading 50"]) == pytest.approx(np.log(half), abs=1e-3)


def test_printed_values_stand_beside_their_setting(drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "matrices.csv").set_index(["kernel", "d"])
    assert table.loc[("beta h=0.1", 5), "printed"] == 7.7e-36
    assert table.loc[("beta h=0.75", 20), "printed"] == 1.1e-25
    assert table.loc[("beta h=1.5", 50), "printed"] == 2.3e-17
    assert table["printed"].notna().sum() == 24


def test_operator_decays_as_theory_says(drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "operator.csv").set_index(["kernel", "d"])
    for h in PRINTED:
        assert table.loc[(f"beta h={h:g}", 1), "best model"] == "exponential"
        assert {table.loc[(f"beta h={h:g}", d), "best model"] for d in (2, 3, 5, 10, 20)} == {"stretched"}
    assert table.loc[("matern-5/2 l=1", 1), "best model"] == "polynomial"


def test_small_p_values_are_not_taken_for_exponential_decay(drawn: tuple[Path, Summary]) -> None:
    claims = {claim.text: claim.verdict for claim in drawn[1].claims}
    assert claims["the trend of log eigenvalues is highly significant in all 24 settings"] == "holds"
    assert claims["a small p-value is evidence of exponential decay"] == "does not hold"
