from __future__ import annotations

from pathlib import Path

import mpmath as mp
import numpy as np
import pandas as pd
import pytest

from betabo.lab.reproduce import Summary, reproduce
from lab.reproduce.case import assert_files_are_those_of_the_record, verdicts
from oracles import log_paper_kernel


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary]:
    out = tmp_path_factory.mktemp("out")
    return out / "covariance", reproduce("covariance", scale="smoke", out=out)


def test_files_are_those_of_the_record(drawn: tuple[Path, Summary]) -> None:
    assert_files_are_those_of_the_record(*drawn)


def test_covariance_surfaces_are_those_of_the_definition(drawn: tuple[Path, Summary]) -> None:
    table = pd.read_csv(drawn[0] / "covariance.csv")
    for _, row in table.sample(20, random_state=0).iterrows():
        gap = abs(row["x"] - row["y"])
        assert row["rbf"] == pytest.approx(np.exp(-(gap**2) / 2))
        r = np.sqrt(5) * gap
        assert row["matern"] == pytest.approx((1 + r + r**2 / 3) * np.exp(-r))
        for h in (0.1, 1.5):
            exact = float(mp.exp(log_paper_kernel([row["x"]], [row["y"]], [h])))
            assert row[f"beta h={h}"] == pytest.approx(exact, rel=1e-6)
    assert verdicts(drawn[1]) == ["holds", "holds"]
