"""Errors beside values: as a program prints them, and as an objective returns them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from betabo.optuna import VARIANCE
from betabo.studies.accuracy import note_errors, parse_values, split_result
from betabo.studies.errors import ObjectiveError
from betabo.studies.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.of(tmp_path, 0)


@pytest.mark.parametrize(
    ("line", "values", "errors"),
    [
        ("1.3", [1.3], [None]),
        ("1.3 \N{PLUS-MINUS SIGN} 0.2", [1.3], [0.2]),
        ("-1.3e-2+-2e-3", [-0.013], [0.002]),
        ("1.3 +/- 0.2, -4 +/- 0.5", [1.3, -4.0], [0.2, 0.5]),
        ("1 2 +- 0.5", [1.0, 2.0], [None, 0.5]),
    ],
)
def test_a_line_has_values_with_their_errors(line: str, values: list[float], errors: list[float | None]) -> None:
    assert parse_values(line) == (values, errors)


@pytest.mark.parametrize("line", ["+- 0.2", "1.3 +-", "1.3 +- 0.2 +- 0.1", "1.3 +- much", "about 1.3"])
def test_what_is_no_such_line_is_refused(line: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_values(line)


def test_a_result_may_have_errors_beside_its_values() -> None:
    assert split_result({"value": 1.3, "error": 0.2}) == (1.3, 0.2)
    assert split_result({"values": [1, 2], "errors": [0.1, 0.2]}) == ([1, 2], [0.1, 0.2])
    assert split_result({"value": 1.3}) == (1.3, None)
    assert split_result(1.3) == (1.3, None)


@pytest.mark.parametrize(
    ("errors", "count", "noted"),
    [
        (0.2, 1, pytest.approx(0.04)),
        ([0.2], 1, pytest.approx(0.04)),
        ([0.1, 0.2], 2, pytest.approx([0.01, 0.04])),
        (None, 1, None),
        (math.nan, 1, None),  # the deviation of one sample
        ([None, None], 2, None),
    ],
)
def test_variances_are_noted(workspace: Workspace, errors: Any, count: int, noted: Any) -> None:
    note_errors(workspace, errors, count, "it printed")
    assert workspace.notes.get(VARIANCE) == noted


@pytest.mark.parametrize(
    ("errors", "count", "reason"),
    [
        (-0.2, 1, r"it printed the error -0\.2; expected a standard error >= 0"),
        ("much", 1, "it printed the error 'much'"),
        ([0.1, None], 2, "it printed 1 errors for 2 values"),
        ([0.1, 0.2], 1, "it printed 2 errors for 1 values"),
    ],
)
def test_what_is_no_error_is_refused(workspace: Workspace, errors: Any, count: int, reason: str) -> None:
    with pytest.raises(ObjectiveError, match=reason):
        note_errors(workspace, errors, count, "it printed")
    assert not workspace.notes
