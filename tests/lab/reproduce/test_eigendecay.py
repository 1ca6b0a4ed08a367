from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from betabo.lab.reproduce import Summary, reproduce
from lab.reproduce.case import assert_files_are_those_of_the_record


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary]:
    out = tmp_path_factory.mktemp("out")
    return out / "eigendecay", reproduce("eigendecay", scale="smoke", out=out)


def test_files_are_those_of_the_record(drawn: tuple[Path, Summary]) -> None:
    assert_files_are_those_of_the_record(*drawn)


def test_spectra_have_the_trace_of_unit_variance(drawn: tuple[Path, Summary]) -> None:
    spectra = pd.read_csv(drawn[0] / "spectra.csv")
    for name in ("rbf l=1", "matern l=1"):
        assert spectra.loc[spectra["kernel"] == name, "eigenvalue"].sum() == pytest.approx(100)
    assert (spectra.groupby("kernel")["rank"].max() == 100).all()
