from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from betabo.lab.reproduce import Summary, reproduce
from lab.reproduce.case import assert_files_are_those_of_the_record, verdicts


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary]:
    out = tmp_path_factory.mktemp("out")
    return out / "diagonal-bound", reproduce("diagonal-bound", scale="smoke", out=out)


def test_files_are_those_of_the_record(drawn: tuple[Path, Summary]) -> None:
    assert_files_are_those_of_the_record(*drawn)


def test_printed_bound_is_found_wrong(drawn: tuple[Path, Summary]) -> None:
    assert verdicts(drawn[1]) == ["does not hold"]
    assert drawn[1].figures["bandwidths where it fails"] == [0.05, 0.1, 0.25, 0.5]
    bounds = pd.read_csv(drawn[0] / "bounds.csv")
    assert bounds["repaired bound holds"].all()
    assert not bounds["printed bound holds"].iloc[0]
    assert bounds["printed bound holds"].iloc[-1]
