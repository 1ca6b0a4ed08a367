"""Short texts."""

from __future__ import annotations

import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from betabo.report.text import counted, listed, show, show_range, show_seconds


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 ms"),
        (0.32, "320 ms"),
        (0.9999, "1 s"),
        (4.2, "4.2 s"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations(seconds: float, expected: str) -> None:
    assert show_seconds(seconds) == expected


@pytest.mark.parametrize(
    ("distribution", "expected"),
    [
        (FloatDistribution(1e-3, 0.1, log=True), "0.001 to 0.1, log"),
        (IntDistribution(1, 9), "1 to 9"),
        (IntDistribution(1, 9, step=2), "1 to 9, step 2"),
        (FloatDistribution(0, 1, step=0.25), "0 to 1, step 0.25"),
        (CategoricalDistribution(["relu", None]), "relu, None"),
    ],
    ids=str,
)
def test_ranges(distribution: BaseDistribution, expected: str) -> None:
    assert show_range(distribution) == expected


def test_values_and_lists() -> None:
    assert [show(v) for v in (1 / 3, 12345678, "text", None, True)] == ["0.333333", "12345678", "text", "None", "True"]
    assert [counted(n, "trial") for n in (0, 1, 2)] == ["0 trials", "1 trial", "2 trials"]
    assert [listed(items) for items in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
